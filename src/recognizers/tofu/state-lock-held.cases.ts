import { calm, type RecognizerCases } from "../case.ts";

export const stateLockHeldCases: RecognizerCases = {
  recognized: [
    {
      why: "a live run holds its own lock",
      scene: calm("10:01:00")
        .terraform("apps/store", { ready: ["Unknown", "Applying", "10:00:00"] })
        .runner("apps/store", { node: "beta", created: "09:59:50" })
        .lock("apps/store", { created: "10:00:00" }),
      objects: ["Terraform/apps/store"],
      facts: { holder: "live" },
    },
    {
      why: "a person's laptop holds it",
      scene: calm("09:01:00")
        .terraform("apps/store")
        .lock("apps/store", { created: "08:50:00", who: "anna@laptop" }),
      objects: ["Terraform/apps/store"],
      facts: { holder: "foreign", who: "anna@laptop" },
    },
  ],
  ruledOut: [
    {
      why: "the Lease is there and nobody holds it",
      scene: calm("09:01:00")
        .terraform("apps/store")
        .object("Lease", "apps/lock-tfstate-default-store", { spec: {} }),
    },
    {
      why: "its runner is gone",
      scene: calm("10:20:00")
        .terraform("apps/store", { status: { lastSuccessfulReconcileAt: "2026-03-02T10:19:00Z" } })
        .lock("apps/store", { created: "10:00:00" }),
      also: ["tofu/state-lock-orphaned"],
    },
  ],
  inconclusive: [
    {
      why: "the pods could not be read",
      scene: calm("09:01:00").terraform("apps/store").without("Pod"),
    },
    {
      why: "the Leases could not be read, and nobody was refused",
      scene: calm("09:01:00").terraform("apps/store").without("Lease"),
    },
  ],
};
