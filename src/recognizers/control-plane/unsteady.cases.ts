import { calm, type RecognizerCases } from "../case.ts";

const lease = (at: string) =>
  `E0302 ${at}.000000       1 leaderelection.go:452] "error retrieving resource lock" ` +
  'err="Get \\"https://10.0.0.1:443/apis\\": context deadline exceeded"';
const trace = (at: string, what: string, tookMs: number) =>
  `I0302 ${at}.000000       1 trace.go:236] Trace[17]: ${what} (total time: ${tookMs}ms):`;
const STARTED =
  '{"level":"info","ts":"2026-03-02T08:00:01Z","logger":"setup","msg":"Starting manager"}';

export const controlPlaneUnsteadyCases: RecognizerCases = {
  recognized: [
    {
      why: "a controller could not reach its Lease in time, five minutes ago",
      scene: calm("10:10:00").text([STARTED, lease("10:05:00")]),
      facts: { signs: 1, kinds: ["lease-trouble"] },
    },
    {
      why: "etcd says so itself",
      scene: calm("10:10:00").text(
        [
          '{"level":"warn","ts":"2026-03-02T10:04:00.5Z","msg":"apply request took too long",' +
            '"took":"2.4s","expected-duration":"100ms"}',
          '{"level":"error","ts":"2026-03-02T10:05:00Z","msg":"etcdserver: request timed out"}',
        ],
        { namespace: "kube-system", name: "etcd-alpha" },
      ),
      facts: { signs: 2, by: ["etcd-alpha"] },
    },
    {
      why: "the API server traces a write that took seven seconds, and not a list that took one",
      scene: calm("10:10:00").text(
        [
          trace("10:04:00", '"List" url:/api/v1/pods', 1_210),
          trace("10:05:00", '"Update" url:/apis/coordination.k8s.io/v1', 7_012),
        ],
        { namespace: "kube-system", name: "kube-apiserver-alpha" },
      ),
      facts: { signs: 1, kinds: ["slow-request"] },
    },
  ],
  ruledOut: [
    {
      why: "the last sign is twenty minutes old",
      scene: calm("10:25:00").text([STARTED, lease("10:05:00")]),
    },
    {
      why: "a disk that takes 300 ms is busy, not away; a Lease given back on a stop is no sign",
      scene: calm("10:10:00")
        .text([
          STARTED,
          'E0302 10:05:00.000000 1 l.go:1] "Failed to renew lease" err="context canceled"',
        ])
        .text(
          [
            '{"level":"warn","ts":"2026-03-02T08:00:00Z","msg":"started"}',
            '{"level":"warn","ts":"2026-03-02T10:04:00Z","took":"312ms",' +
              '"msg":"apply request took too long"}',
          ],
          { namespace: "kube-system", name: "etcd-alpha" },
        ),
    },
  ],
  inconclusive: [
    { why: "no log of anything was read", scene: calm("10:10:00") },
    {
      why: "the log begins three minutes ago, long after its process",
      scene: calm("10:10:00").log([
        ["10:07:00", "apps/web", "Reconciliation completed. Generation: 1"],
      ]),
    },
  ],
};
