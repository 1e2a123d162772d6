import { calm, type RecognizerCases } from "../case.ts";

const stale = {
  ready: ["True", "No drift: main@sha1:1", "10:00:00", "NoDrift"],
  conditions: { Reconciling: ["True", "Fulfilling prerequisites", "10:02:00"] },
  status: { lastSuccessfulReconcileAt: "2026-03-02T10:09:00Z" },
} as const;
const SKIPPED =
  "Skipping reconciliation: interval has not elapsed since last successful reconciliation";

export const reconcilingStaleCases: RecognizerCases = {
  recognized: [
    {
      why: "the last pass was skipped and left Reconciling behind",
      scene: calm("10:10:00")
        .terraform("apps/web", stale)
        .log([
          ["10:02:00", "apps/web", ">> Started Generation: 1"],
          ["10:02:00", "apps/web", SKIPPED],
        ]),
      objects: ["Terraform/apps/web"],
    },
    {
      why: "one of two objects was left so",
      scene: calm("10:10:00")
        .terraform("apps/web", stale)
        .terraform("apps/store", { status: { lastSuccessfulReconcileAt: "2026-03-02T10:09:00Z" } })
        .log([
          ["10:02:00", "apps/web", SKIPPED],
          ["10:03:00", "apps/store", "Reconciliation completed. Generation: 1"],
        ]),
      objects: ["Terraform/apps/web"],
    },
  ],
  ruledOut: [
    {
      why: "a pass is under way",
      scene: calm("10:10:00")
        .terraform("apps/web", stale)
        .log([["10:09:59", "apps/web", ">> Started Generation: 1"]]),
    },
    {
      why: "a plan is pending: Reconciling is as it should be",
      scene: calm("10:10:00")
        .terraform("apps/web", {
          ...stale,
          spec: { approvePlan: "" },
          status: { plan: { pending: "plan-main-1" } },
        })
        .log([["10:02:00", "apps/web", SKIPPED]]),
      also: ["tofu/awaits-approval"],
    },
  ],
  inconclusive: [
    {
      why: "the log has no line of the object",
      scene: calm("10:10:00")
        .terraform("apps/web", stale)
        .log([["10:03:00", "apps/store", "Reconciliation completed. Generation: 1"]]),
      objects: ["Terraform/apps/web"],
    },
  ],
};
