import { calm, type RecognizerCases } from "../case.ts";

const oom = {
  terminated: { exitCode: 137, reason: "OOMKilled", finishedAt: "2026-03-02T10:08:00Z" },
};

export const runnerRestartingCases: RecognizerCases = {
  recognized: [
    {
      why: "it runs out of memory again and again",
      scene: calm("10:10:00").runner("apps/web", {
        ...{ node: "beta", created: "10:00:00", started: "10:08:01", restarts: 3, lastState: oom },
      }),
      objects: ["Terraform/apps/web"],
      facts: { restarts: 3, reason: "OOMKilled", exitCode: 137 },
    },
    {
      why: "the kubelet backs off from it",
      scene: calm("10:10:00")
        .object("Secret", "apps/terraform-runner.tls-1")
        .runner("apps/web", {
          ...{ node: "beta", created: "09:00:00", restarts: 2, lastState: oom },
          state: { waiting: { reason: "CrashLoopBackOff" } },
        }),
      objects: ["Terraform/apps/web"],
    },
    {
      why: "it has ended this very second, for the hundredth time in half an hour",
      scene: calm("10:30:00").runner("apps/web", {
        ...{ node: "beta", created: "10:00:00", restarts: 100, sandbox: "10:00:01" },
        state: {
          terminated: { exitCode: 1, reason: "Error", finishedAt: "2026-03-02T10:29:59Z" },
        },
      }),
      objects: ["Terraform/apps/web"],
    },
  ],
  ruledOut: [
    {
      why: "one restart is an accident",
      scene: calm("10:10:00").runner("apps/web", {
        ...{ node: "beta", created: "10:00:00", started: "10:08:01", restarts: 1, lastState: oom },
      }),
    },
    {
      why: "three restarts of an old pod may lie days apart",
      scene: calm("10:10:00").runner("apps/web", {
        ...{ node: "beta", created: "08:00:00", started: "10:08:01", restarts: 3, lastState: oom },
      }),
    },
  ],
  inconclusive: [{ why: "the pods could not be read", scene: calm("10:10:00").without("Pod") }],
};
