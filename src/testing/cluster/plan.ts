import { join } from "node:path";

/** What one may choose of a test cluster. */
export interface ClusterSettings {
  /** Names of the nodes, each of which counts as a machine of its own; at most nine. */
  readonly nodes: readonly string[];
  /** Validity of a node's Lease, which its kubelet renews four times in that time. */
  readonly leaseS: number;
  /** A node whose Lease was not renewed for so long is Unknown. Kubernetes' own default is 50. */
  readonly graceS: number;
  /** How long pods stay on a node that is not ready, unless they say otherwise; else 300. */
  readonly tolerationS: number;
  readonly apiServerFlags: readonly string[];
  readonly controllerManagerFlags: readonly string[];
}

/** A dead node is known after 6 to 8 seconds instead of a minute, its pods are given up 3 later. */
export const quickDeath: ClusterSettings = {
  nodes: ["a", "b"],
  leaseS: 4,
  graceS: 6,
  tolerationS: 3,
  apiServerFlags: [],
  controllerManagerFlags: [],
};

/** Where everything of one cluster is. Follows from its slot, its folder and what was chosen. */
export interface ClusterPlan {
  readonly settings: ClusterSettings;
  /** Several clusters may run side by side, each in a slot of its own, from 0. */
  readonly slot: number;
  /** Prefix of its cgroups, network namespaces and devices. */
  readonly id: string;
  /** All its files. Not below /run, /var/lib or /var/log, which each node has for itself. */
  readonly folder: string;
  /** Folder of the programs that `npm run cluster -- build` makes. */
  readonly bin: string;
  /** Folder of the CNI plugins. */
  readonly cni: string;
  /** The host's address on the bridge: of the API server, and of whatever pods are to reach. */
  readonly host: string;
  /** A loopback address of this cluster's own, so that ports never collide. */
  readonly loopback: string;
  readonly apiUrl: string;
  readonly sourcesUrl: string;
  readonly gitUrl: string;
}

export const SLOTS = 16;
const API_PORT = 6443;
const SOURCES_PORT = 9090;
const GIT_PORT = 3000;

export type Chosen = Pick<ClusterPlan, "settings" | "slot" | "folder" | "bin" | "cni">;

export function planOf(chosen: Chosen): ClusterPlan {
  const host = `10.89.${chosen.slot}.1`;
  return {
    ...chosen,
    ...{ host, id: `nigari${chosen.slot}`, loopback: `127.89.${chosen.slot}.1` },
    apiUrl: `https://${host}:${API_PORT}`,
    sourcesUrl: `http://${host}:${SOURCES_PORT}`,
    gitUrl: `http://${host}:${GIT_PORT}`,
  };
}

/** Everything that has to do with one node's place. */
export interface NodePlan {
  readonly name: string;
  readonly folder: string;
  readonly address: string;
  /** Addresses of its pods. */
  readonly pods: string;
  readonly netns: string;
  /** The bridge's end of its cable. */
  readonly cable: string;
  /** Below each hierarchy of /sys/fs/cgroup. */
  readonly cgroup: string;
}

export function nodePlan({ id, slot, folder, settings }: ClusterPlan, name: string): NodePlan {
  const index = settings.nodes.indexOf(name);
  if (index < 0) throw new Error(`The cluster has no node "${name}"`);
  return {
    name,
    folder: join(folder, "nodes", name),
    address: `10.89.${slot}.${11 + index}`,
    pods: `10.${160 + slot}.${1 + index}.0/24`,
    netns: `${id}-${name}`,
    cable: `${id}-${name}`,
    cgroup: `${id}/${name}`,
  };
}

export function nodePlans(plan: ClusterPlan): NodePlan[] {
  return plan.settings.nodes.map((name) => nodePlan(plan, name));
}

/** Of all pods, and of all Services. */
export function ranges({ slot }: ClusterPlan): {
  readonly pods: string;
  readonly services: string;
} {
  return { pods: `10.${160 + slot}.0.0/16`, services: `10.${192 + slot}.0.0/16` };
}

/** The API server's own Service. */
export function firstService({ slot }: ClusterPlan): string {
  return `10.${192 + slot}.0.1`;
}

export function bridgeOf({ id }: ClusterPlan): string {
  return `${id}-br`;
}
