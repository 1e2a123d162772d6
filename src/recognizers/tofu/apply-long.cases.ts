import { applying, calm, type RecognizerCases } from "../case.ts";

export const applyLongCases: RecognizerCases = {
  recognized: [
    {
      why: "an apply runs for ten minutes, its runner alive",
      scene: calm("10:10:00")
        .terraform("apps/store", applying("10:00:00"))
        .runner("apps/store", { node: "beta", created: "09:59:50" })
        .lock("apps/store", { created: "10:00:00" })
        .log([["10:00:00", "apps/store", "load tf plan: ok"]])
        .workers({ active: 1, maximum: 8, longest: 610, unfinished: 610 }),
      objects: ["Terraform/apps/store"],
      facts: { stage: "apply", age: "10m", node: "beta" },
      also: ["tofu/state-lock-held"],
    },
    {
      why: "a destroy of three days is no other thing",
      scene: calm("10:10:00")
        .terraform("apps/store", {
          ready: ["Unknown", "Applying", "2026-02-27T10:00:00Z"],
          spec: { destroy: true },
          status: { lastSuccessfulReconcileAt: "2026-02-27T09:00:00Z" },
        })
        .controller({ started: "2026-02-26T00:00:00Z", created: "2026-02-26T00:00:00Z" })
        .runner("apps/store", { node: "beta", created: "2026-02-27T09:59:50Z" }),
      objects: ["Terraform/apps/store"],
      facts: { stage: "destroy", age: "3d" },
    },
  ],
  ruledOut: [
    {
      why: "two minutes are not long",
      scene: calm("10:02:00")
        .terraform("apps/store", applying("10:00:00"))
        .runner("apps/store", { node: "beta", created: "09:59:50" }),
    },
    {
      why: "a runner that was started anew has no apply in it",
      scene: calm("10:10:00")
        .terraform("apps/store", applying("10:00:00"))
        .revivedRunner("apps/store", "beta", "09:59:50", "10:04:00")
        .log([["10:00:00", "apps/store", "load tf plan: ok"]]),
      also: ["tofu/reconcile-parked", "node/rebooted"],
    },
  ],
  inconclusive: [
    {
      why: "whether the runner's node is Ready could not be read",
      scene: calm("10:10:00")
        .terraform("apps/store", applying("10:00:00"))
        .runner("apps/store", { node: "beta", created: "09:59:50" })
        .without("Node"),
    },
  ],
};
