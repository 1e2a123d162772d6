import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  dnsRights,
  dnsServer,
  gitServer,
  sourceController,
  sourceKinds,
  sourcePaths,
} from "./add-ons.ts";
import { runLong, until } from "./commands.ts";
import { controlPlane } from "./control-plane.ts";
import { Daemons } from "./daemons.ts";
import { networkUp } from "./network.ts";
import { ClusterNode } from "./node.ts";
import { type Administered, createObjects, send, sendForText, untilServed } from "./objects.ts";
import { makePki, pkiFolder, writeKubeconfig } from "./pki.ts";
import { type ClusterPlan, type ClusterSettings, nodePlans, quickDeath } from "./plan.ts";
import { PodProcesses } from "./pod-processes.ts";
import { binFolder, clusterLacks, cniFolder } from "./requirements.ts";
import { claimedIn, claimSlot, keepSlot, release } from "./slots.ts";

const START_LIMIT_MS = 120_000;
const READY_LIMIT_MS = 60_000;

export interface StartOptions {
  /** Where its files go; a folder that is not there yet, or empty. */
  readonly folder: string;
  readonly settings?: Partial<ClusterSettings>;
  /** Archives of images that every node gets; see `buildImage`. That of PAUSE_IMAGE is a must. */
  readonly images: readonly string[];
}

/** A running cluster. Whoever knows its folder may have one: nothing is kept in memory. */
export class Cluster implements Administered {
  readonly plan: ClusterPlan;
  readonly url: string;
  readonly ca: string;
  readonly tokens: { readonly admin: string };
  /** A file for `kubectl --kubeconfig`, of an administrator. */
  readonly kubeconfig: string;
  readonly nodes: readonly ClusterNode[];
  readonly #daemons: Daemons;

