import { calm, type RecognizerCases } from "../case.ts";

const waiting = (reason: string, message = "") => ({
  ...{ node: "beta", created: "10:00:00", phase: "Pending" },
  state: { waiting: { reason, message } },
});

export const runnerNeverReadyCases: RecognizerCases = {
  recognized: [
    {
      why: "its image cannot be pulled",
      scene: calm("10:10:00")
        .terraform("apps/web", { ready: ["Unknown", "Initializing", "10:00:03"] })
        .runner("apps/web", waiting("ImagePullBackOff", 'Back-off pulling image "x:y"')),
      objects: ["Terraform/apps/web"],
      facts: { cause: "image" },
    },
    {
      why: "no node fits it",
      scene: calm("10:10:00").runner("apps/web", {
        ...{ node: "", created: "10:00:00", phase: "Pending" },
        unschedulable: "0/2 nodes are available: 2 Insufficient memory.",
      }),
      facts: { cause: "scheduling" },
    },
    {
      why: "an event names the volume that is not there",
      scene: calm("10:10:00")
        .runner("apps/web", waiting("ContainerCreating"))
        .event("Pod/apps/web-tf-runner", "FailedMount", "10:08:00", 'configmap "ca" not found'),
      facts: { cause: "volume" },
    },
    {
      why: "the quota refuses the pod",
      scene: calm("10:10:00")
        .terraform("apps/web", {
          ready: ["Unknown", "Reconciliation in progress", "10:00:03"],
        })
        .log([
          [
            ...(["10:09:00", "apps/web", "unable to lookup or create runner"] as const),
            'pods "web-tf-runner" is forbidden: exceeded quota: compute',
          ],
        ]),
      objects: ["Terraform/apps/web"],
      facts: { cause: "quota" },
    },
    {
      why: "the service account of the runner does not exist",
      scene: calm("10:10:00")
        .terraform("apps/web", { ready: ["Unknown", "Reconciliation in progress", "10:00:03"] })
        .log([
          [
            ...(["10:09:00", "apps/web", "unable to lookup or create runner"] as const),
            'error looking up service account: serviceaccount "tf-runner" not found',
          ],
        ]),
      facts: { cause: "service-account" },
    },
  ],
  ruledOut: [
    {
      why: "its image is being pulled, slowly, and nothing has failed",
      scene: calm("10:06:00")
        .runner("apps/web", waiting("ContainerCreating"))
        .event("Pod/apps/web-tf-runner", "Pulling", "10:00:02", 'Pulling image "x:y"'),
    },
    {
      why: "a pass since has its runner, and fails for something else",
      scene: calm("10:40:00")
        .terraform("apps/web", {
          ready: ["False", "error running Plan: exit status 1", "10:20:03", "TFExecPlanFailed"],
        })
        .log([
          [
            ...(["10:09:00", "apps/web", "unable to lookup or create runner"] as const),
            'pods "web-tf-runner" is forbidden: exceeded quota: compute',
          ],
          ["10:20:00", "apps/web", ">> Started Generation: 1"],
          ["10:20:02", "apps/web", "runner is running"],
          ["10:20:03", "apps/web", "Reconciliation failed after 3s, next try in 30s"],
        ]),
    },
    {
      why: "half a minute is no time for an image",
      scene: calm("10:00:30").runner("apps/web", waiting("ContainerCreating")),
    },
    {
      why: "the refusal is over: it is Ready since",
      scene: calm("10:10:00")
        .terraform("apps/web", {
          ready: ["True", "No drift: main@sha1:1", "10:09:30", "NoDrift"],
          status: { lastSuccessfulReconcileAt: "2026-03-02T10:09:30Z" },
        })
        .event("Pod/apps/web-tf-runner", "FailedMount", "10:01:00")
        .log([
          [
            ...(["10:09:00", "apps/web", "unable to lookup or create runner"] as const),
            'pods "web-tf-runner" is forbidden: exceeded quota: compute',
          ],
          ["10:09:31", "apps/web", "Reconciliation completed. Generation: 1"],
        ]),
    },
  ],
  inconclusive: [
    { why: "the pods could not be read", scene: calm("10:10:00").without("Pod") },
    {
      why: "without events it cannot be told whether an image is slow or a volume is missing",
      scene: calm("10:06:00").runner("apps/web", waiting("ContainerCreating")).without("Event"),
      objects: ["Pod/apps/web-tf-runner"],
    },
  ],
};
