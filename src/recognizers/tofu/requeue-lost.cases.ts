import { calm, type RecognizerCases } from "../case.ts";

const progressing = {
  ready: ["Unknown", "Reconciliation in progress", "10:00:00", "Progressing"],
} as const;
const PASS = [
  ["10:00:00", "apps/web", ">> Started Generation: 1"],
  ["10:00:03", "apps/web", "Reconciliation completed. Generation: 1"],
] as const;
const LOST = ["Terraform/apps/web"];

export const requeueLostCases: RecognizerCases = {
  recognized: [
    {
      why: "its last pass ended without an end in the status, four intervals ago",
      scene: calm("10:21:00")
        .terraform("apps/web", progressing)
        .runner("apps/web", { node: "beta", created: "09:59:50" })
        .log(PASS)
        .workers({ active: 0, maximum: 8 }),
      objects: LOST,
    },
    {
      why: "the log has been silent on it for an hour, and no worker is active",
      scene: calm("11:30:00")
        .terraform("apps/web", progressing)
        .runner("apps/web", { node: "beta", created: "09:59:50" })
        .log([["10:30:00", "apps/store", "Reconciliation completed. Generation: 1"]])
        .workers({ active: 0, maximum: 8, depth: 0 }),
      objects: LOST,
    },
  ],
  ruledOut: [
    {
      why: "it comes back every 30 s",
      scene: calm("10:21:00")
        .terraform("apps/web", progressing)
        .runner("apps/web", { node: "beta", created: "09:59:50" })
        .log([["10:20:50", "apps/web", "Reconciliation failed after 1s, next try in 30s"]])
        .workers({ active: 0, maximum: 8 }),
    },
    {
      why: "it may still be within its longest backoff",
      scene: calm("10:12:00")
        .terraform("apps/web", progressing)
        .runner("apps/web", { node: "beta", created: "09:59:50" })
        .log(PASS)
        .workers({ active: 0, maximum: 8 }),
    },
    {
      why: "it gave up, and says so",
      scene: calm("10:21:00")
        .terraform("apps/web", {
          ...progressing,
          conditions: {
            Stalled: [
              "True",
              "Reached maximum number of retries.",
              "10:00:01",
              "RetryLimitReached",
            ],
          },
        })
        .log(PASS),
      also: ["tofu/retry-limit-reached"],
    },
    {
      why: "the process that leads began a minute ago and looks at everything first",
      scene: calm("10:21:00")
        .controller({ started: "10:20:00", node: "alpha" })
        .terraform("apps/web", progressing)
        .runner("apps/web", { node: "beta", created: "09:59:50" })
        .log(PASS),
    },
  ],
  inconclusive: [
    {
      why: "the log has no line of it, and a worker is active on something",
      scene: calm("10:21:00")
        .terraform("apps/web", progressing)
        .runner("apps/web", { node: "beta", created: "09:59:50" })
        .log([["10:00:00", "apps/store", "Reconciliation completed. Generation: 1"]])
        .workers({ active: 1, maximum: 8 }),
      objects: LOST,
    },
  ],
};
