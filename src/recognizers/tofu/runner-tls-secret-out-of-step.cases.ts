import { calm, type RecognizerCases } from "../case.ts";

const crashing = {
  ...{ node: "beta", created: "10:00:00", restarts: 5, sandbox: "10:00:01" },
  args: ["--grpc-port", "30000", "--tls-secret-name", "terraform-runner.tls-42"],
  state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 2m40s" } },
  lastState: { terminated: { exitCode: 1, reason: "Error", finishedAt: "2026-03-02T10:08:00Z" } },
};
const LOG = { namespace: "apps", name: "web-tf-runner" };

export const runnerTlsSecretOutOfStepCases: RecognizerCases = {
  recognized: [
    {
      why: "the runner's log says that the Secret it was told does not exist",
      scene: calm("10:10:00")
        .terraform("apps/web", { ready: ["Unknown", "Initializing", "10:00:03"] })
        .runner("apps/web", crashing)
        .text(['2026/03/02 10:08:00 ERROR secrets "terraform-runner.tls-42" not found'], LOG),
      objects: ["Terraform/apps/web"],
      facts: { secret: "terraform-runner.tls-42" },
      also: ["tofu/runner-restarting"],
    },
    {
      why: "its log is gone, and the Secrets that exist have another name",
      scene: calm("10:10:00")
        .runner("apps/web", crashing)
        .object("Secret", "apps/terraform-runner.tls-77"),
      objects: ["Terraform/apps/web"],
      also: ["tofu/runner-restarting"],
    },
  ],
  ruledOut: [
    {
      why: "a runner that runs has read its Secret, even if that is gone since",
      scene: calm("10:01:00")
        .runner("apps/web", { node: "beta", created: "10:00:00", args: crashing.args })
        .object("Secret", "apps/terraform-runner.tls-77")
        .text(["2026/03/02 10:00:01 Starting the runner..."], LOG),
    },
    {
      why: "the Secret exists: it crashes for another reason",
      scene: calm("10:10:00")
        .runner("apps/web", crashing)
        .object("Secret", "apps/terraform-runner.tls-42"),
      also: ["tofu/runner-restarting"],
    },
  ],
  inconclusive: [
    {
      why: "it crashes, and neither its log nor the Secrets could be read",
      scene: calm("10:10:00").runner("apps/web", crashing),
      objects: ["Pod/apps/web-tf-runner"],
      also: ["tofu/runner-restarting"],
    },
  ],
};
