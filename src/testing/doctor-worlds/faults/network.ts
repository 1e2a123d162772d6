import { SYSTEM, type World } from "../world.ts";
import type { Fault } from "./fault.ts";

const TARGET = `${SYSTEM}/source-controller-0`;
const LABELS = { app: "source-controller" };
/** A recording of drops is a file of its own, which thin evidence lacks. */
const recorded = { "objects-and-metrics": "open" as const };

/** Somebody sends to the source-controller's artifact port and is dropped. */
function drop(world: World, from: { readonly key: string; readonly labels: object }): void {
  const [namespace = "", name = ""] = from.key.split("/");
  world.scene
    .pod(from.key, {
      node: "node-1",
      metadata: { labels: from.labels },
      status: { podIP: "10.1.0.9" },
    })
    .pod(TARGET, { node: "node-1", metadata: { labels: LABELS }, status: { podIP: "10.1.0.7" } })
    .object("Namespace", SYSTEM, {
      metadata: { labels: { "kubernetes.io/metadata.name": SYSTEM } },
    })
    .object("Namespace", namespace)
    .none("CiliumNetworkPolicy", "CiliumClusterwideNetworkPolicy")
    .object("NetworkPolicy", `${SYSTEM}/source-controller`, {
      spec: {
        podSelector: { matchLabels: LABELS },
        policyTypes: ["Ingress"],
        ingress: [
          {
            from: [{ namespaceSelector: {}, podSelector: { matchLabels: { role: "reconciler" } } }],
            ports: [{ port: 9090, protocol: "TCP" }],
          },
        ],
      },
    })
    .drop({
      ...{ at: world.ago(50), reason: "policy denied", protocol: "tcp", port: 9090 },
      direction: "ingress",
      source: {
        ...{ ip: "10.1.0.9", identity: 4_711, namespace, pod: name },
        labels: from.labels as Record<string, string>,
      },
      destination: {
        ...{ ip: "10.1.0.7", identity: 4_712, namespace: SYSTEM, pod: "source-controller-0" },
        labels: LABELS,
      },
    });
}

const correct: Fault = {
  name: "a packet was dropped because a policy says so",
  realm: "network",
  apply(world) {
    drop(world, { key: world.key("apps"), labels: { app: "chat-proxy" } });
    world.expect("network/denied-drop-correct", `Pod/${TARGET}`, recorded);
  },
};

const wrong: Fault = {
  name: "a packet was dropped that a policy allows",
  realm: "network",
  apply(world) {
    drop(world, { key: world.key("apps"), labels: { role: "reconciler" } });
    world.expect("network/denied-drop-of-allowed-flow", `Pod/${TARGET}`, recorded);
  },
};

export const networkFaults: readonly Fault[] = [correct, wrong];
