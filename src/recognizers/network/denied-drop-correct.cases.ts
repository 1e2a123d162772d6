import type { RecognizerCases } from "../case.ts";
import { CONTROLLER, end, guarded, open, SERVICE, STRANGER, toSource } from "./scenes.ts";

export const deniedDropCorrectCases: RecognizerCases = {
  recognized: [
    {
      why: "a pod that no policy admits knocks at the source-controller",
      scene: guarded("10:10:00").drop({ ...toSource, source: STRANGER, at: "10:09:00" }),
      objects: ["Pod/ops/source-controller-1"],
      facts: { source: "apps/chat-1", port: 9090, policies: ["NetworkPolicy/ops/artifacts"] },
    },
    {
      why: "it knocks at the Service: judged is the port behind it",
      scene: guarded("10:10:00").drop({
        ...{ ...toSource, source: STRANGER, destination: SERVICE, port: 80, at: "10:09:00" },
      }),
      objects: ["Pod/ops/source-controller-1"],
      facts: { port: 9090 },
    },
    {
      why: "the sender's own policy lets nothing out",
      scene: guarded("10:10:00")
        .object("CiliumNetworkPolicy", "ops/mute", {
          spec: { endpointSelector: { matchLabels: { "k8s:app": "tc" } }, egress: [] },
        })
        .drop({ ...toSource, source: CONTROLLER, direction: "egress", at: "10:09:00" }),
      facts: { source: "ops/tc-other", policies: ["CiliumNetworkPolicy/ops/mute"] },
    },
    {
      why: "a deny rule wins over one that allows; who the sender is its endpoint tells",
      scene: guarded("10:10:00")
        .object("CiliumEndpoint", "ops/tc-other", { status: { identity: { id: 4711 } } })
        .object("CiliumClusterwideNetworkPolicy", "fence", {
          spec: {
            endpointSelector: { matchLabels: { app: "source-controller" } },
            ingressDeny: [{ fromEndpoints: [{ matchLabels: { app: "tc" } }] }],
          },
        })
        .drop({ ...toSource, source: end("10.1.99.99", 4711), at: "10:09:00" }),
      facts: { source: "ops/tc-other" },
    },
    {
      why: "a rule of Cilium's that names nobody admits nobody",
      scene: open("10:10:00")
        .object("CiliumNetworkPolicy", "ops/shut", {
          spec: {
            endpointSelector: { matchLabels: { app: "source-controller" } },
            ingress: [{}],
          },
        })
        .drop({ ...toSource, source: CONTROLLER, at: "10:09:00" }),
      facts: { policies: ["CiliumNetworkPolicy/ops/shut"] },
    },
  ],
  ruledOut: [
    {
      why: "a policy that refuses nothing by itself is all that selects the target",
      scene: open("10:10:00")
        .object("CiliumNetworkPolicy", "ops/watch", {
          spec: {
            endpointSelector: { matchLabels: { app: "source-controller" } },
            enableDefaultDeny: { ingress: false },
            ingress: [{ fromEndpoints: [{ matchLabels: { app: "nobody" } }] }],
          },
        })
        .drop({ ...toSource, source: STRANGER, at: "10:09:00" }),
      also: ["network/denied-drop-of-allowed-flow"],
    },
    { why: "a recording was taken and holds no drop", scene: guarded("10:10:00").noDrops() },
    {
      why: "the drop was for another reason",
      scene: guarded("10:10:00").drop({
        ...toSource,
        source: STRANGER,
        reason: "Stale or unroutable IP",
      }),
    },
  ],
  inconclusive: [
    {
      why: "a block holds the sender's address: whether it takes in pods is the network's to say",
      scene: guarded("10:10:00")
        .object("NetworkPolicy", "ops/block", {
          spec: {
            podSelector: { matchLabels: { app: "source-controller" } },
            policyTypes: ["Ingress"],
            ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.0/8" } }] }],
          },
        })
        .drop({ ...toSource, source: STRANGER, at: "10:09:00" }),
    },
    {
      why: "the sender is a node, whose address a pod in its network shares",
      scene: guarded("10:10:00").drop({ ...toSource, source: end("10.1.0.9", 6), at: "10:09:00" }),
    },
    {
      why: "a policy uses names of hosts, which are not evaluated",
      scene: guarded("10:10:00")
        .object("CiliumNetworkPolicy", "apps/out", {
          spec: {
            endpointSelector: {},
            egress: [{ toFQDNs: [{ matchName: "source.example" }] }],
          },
        })
        .object("NetworkPolicy", "ops/artifacts", { spec: { podSelector: {}, ingress: [{}] } })
        .drop({ ...toSource, source: STRANGER, at: "10:09:00" }),
      objects: ["Pod/ops/source-controller-1"],
    },
    {
      why: "Cilium's own policies were not listed: one of them may allow it",
      scene: guarded("10:10:00")
        .without("CiliumNetworkPolicy")
        .drop({ ...toSource, source: STRANGER, at: "10:09:00" }),
    },
    { why: "no recording of drops was taken", scene: guarded("10:10:00") },
  ],
};
