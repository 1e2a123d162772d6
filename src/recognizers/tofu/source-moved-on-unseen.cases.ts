import { calm, type RecognizerCases } from "../case.ts";

export const sourceMovedOnUnseenCases: RecognizerCases = {
  recognized: [
    {
      why: "the source moved on at ten, and at half past nobody has looked",
      scene: calm("10:30:00")
        .source("apps/code", "main@sha1:2", "10:00:00")
        .terraform("apps/web")
        .log([["09:00:00", "apps/web", "Reconciliation completed. Generation: 1"]]),
      objects: ["Terraform/apps/web"],
      facts: { offered: "main@sha1:2", attempted: "main@sha1:1" },
    },
    {
      why: "there is no log, and nothing in the status is younger than the revision",
      scene: calm("10:30:00").source("apps/code", "main@sha1:2", "10:00:00").terraform("apps/web"),
      objects: ["Terraform/apps/web"],
    },
  ],
  ruledOut: [
    {
      why: "an interval and two minutes have not passed",
      scene: calm("10:06:00").source("apps/code", "main@sha1:2", "10:00:00").terraform("apps/web"),
    },
    {
      why: "the revision was attempted, whatever came of it",
      scene: calm("10:30:00")
        .source("apps/code", "main@sha1:2", "10:00:00")
        .terraform("apps/web", {
          status: {
            lastAttemptedRevision: "main@sha1:2",
            lastSuccessfulReconcileAt: "2026-03-02T10:28:00Z",
          },
        }),
    },
    {
      why: "an apply that lives is older than the revision: it looks when that has ended",
      scene: calm("10:30:00")
        .source("apps/code", "main@sha1:2", "10:00:00")
        .terraform("apps/web", { ready: ["Unknown", "Applying", "09:50:00"] })
        .runner("apps/web", { node: "beta", created: "09:49:50" })
        .log([["09:50:00", "apps/web", "load tf plan: ok"]]),
      also: ["tofu/apply-long"],
    },
    {
      why: "the log shows a pass since, and the status its mark",
      scene: calm("10:30:00")
        .source("apps/code", "main@sha1:2", "10:00:00")
        .terraform("apps/web", {
          ready: ["False", "error running Plan: exit status 1", "10:20:00", "TFExecPlanFailed"],
        })
        .log([["10:29:50", "apps/web", "Reconciliation failed after 1s, next try in 30s"]]),
    },
  ],
  inconclusive: [
    {
      why: "it is in an apply, and whether that goes on is not known without the pods",
      scene: calm("10:30:00")
        .source("apps/code", "main@sha1:2", "10:00:00")
        .terraform("apps/web", { ready: ["Unknown", "Applying", "09:50:00"] })
        .without("Pod"),
      objects: ["Terraform/apps/web"],
    },
    {
      why: "something wrote into its status since, and the log that would say what is missing",
      scene: calm("10:30:00")
        .source("apps/code", "main@sha1:2", "10:00:00")
        .terraform("apps/web", {
          ready: ["False", "error running Plan: exit status 1", "10:20:00", "TFExecPlanFailed"],
        }),
      objects: ["Terraform/apps/web"],
    },
  ],
};
