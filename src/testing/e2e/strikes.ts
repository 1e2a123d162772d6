import type { Cluster } from "../cluster/cluster.ts";
import { pause } from "../cluster/commands.ts";
import { send } from "../cluster/objects.ts";
import type { Controllers } from "./controllers.ts";
import { cordon } from "./cordon.ts";
import type { Estate } from "./estate.ts";

/** What is there to be struck. The runners are on node b; the first controller leads. */
export interface Struck {
  readonly cluster: Cluster;
  readonly estate: Estate;
  readonly controllers: Controllers;
  /** Names of the runners' pods. */
  readonly pods: readonly string[];
  /** The controller that leads. */
  readonly leader: number;
}

export interface Strike {
  readonly title: string;
  /** By which means the fault is made. */
  readonly means: string;
  /** What follows for init and plan, and for the apply. */
  readonly plan: string;
  readonly apply: string;
  /** What may come of the apply: nothing, a second attempt, or a question to a person. */
  readonly harm: "none" | "again" | "asks";
  /** Strikes, and heals what it has broken; resolves to the controller that leads afterwards. */
  strike(struck: Struck): Promise<number>;
}

const again = "a new attempt goes on at once";
const untouched = "goes on as if nothing had been";
const asks =
  "was killed in the middle: the status names what may exist, and a person lets the plan go on";

const AWAY_MS = 15_000;
const API_AWAY_MS = 30_000;

export const strikes = {
  "container-killed": {
    title: "The runner's container is killed",
    means: "SIGKILL of every process of the container.",
    ...{ plan: again, apply: asks, harm: "asks" },
    async strike({ cluster, estate, pods, leader }) {
      const all = pods.map((name) => cluster.pod(estate.namespace, name));
      for (const pod of await Promise.all(all)) pod.kill();
      return leader;
    },
  },
  "pod-force-deleted": {
    title: "The pod is deleted by force",
    means: "A deletion with a grace of 0, as `kubectl delete --force` sends it.",
    ...{ plan: again, apply: asks, harm: "asks" },
    async strike({ cluster, estate, pods, leader }) {
      const path = `/api/v1/namespaces/${estate.namespace}/pods`;
      const body = { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0 };
      await Promise.all(pods.map((name) => send(cluster, "DELETE", `${path}/${name}`, body)));
      return leader;
    },
  },
  drained: {
    title: "The node is drained",
    means: "The node is cordoned and every pod evicted, as `kubectl drain` does.",
    plan: "ends in order, then a new attempt goes on elsewhere",
    apply: "is interrupted once and saves its state; a fresh plan goes on by itself",
    harm: "again",
    async strike({ cluster, estate, pods, leader }) {
      await cordon(cluster, "b", true);
      const { namespace } = estate;
      await Promise.all(
        pods.map((name) =>
          send(cluster, "POST", `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, {
            ...{ apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } },
          }),
        ),
      );
      await pause(AWAY_MS);
      await cordon(cluster, "b", false);
      return leader;
    },
  },
  "node-frozen": {
    title: "The node is frozen, then thawed",
    means: "All processes of the node stop for 15 s, the kubelet among them.",
    plan: "a new attempt goes on elsewhere; the old one is ended when it is thawed",
    apply: "nothing is started while it may write; thawed it goes on, or is interrupted in order",
    harm: "again",
    async strike({ cluster, leader }) {
      const node = cluster.node("b");
      await node.freeze();
      await pause(AWAY_MS);
      await node.thaw();
      await cluster.untilReady("b");
      return leader;
    },
  },
  "node-cut": {
    title: "The node is cut off, then joined",
    means: "Its network is away for 15 s while everything on it runs on.",
    plan: "a new attempt goes on elsewhere; the old one is ended when its node is back",
    apply: "nothing is started while it may write; joined it goes on, or is interrupted in order",
    harm: "again",
    async strike({ cluster, leader }) {
      const node = cluster.node("b");
      node.cut();
      await pause(AWAY_MS);
      node.join();
      await cluster.untilReady("b");
      return leader;
    },
  },
  "controller-killed": {
    title: "The controller is killed",
    means: "SIGKILL of the controller; another one is started.",
    ...{ plan: untouched, apply: untouched, harm: "none" },
    async strike({ controllers, leader }) {
      await controllers.stop(leader, "SIGKILL");
      const next = controllers.start();
      await controllers.untilLeads(next);
      return next;
    },
  },
  "leader-frozen": {
    title: "The leader is frozen, then thawed",
    means: "SIGSTOP of the leader until another controller leads; then SIGCONT.",
    ...{ plan: untouched, apply: untouched, harm: "none" },
    async strike({ controllers, leader }) {
      const next = controllers.start();
      controllers.signal(leader, "SIGSTOP");
      await controllers.untilLeads(next);
      controllers.signal(leader, "SIGCONT");
      await pause(2_000);
      await controllers.stop(leader);
      return next;
    },
  },
  "source-stopped": {
    title: "source-controller is stopped",
    means: "Flux' source-controller, which serves the artifacts, is away for 10 s.",
    ...{ plan: untouched, apply: untouched, harm: "none" },
    async strike({ cluster, leader }) {
      await cluster.stopProcess("source-controller");
      await pause(10_000);
      await cluster.startProcess("source-controller");
      return leader;
    },
  },
  "api-stopped": {
    title: "The API server is stopped",
    means: "The API server is away for 30 s. Times count from when a controller leads again.",
    plan: "goes on, or a new attempt does",
    apply: "goes on, or is interrupted in order",
    harm: "again",
    async strike({ cluster, controllers, leader }) {
      await cluster.stopProcess("kube-apiserver");
      await pause(API_AWAY_MS);
      await cluster.startProcess("kube-apiserver");
      await controllers.untilLeads(leader);
      return leader;
    },
  },
} as const satisfies Readonly<Record<string, Strike>>;

export type StrikeName = keyof typeof strikes;
export const strikeNames = Object.keys(strikes) as StrikeName[];

/** Where runs are held when it strikes. */
export const strikeStages = ["init", "plan", "apply"] as const;
export type StrikeStage = (typeof strikeStages)[number];
