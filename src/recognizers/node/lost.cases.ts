import { calm, type RecognizerCases } from "../case.ts";

export const nodeLostCases: RecognizerCases = {
  recognized: [
    {
      why: "the kubelet of one node is not heard",
      scene: calm("10:40:00")
        .node("gamma", { ready: false, since: "10:30:00" })
        .runner("apps/web", { node: "gamma", created: "10:00:00" }),
      objects: ["Node/gamma"],
      facts: { reason: "NodeStatusUnknown", runners: ["apps/web-tf-runner"] },
    },
    {
      why: "two nodes are lost, each by itself",
      scene: calm("10:40:00")
        .node("gamma", { ready: false, since: "10:30:00" })
        .node("delta", { ready: false, since: "10:10:00", reason: "KubeletNotReady" }),
      objects: ["Node/delta", "Node/gamma"],
    },
  ],
  ruledOut: [{ why: "every node is Ready", scene: calm("10:40:00") }],
  inconclusive: [{ why: "the nodes could not be read", scene: calm("10:40:00").without("Node") }],
};
