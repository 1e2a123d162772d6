import { calm, type RecognizerCases } from "../case.ts";

const gaveUp = {
  ready: ["Unknown", "Reconciliation in progress", "10:00:00", "Progressing"],
  conditions: {
    Stalled: [
      "True",
      "Resource reached maximum number of retries.",
      "10:00:01",
      "RetryLimitReached",
    ],
  },
  status: { reconciliationFailures: 3 },
} as const;

export const retryLimitReachedCases: RecognizerCases = {
  recognized: [
    {
      why: "it says that it gave up",
      scene: calm("10:10:00").terraform("apps/web", gaveUp),
      objects: ["Terraform/apps/web"],
      facts: { failures: 3 },
    },
    {
      why: "the log still has the error that it gave up on",
      scene: calm("10:10:00")
        .terraform("apps/web", gaveUp)
        .log([
          [
            "10:00:00",
            "apps/web",
            "Reconciliation failed after 1s",
            "error running Plan: exit status 1",
          ],
        ]),
      facts: { lastError: "error running Plan: exit status 1" },
    },
  ],
  ruledOut: [
    {
      why: "it has failed and goes on trying",
      scene: calm("10:10:00").terraform("apps/web", {
        ready: ["False", "error running Plan: exit status 1", "10:09:50", "TFExecPlanFailed"],
        status: { reconciliationFailures: 3 },
      }),
    },
  ],
  inconclusive: [
    { why: "the objects could not be read", scene: calm("10:10:00").without("Terraform") },
  ],
};
