import type { FlowEnd } from "../../evidence/model.ts";
import type { Scene } from "../../evidence/scene.ts";
import { calm } from "../case.ts";

/** Senders and the door of the source-controller, which admits the controller alone. */

export const end = (ip: string, identity?: number): FlowEnd => ({
  ...{ ip, identity, namespace: undefined, pod: undefined, labels: undefined },
});
export const CONTROLLER = end("10.1.0.5");
export const STRANGER = end("10.1.0.9");
export const SOURCE_POD = end("10.1.0.7");
export const SERVICE = end("10.96.0.7");

export const toSource = {
  ...{ reason: "Policy denied", destination: SOURCE_POD, port: 9090, protocol: "tcp" },
  direction: "ingress",
} as const;

/** A source-controller behind a Service, with a policy that admits pods labelled app=tc. */
export function guarded(clock: string): Scene {
  return calm(clock)
    .none("NetworkPolicy", "CiliumNetworkPolicy", "CiliumClusterwideNetworkPolicy")
    .object("Namespace", "ops", { metadata: { labels: { team: "platform" } } })
    .object("Namespace", "apps", {})
    .sourceController({ node: "beta", status: { podIP: "10.1.0.7" } })
    .pod("ops/tc-other", {
      ...{ node: "alpha", status: { podIP: "10.1.0.5" } },
      metadata: { labels: { app: "tc" } },
    })
    .pod("apps/chat-1", {
      ...{ node: "alpha", status: { podIP: "10.1.0.9" } },
      metadata: { labels: { app: "chat" } },
    })
    .object("Service", "ops/source-controller", {
      spec: { clusterIP: "10.96.0.7", ports: [{ name: "http", port: 80, targetPort: "http" }] },
    })
    .object("EndpointSlice", "ops/source-controller-x", {
      metadata: { labels: { "kubernetes.io/service-name": "source-controller" } },
      ports: [{ name: "http", port: 9090 }],
      endpoints: [{ targetRef: { kind: "Pod", name: "source-controller-1" } }],
    })
    .object("NetworkPolicy", "ops/artifacts", {
      spec: {
        podSelector: { matchLabels: { app: "source-controller" } },
        policyTypes: ["Ingress"],
        ingress: [
          { from: [{ podSelector: { matchLabels: { app: "tc" } } }], ports: [{ port: 9090 }] },
        ],
      },
    });
}

/** The same without a policy of its own. */
export function open(clock: string): Scene {
  const nobody = { podSelector: { matchLabels: { app: "nobody" } }, policyTypes: ["Ingress"] };
  return guarded(clock).object("NetworkPolicy", "ops/artifacts", { spec: nobody });
}
