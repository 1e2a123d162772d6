import type { RecognizerCases } from "../case.ts";
import { CONTROLLER, end, guarded, SERVICE, STRANGER, toSource } from "./scenes.ts";

export const deniedDropOfAllowedFlowCases: RecognizerCases = {
  recognized: [
    {
      why: "the policy admits the controller, and its packets are dropped all the same",
      scene: guarded("10:10:00").drop({ ...toSource, source: CONTROLLER, at: "10:09:00" }),
      objects: ["Pod/ops/source-controller-1"],
      facts: { source: "ops/tc-other", port: 9090 },
    },
    {
      why: "seen at the Service's address, with named ports and a namespace that is admitted",
      scene: guarded("10:10:00")
        .object("NetworkPolicy", "ops/platform", {
          spec: {
            podSelector: { matchLabels: { app: "source-controller" } },
            policyTypes: ["Ingress"],
            ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: "platform" } } }] }],
          },
        })
        .drop({ ...toSource, source: CONTROLLER, destination: SERVICE, port: 80, at: "10:09:00" }),
      facts: { port: 9090 },
    },
    {
      why: "the identity of the packet has the labels that are admitted",
      scene: guarded("10:10:00")
        .object("CiliumIdentity", "4711", {
          "security-labels": { "k8s:app": "tc", "k8s:io.kubernetes.pod.namespace": "ops" },
        })
        .drop({ ...toSource, source: end("10.1.99.99", 4711), at: "10:09:00" }),
    },
    {
      why: "a clusterwide label of the sender's namespace is admitted, whatever namespace that is",
      scene: guarded("10:10:00")
        .object("Namespace", "apps", { metadata: { labels: { team: "chat" } } })
        .object("CiliumNetworkPolicy", "ops/chat", {
          spec: {
            endpointSelector: { matchLabels: { app: "source-controller" } },
            ingress: [
              {
                fromEndpoints: [
                  { matchLabels: { "k8s:io.cilium.k8s.namespace.labels.team": "chat" } },
                ],
              },
            ],
          },
        })
        .drop({ ...toSource, source: STRANGER, at: "10:09:00" }),
      facts: { source: "apps/chat-1" },
    },
  ],
  ruledOut: [
    {
      why: "the sender is not admitted: the drop is right",
      scene: guarded("10:10:00").drop({ ...toSource, source: STRANGER, at: "10:09:00" }),
      also: ["network/denied-drop-correct"],
    },
    { why: "a recording was taken and holds no drop", scene: guarded("10:10:00").noDrops() },
  ],
  inconclusive: [
    {
      why: "who the sender is, is not known",
      scene: guarded("10:10:00").drop({ ...toSource, source: end("10.1.99.99"), at: "10:09:00" }),
      objects: ["Pod/ops/source-controller-1"],
    },
    { why: "no recording of drops was taken", scene: guarded("10:10:00") },
  ],
};
