import { run, tryRun } from "./commands.ts";
import { bridgeOf, type ClusterPlan, type NodePlan, nodePlans, ranges } from "./plan.ts";

// host      bridge 10.89.S.1/24 ---+-------------------------+
//                          node a, 10.89.S.11        node b, 10.89.S.12
//                            cni0 10.(160+S).1.1/24     cni0 10.(160+S).2.1/24
//
// The host has a route to every pod and pods reach the host at its bridge address. Nothing is
// masqueraded and nothing leaves the machine. S is the cluster's slot.

/** The bridge, and every node's end of a cable to it, in a network namespace of the node's own. */
export function networkUp(plan: ClusterPlan): void {
  const bridge = bridgeOf(plan);
  run("ip", "link", "add", bridge, "type", "bridge");
  run("ip", "addr", "add", `${plan.host}/24`, "dev", bridge);
  run("ip", "link", "set", bridge, "up");
  const nodes = nodePlans(plan);
  for (const node of nodes) plugIn(plan, node);
  for (const node of nodes) {
    for (const other of nodes) {
      if (other !== node) inside(node, "route", "add", other.pods, "via", other.address);
    }
  }
  // Services are reached through the first node, for as long as it lives.
  const [first] = nodes;
  if (first === undefined) return;
  run("ip", "route", "add", ranges(plan).services, "via", first.address, "dev", bridge);
}

/** Whatever of it is there goes; routes go with their devices. */
export function networkDown(plan: ClusterPlan): void {
  for (const { netns, cable } of nodePlans(plan)) {
    tryRun("ip", "link", "del", cable);
    tryRun("ip", "netns", "del", netns);
  }
  tryRun("ip", "link", "del", bridgeOf(plan));
}

/** A node without its cable runs on and is reached by nobody. */
export function setCable(node: NodePlan, state: "up" | "down"): void {
  run("ip", "link", "set", node.cable, state);
}

function plugIn(plan: ClusterPlan, node: NodePlan): void {
  const { netns, cable } = node;
  run("ip", "netns", "add", netns);
  run("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", netns);
  run("ip", "link", "set", cable, "master", bridgeOf(plan), "up");
  inside(node, "link", "set", "lo", "up");
  inside(node, "addr", "add", `${node.address}/24`, "dev", "eth0");
  inside(node, "link", "set", "eth0", "up");
  inside(node, "route", "add", "default", "via", plan.host);
  run("ip", "netns", "exec", netns, "sysctl", "-qw", "net.ipv4.ip_forward=1");
  run("ip", "route", "add", node.pods, "via", node.address, "dev", bridgeOf(plan));
}

function inside({ netns }: NodePlan, ...args: readonly string[]): void {
  run("ip", "-n", netns, ...args);
}
