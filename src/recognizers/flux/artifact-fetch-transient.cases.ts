import { calm, failed, type RecognizerCases } from "../case.ts";

const SIGN =
  'E0302 09:58:00.000000       1 leaderelection.go:452] "error retrieving resource lock" ' +
  'err="context deadline exceeded"';
const STARTED =
  '{"level":"info","ts":"2026-03-02T08:00:01Z","logger":"setup","msg":"Starting manager"}';
const TIMED_OUT =
  "failed to download artifact, error: GET http://source-controller.ops.svc/x.tar.gz giving up " +
  'after 10 attempt(s): Get "http://source-controller.ops.svc/x.tar.gz": dial tcp 10.0.0.7:80: i/o timeout';
const FETCHING = [
  ["10:00:00", "apps/web", ">> Started Generation: 1"],
  ["10:00:02", "apps/web", "runner is running"],
  ["10:00:02", "apps/web", "setting up terraform"],
] as const;
const ETCD = { namespace: "kube-system", name: "etcd-alpha" };

export const artifactFetchTransientCases: RecognizerCases = {
  recognized: [
    {
      why: "four minutes of silence at the download, a living runner, and a Lease lost just before",
      scene: calm("10:04:00")
        .sourceController({ node: "beta" })
        .terraform("apps/web", { ready: ["Unknown", "Initializing", "10:00:02"] })
        .runner("apps/web", { node: "beta", created: "10:00:00" })
        .log(FETCHING)
        .text([SIGN], ETCD),
      objects: ["Terraform/apps/web"],
      facts: { state: "ongoing", minutes: 4, attempts: "unknown" },
      also: ["control-plane/unsteady"],
    },
    {
      why: "the download was given up after ten attempts, and is retried",
      scene: calm("10:10:00")
        .sourceController({ node: "beta" })
        .terraform("apps/web", failed("ArtifactFailed", TIMED_OUT, "10:09:30"))
        .log([
          ...FETCHING,
          ["10:09:30", "apps/web", "Reconciliation failed after 9m30s, next try in 30s", TIMED_OUT],
        ])
        .text([SIGN], ETCD),
      objects: ["Terraform/apps/web"],
      facts: { state: "given up, retried", attempts: 10, since: "2026-03-02T10:00:00Z" },
      also: ["control-plane/unsteady"],
    },
  ],
  ruledOut: [
    {
      why: "the server answers 404: waiting does not bring the archive",
      scene: calm("10:10:00")
        .terraform(
          "apps/web",
          failed(
            "ArtifactFailed",
            "failed to download artifact from http://x, status: 404",
            "10:09:30",
          ),
        )
        .text([STARTED])
        .text([SIGN], ETCD),
      also: ["flux/artifact-unavailable", "control-plane/unsteady"],
    },
    {
      why: "the download took seconds",
      scene: calm("10:01:30")
        .terraform("apps/web", { ready: ["Unknown", "Initializing", "10:00:02"] })
        .runner("apps/web", { node: "beta", created: "10:00:00" })
        .log([...FETCHING, ["10:01:20", "apps/web", "write backend config: ok"]])
        .text([SIGN], ETCD),
      also: ["control-plane/unsteady"],
    },
    {
      why: "goroutines show no download: the worker stands elsewhere",
      scene: calm("10:01:30")
        .terraform("apps/web", { ready: ["Unknown", "Initializing", "10:00:02"] })
        .runner("apps/web", { node: "beta", created: "10:00:00" })
        .log([...FETCHING, ["10:01:29", "apps/web", "write backend config: ok"]])
        .goroutines("UploadAndExtract", 1)
        .text([SIGN], ETCD),
      also: ["control-plane/unsteady"],
    },
  ],
  inconclusive: [
    {
      why: "it downloads in silence, and nothing shows that the control plane was unsteady",
      scene: calm("10:04:00")
        .terraform("apps/web", { ready: ["Unknown", "Initializing", "10:00:02"] })
        .runner("apps/web", { node: "beta", created: "10:00:00" })
        .text([STARTED])
        .log(FETCHING),
      objects: ["Terraform/apps/web"],
    },
    {
      why: "whether its runner is alive could not be read",
      scene: calm("10:04:00")
        .terraform("apps/web", { ready: ["Unknown", "Initializing", "10:00:02"] })
        .runner("apps/web", { node: "beta", created: "10:00:00" })
        .log(FETCHING)
        .text([SIGN], ETCD)
        .without("Node"),
      objects: ["Terraform/apps/web"],
      also: ["control-plane/unsteady"],
    },
    {
      why: "the controller's log is missing, and the control plane was unsteady just before",
      scene: calm("10:04:00")
        .sourceController({ node: "beta" })
        .terraform("apps/web", { ready: ["Unknown", "Initializing", "10:00:02"] })
        .runner("apps/web", { node: "beta", created: "10:00:00" })
        .workers({ active: 1, maximum: 4, longest: 240 })
        .text([SIGN], ETCD),
      objects: ["Terraform/apps/web"],
      also: ["control-plane/unsteady"],
    },
  ],
};
