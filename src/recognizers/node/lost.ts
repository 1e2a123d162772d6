import { isRunner } from "../../evidence/runners.ts";
import { citeNode } from "../cites.ts";
import { defineRecognizer, verdictOf } from "../define.ts";
import { clock, HARMLESS, span, stamp, stampOf } from "../words.ts";

/** A node that is not Ready now. */
export const nodeLost = defineRecognizer({
  id: "node/lost",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for nodes that are not Ready now.",
  plural: "nodes are not Ready",
  needs: ["nodes"],
  wants: ["pods"],
  lookAlikes: [
    { id: "node/rebooted", tellApart: "The node is back; what it struck is another matter." },
    {
      id: "control-plane/unsteady",
      tellApart: "The control plane does not hear nodes that run; then all of them at once.",
    },
  ],
  accompanies: ["tofu/reconcile-parked"],

  recognize({ nodes, pods }, { asOfMs }) {
    const lost = nodes.filter((node) => !node.ready);
    const findings = lost.map((node) => {
      const runners = (pods ?? []).filter((pod) => pod.node === node.name && isRunner(pod));
      const since = node.readySinceMs;
      const when = since === undefined ? "" : ` since ${clock(since)}`;
      return {
        objects: [`Node/${node.name}`],
        says: `Node ${node.name} is not Ready${when} (${node.readyReason || "no reason given"}).`,
        facts: {
          node: node.name,
          reason: node.readyReason,
          message: node.readyMessage,
          runners: runners.map((pod) => pod.key),
          ...(since === undefined ? {} : { since: stamp(since), age: span(asOfMs - since) }),
        },
        cites: [citeNode(node)],
        since: stampOf(since),
        causes: [],
        moments: since === undefined ? [] : [{ atMs: since, says: `node ${node.name} is lost` }],
      };
    });
    return verdictOf(findings, [], "Every node is Ready.");
  },

  remedies: [
    {
      do: "Look at node {node}: is it off, cut off, or only its kubelet down?",
      command: "kubectl describe node {node}",
      risk: "read-only",
      precondition: "None.",
      effect: "You know whether its containers may still run.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "The conditions and the last heartbeat tell.",
    },
    {
      do: "Bring node {node} back; if it is surely off for good, delete its Node object.",
      risk: "disruptive",
      precondition: "Before deleting it: the machine is off, so that nothing on it still writes.",
      effect: "Its pods are restarted or made anew elsewhere.",
      price: "What ran on it is cut.",
      undo: "The node registers itself again.",
      verify: "kubectl get node {node} says Ready, or the node is gone and its pods with it.",
    },
  ],
  doesNotHelp: ["Deleting pods on it: they stay Terminating until the node is heard again."],
  doc: {
    meaning: "The kubelet of the node does not report, or reports that it is not ready.",
    impact: "Runners on it answer nobody; calls to them wait.",
    symptoms: ["kubectl get nodes shows NotReady; pods on it turn Terminating after 5 min."],
    limits: "A node whose kubelet alone is down looks the same while its containers run on.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "Kubernetes 1.36" },
});
