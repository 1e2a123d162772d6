import { calm, type RecognizerCases } from "../case.ts";

const line = (at: string) =>
  JSON.stringify({
    ...{ level: "error", ts: `2026-03-02T${at}Z`, logger: "setup", msg: "problem running manager" },
    error: "leader election lost",
  });
const STARTED =
  '{"level":"info","ts":"2026-03-02T08:00:01Z","logger":"setup","msg":"Starting manager"}';

export const leaderElectionLostCases: RecognizerCases = {
  recognized: [
    {
      why: "the previous log ends with it, and the controller leads again",
      scene: calm("10:10:00")
        .controller({ node: "alpha", started: "10:05:02", leadsSince: "10:05:40", restarts: 1 })
        .text([STARTED, line("10:05:00")], { previous: true }),
      objects: ["Pod/ops/tc-7f9-abcde"],
      facts: { leadsAgainAt: "2026-03-02T10:05:40Z" },
      also: ["control-plane/unsteady"],
    },
    {
      why: "the source-controller lost it, and nobody leads since",
      scene: calm("10:10:00")
        .sourceController({ node: "beta", started: "10:05:02", restarts: 1 })
        .text([line("10:05:00")], { name: "source-controller-1", previous: true }),
      objects: ["Pod/ops/source-controller-1"],
      also: ["control-plane/unsteady"],
    },
  ],
  ruledOut: [
    {
      why: "it gave up its Lease because it was told to stop",
      scene: calm("10:20:00").text(
        [
          STARTED,
          line("10:10:01").replace(
            "problem running manager",
            "error received after stop sequence was engaged",
          ),
        ],
        { name: "source-controller-1", previous: true },
      ),
    },
    {
      why: "it was lost twenty minutes ago",
      scene: calm("10:25:00")
        .controller({ node: "alpha", started: "10:05:02", restarts: 1 })
        .text([STARTED, line("10:05:00")], { previous: true })
        .text([STARTED.replace("08:00:01", "10:05:02")]),
    },
    {
      why: "the log tells of the whole time, and of no election",
      scene: calm("10:10:00").text([STARTED]),
    },
  ],
  inconclusive: [
    {
      why: "the controller was restarted, and the log of its life before is missing",
      scene: calm("10:10:00")
        .controller({ node: "alpha", started: "10:05:02", restarts: 1 })
        .text([STARTED.replace("08:00:01", "10:05:02")]),
    },
    {
      why: "the controller ended with an error, and nothing tells of that life but other logs",
      scene: calm("10:10:00")
        .controller({
          ...{ node: "alpha", started: "10:05:02", restarts: 1 },
          lastState: {
            terminated: { exitCode: 1, reason: "Error", finishedAt: "2026-03-02T10:05:00Z" },
          },
        })
        .text([STARTED], { name: "source-controller-1" }),
      objects: ["Pod/ops/tc-7f9-abcde"],
    },
  ],
};
