import { calm, initializing, type RecognizerCases } from "../case.ts";

export const runnerPodsFailedLeftBehindCases: RecognizerCases = {
  recognized: [
    {
      why: "a shutdown ended two runners, and their pods lie there",
      scene: calm("10:40:00")
        .terraform("apps/web", { status: { lastSuccessfulReconcileAt: "2026-03-02T10:39:00Z" } })
        .failedRunner("apps/web", "beta", "10:00:00", "10:01:00")
        .failedRunner("apps/store", "beta", "10:00:00", "10:01:01"),
      objects: ["Pod/apps/store-tf-runner", "Pod/apps/web-tf-runner"],
      facts: { reason: "Terminated", node: "beta" },
      also: ["node/rebooted"],
    },
    {
      why: "an eviction ended one",
      scene: calm("10:40:00").runner("apps/web", {
        ...{ node: "beta", created: "10:00:00", phase: "Failed" },
        status: { reason: "Evicted", message: "The node was low on resource: memory." },
      }),
      objects: ["Pod/apps/web-tf-runner"],
      facts: { reason: "Evicted", objectExists: false },
    },
  ],
  ruledOut: [
    {
      why: "a Failed pod of something else is no runner",
      scene: calm("10:40:00").pod("apps/job-1", { node: "beta", phase: "Failed" }),
    },
  ],
  inconclusive: [
    {
      why: "an object is in a call and has no pod at all any more",
      scene: calm("10:40:00").terraform("apps/web", initializing("10:00:00")),
      objects: ["Terraform/apps/web"],
    },
  ],
};
