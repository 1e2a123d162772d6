import { calm, type RecognizerCases } from "../case.ts";

const PROMPT = 'Plan generated: set approvePlan: "plan-main-1" to approve this plan.';
const pending = {
  ready: ["Unknown", PROMPT, "10:00:00", "TerraformPlannedWithChanges"],
  conditions: { Reconciling: ["True", "Fulfilling prerequisites", "09:59:00"] },
  spec: { approvePlan: "" },
  status: { plan: { pending: "plan-main-1" } },
} as const;

export const awaitsApprovalCases: RecognizerCases = {
  recognized: [
    {
      why: "a plan has changes and nobody has approved it",
      scene: calm("10:40:00").terraform("apps/edge", pending),
      objects: ["Terraform/apps/edge"],
      facts: { plan: "plan-main-1" },
    },
    {
      why: "another plan was approved, not this one",
      scene: calm("10:40:00").terraform("apps/edge", {
        ...pending,
        spec: { approvePlan: "plan-main-0" },
      }),
      objects: ["Terraform/apps/edge"],
    },
    {
      why: "Ready is True for outputs that were rewritten, and the plan is pending all the same",
      scene: calm("10:40:00").terraform("apps/edge", {
        ...pending,
        ready: ["True", "Outputs written: main@sha1:1", "10:00:00", "TerraformOutputsWritten"],
        status: {
          plan: { pending: "plan-main-1" },
          lastSuccessfulReconcileAt: "2026-03-02T10:39:00Z",
        },
      }),
      objects: ["Terraform/apps/edge"],
    },
  ],
  ruledOut: [
    {
      why: "it approves by itself",
      scene: calm("10:01:00").terraform("apps/edge", {
        ...pending,
        spec: { approvePlan: "auto" },
        ready: ["Unknown", "Plan generated", "10:00:30", "TerraformPlannedWithChanges"],
      }),
    },
    {
      why: "it only ever plans",
      scene: calm("10:01:00").terraform("apps/edge", { ...pending, spec: { planOnly: true } }),
    },
  ],
  inconclusive: [
    { why: "the objects could not be read", scene: calm("10:10:00").without("Terraform") },
  ],
};
