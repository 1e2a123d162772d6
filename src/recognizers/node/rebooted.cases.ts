import { calm, type RecognizerCases } from "../case.ts";

export const nodeRebootedCases: RecognizerCases = {
  recognized: [
    {
      why: "an orderly shutdown ended all pods of the node within a minute",
      scene: calm("10:40:00")
        .node("gamma", { since: "10:03:00" })
        .failedRunner("apps/web", "gamma", "10:00:00", "10:01:00")
        .failedRunner("apps/store", "gamma", "10:00:00", "10:01:20"),
      objects: ["Node/gamma"],
      facts: { how: "shutdown", wentAt: "2026-03-02T10:01:00Z", backAt: "2026-03-02T10:03:00Z" },
      also: ["tofu/runner-pods-failed-left-behind"],
    },
    {
      why: "after a power loss everything on it was started anew, its end unknown",
      scene: calm("10:40:00")
        .node("gamma", { since: "10:02:55" })
        .revivedRunner("apps/web", "gamma", "09:00:00", "10:03:00")
        .pod("kube-system/proxy-1", {
          ...{ node: "gamma", created: "08:00:00", started: "10:02:58", restarts: 1 },
          lastState: { terminated: { exitCode: 255, reason: "Unknown" } },
        })
        .pod("apps/new", { node: "gamma", created: "10:02:57" }),
      objects: ["Node/gamma"],
      facts: { how: "power-loss" },
    },
    {
      why: "its pods are gone, and the kubelet's event proves the shutdown",
      scene: calm("10:40:00")
        .node("gamma", { since: "10:03:00" })
        .event("Node/gamma", "Shutdown", "10:00:50", "Shutdown manager detected shutdown event"),
      objects: ["Node/gamma"],
    },
  ],
  ruledOut: [
    {
      why: "a program that ended by itself is no reboot, and another one ran through",
      scene: calm("10:40:00")
        .node("gamma", { since: "10:03:00" })
        .pod("apps/a", { node: "gamma", created: "09:00:00" })
        .pod("apps/b", {
          ...{ node: "gamma", created: "09:00:00", started: "10:02:50", restarts: 1 },
          lastState: { terminated: { exitCode: 1, reason: "Error" } },
        }),
    },
    {
      why: "one container was lost by the runtime while its neighbour ran through",
      scene: calm("10:40:00")
        .pod("apps/a", { node: "beta", created: "09:00:00" })
        .revivedRunner("apps/web", "beta", "09:00:00", "10:03:00"),
    },
    { why: "nothing has happened to any node", scene: calm("10:40:00") },
  ],
  inconclusive: [
    {
      why: "the node became Ready late, and nothing that ran on it before is left",
      scene: calm("10:40:00").node("gamma", { since: "10:03:00" }),
      objects: ["Node/gamma"],
    },
  ],
};