  constructor(plan: ClusterPlan) {
    this.plan = plan;
    this.url = plan.apiUrl;
    this.ca = readFileSync(join(pkiFolder(plan), "ca.crt"), "utf8");
    const [admin = ""] = readFileSync(join(pkiFolder(plan), "tokens.csv"), "utf8").split(",");
    this.tokens = { admin };
    this.kubeconfig = join(plan.folder, "kubeconfig");
    this.#daemons = new Daemons(plan.folder);
    this.nodes = nodePlans(plan).map((each) => new ClusterNode(each, this.#daemons));
  }

  node(name: string): ClusterNode {
    const found = this.nodes.find((each) => each.plan.name === name);
    if (found === undefined) throw new Error(`The cluster has no node "${name}"`);
    return found;
  }

  /** What can befall the processes of one pod, as its node's kernel knows them. */
  async pod(namespace: string, name: string): Promise<PodProcesses> {
    return PodProcesses.of(this, this.plan.id, { namespace, name });
  }

  /**
   * Resolves when the node's kubelet has said since the node's last start that it is ready, and
   * pods may go there.
   */
  async untilReady(name: string, limitMs = READY_LIMIT_MS): Promise<void> {
    const bootId = this.node(name).bootId();
    await until(`node ${name} to be ready`, limitMs, async () => {
      const found = await nodeStatus(this, name);
      const ready = found?.ready === "True" && found.bootId === bootId && found.taints === 0;
      return ready ? true : undefined;
    });
  }

  /** Resolves when the control plane has noticed that it hears nothing of the node. */
  async untilUnknown(name: string, limitMs = READY_LIMIT_MS): Promise<void> {
    await until(`node ${name} to be unknown`, limitMs, async () =>
      (await nodeStatus(this, name))?.ready === "Unknown" ? true : undefined,
    );
  }

  /**
   * Ends a process of the host ("kube-apiserver", "source-controller", ...) at once, or starts it
   * as it was. The API server resolves when it is ready again.
   */
  async stopProcess(name: string): Promise<void> {
    await this.#daemons.stop(name);
  }
  async startProcess(name: string): Promise<void> {
    this.#daemons.startAgain(name);
    if (name === "kube-apiserver") await untilServes(this, this.#daemons);
  }

  /** It stops where it is: connections stay open and nothing answers. */
  freezeProcess(name: string): void {
    this.#daemons.signal(name, "SIGSTOP");
  }
  thawProcess(name: string): void {
    this.#daemons.signal(name, "SIGCONT");
  }

  /** What kubectl prints, as an administrator; fails with what it complains of. */
  async kubectl(...args: readonly string[]): Promise<string> {
    return runLong(join(this.plan.bin, "kubectl"), `--kubeconfig=${this.kubeconfig}`, ...args);
  }

  /** Names of the host's processes, and the pid of each that runs. */
  processes(): ReadonlyMap<string, number | undefined> {
    return new Map(this.#daemons.names().map((name) => [name, this.#daemons.pid(name)]));
  }

  /** Loads an archive into each node that is on. */
  async importImages(archive: string): Promise<void> {
    const on = this.nodes.filter((node) => node.isOn());
    await Promise.all(on.map((node) => node.importImages(archive)));
  }

  /** Copies the logs of all its programs, for a look after it is gone. */
  copyLogs(folder: string): void {
    rmSync(folder, { recursive: true, force: true });
    cpSync(join(this.plan.folder, "logs"), folder, { recursive: true });
    for (const { plan } of this.nodes) {
      for (const program of ["containerd", "kubelet", "kube-proxy"]) {
        const log = join(plan.folder, "log", `${program}.log`);
        cpSync(log, join(folder, `node-${plan.name}-${program}.log`));
      }
    }
  }

  /** From now on it outlives this process; someone has to call `down`. */
  keep(): void {
    keepSlot(this.plan);
  }

  /** Ends all of it and leaves nothing behind. */
  async down(): Promise<void> {
    await release(this.plan);
  }
}

/** The cluster whose files are in this folder, if it is up. */
export function openCluster(folder: string): Cluster | undefined {
  const plan = claimedIn(folder);
  return plan === undefined ? undefined : new Cluster(plan);
}

/**
 * Starts a cluster and resolves when pods may be made: a control plane, nodes, Services, names,
 * Flux' sources and a Git server. It ends with `down`, or if this process dies, when the next one
 * is started.
 */
export async function startCluster(options: StartOptions): Promise<Cluster> {
  const lacks = clusterLacks();
  if (lacks.length > 0) throw new Error(lacks.join("; "));
  const settings = { ...quickDeath, ...options.settings };
  const place = { settings, folder: options.folder, bin: binFolder(), cni: cniFolder() };
  const plan = await claimSlot(place);
  try {
    return await start(plan, options.images);
  } catch (error) {
    const daemons = new Daemons(plan.folder);
    const words = daemons.names().map((name) => `${name}:\n${daemons.lastWords(name, 5)}`);
    await release(plan);
    throw new Error(`The cluster did not start:\n${words.join("\n")}`, { cause: error });
  }
}

async function start(plan: ClusterPlan, images: readonly string[]): Promise<Cluster> {
  mkdirSync(join(plan.folder, "run"), { recursive: true, mode: 0o700 });
  makePki(plan);
  const admin = `${randomBytes(16).toString("hex")},admin,1,"system:masters"\n`;
  writeFileSync(join(pkiFolder(plan), "tokens.csv"), admin, { mode: 0o600 });
  writeKubeconfig(plan, "admin", join(plan.folder, "kubeconfig"));
  networkUp(plan);
  const daemons = new Daemons(plan.folder);
  for (const name of ["etcd", "kube-apiserver"]) startDaemon(daemons, plan, name);
  const cluster = new Cluster(plan);
  // Nodes boot and load their images while the API server starts.
  await Promise.all([
    untilServes(cluster, daemons),
    ...cluster.nodes.map(async (node) => {
      node.prepare(plan);
      await node.start();
      for (const image of images) await node.importImages(image);
    }),
  ]);
  for (const name of ["kube-controller-manager", "kube-scheduler"]) {
    startDaemon(daemons, plan, name);
  }
  await createObjects(cluster, [...dnsRights(), ...sourceKinds(plan)]);
  daemons.start("coredns", dnsServer(plan));
  daemons.start("git-server", gitServer(plan));
  // It ends if one of its kinds is not served yet.
  for (const path of sourcePaths(plan)) await untilServed(cluster, path);
  daemons.start("source-controller", sourceController(plan));
  await Promise.all(plan.settings.nodes.map((name) => cluster.untilReady(name)));
  // A pod that is made before its namespace has its account is refused.
  await until("the default ServiceAccount", READY_LIMIT_MS, () =>
    find(cluster, "/api/v1/namespaces/default/serviceaccounts/default"),
  );
  return cluster;
}

function startDaemon(daemons: Daemons, plan: ClusterPlan, name: string): void {
  const command = controlPlane[name]?.(plan);
  if (command === undefined) throw new Error(`There is no program "${name}"`);
  daemons.start(name, command);
}

async function untilServes(cluster: Administered, daemons: Daemons): Promise<void> {
  await until("the API server", START_LIMIT_MS, async () => {
    if (daemons.pid("kube-apiserver") === undefined) throw new Error("The API server ended");
    return sendForText(cluster, "GET", "/readyz").catch(() => undefined);
  });
}

async function find(cluster: Administered, path: string): Promise<unknown> {
  try {
    return await send(cluster, "GET", path);
  } catch {
    return undefined;
  }
}

interface NodeObject {
  readonly spec: { readonly taints?: readonly unknown[] };
  readonly status: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly nodeInfo?: { readonly bootID?: string };
  };
}

async function nodeStatus(cluster: Administered, name: string) {
  const node = (await find(cluster, `/api/v1/nodes/${name}`)) as NodeObject | undefined;
  const ready = node?.status.conditions?.find(({ type }) => type === "Ready")?.status;
  const bootId = node?.status.nodeInfo?.bootID;
  return node && { ready, bootId, taints: node.spec.taints?.length ?? 0 };
}
