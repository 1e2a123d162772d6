import type { LockView } from "./locks.ts";
import type { NodeView, PodView } from "./pods.ts";
import { isRunner } from "./runners.ts";

/**
 * Who holds a lock: a run that lives, a runner that is gone, somebody outside (a laptop, a CI
 * job), or not to be told.
 */
export interface Holder {
  readonly kind: "live" | "gone" | "foreign" | "unknown";
  readonly pod: PodView | undefined;
  /** A whole sentence. */
  readonly says: string;
}

/** The lock and the pods are read some seconds apart. */
const APART_MS = 30_000;

export function holderOf(
  lock: LockView,
  facts: {
    readonly pods: readonly PodView[];
    readonly nodes: readonly NodeView[] | undefined;
    readonly unreadIn: readonly string[];
  },
  asOfMs: number,
): Holder {
  const { host } = lock;
  if (lock.leaseUnread) {
    return unknown(`Lock ${lock.id} refused a pass; whether it is still held, its Lease says.`);
  }
  if (host === undefined) return unknown(`Lock ${lock.id} does not say who holds it.`);
  const names = lock.objects.map((key) => key.split("/")[1] ?? "");
  const own = names.find((name) => hostsOf(name).includes(host));
  const runner = own === undefined ? host : `${own}-tf-runner`;
  if (own === undefined && !/-tf-runner$/.test(host)) {
    const says = `Lock ${lock.id} is held by ${lock.who ?? "somebody"}, who is no runner.`;
    return { kind: "foreign", pod: undefined, says };
  }
  if (facts.unreadIn.includes(lock.namespace)) {
    return unknown(`The pods of namespace ${lock.namespace} could not be read.`);
  }
  if (lock.createdMs === undefined) return unknown(`Lock ${lock.id} has no time.`);
  const pod = facts.pods.find(
    (each) => each.namespace === lock.namespace && each.name === runner && isRunner(each),
  );
  if (pod === undefined && own === undefined && names.length > 0) {
    return unknown(`Lock ${lock.id} is held by the runner of another object or cluster, ${host}.`);
  }
  if (pod === undefined || pod.phase === "Failed" || pod.phase === "Succeeded") {
    if (asOfMs - lock.createdMs < APART_MS) return unknown(`Lock ${lock.id} is only just taken.`);
    const state = pod === undefined ? "does not exist" : `is ${pod.phase}`;
    return { kind: "gone", pod, says: `Runner pod ${lock.namespace}/${runner} ${state}.` };
  }
  return ofPod(lock, pod, lock.createdMs, facts.nodes);
}

/**
 * What a runner of an object calls its host: its pod's name, of which a host keeps 63 characters,
 * or with subdomains the object's name.
 */
function hostsOf(name: string): string[] {
  const pod = `${name}-tf-runner`;
  return [pod, pod.slice(0, HOST_CHARACTERS).replace(/[-.]+$/, ""), name];
}

const HOST_CHARACTERS = 63;

function ofPod(
  lock: LockView,
  pod: PodView,
  createdMs: number,
  nodes: readonly NodeView[] | undefined,
): Holder {
  const container = pod.containers.find((each) => each.name === "tf-runner") ?? pod.containers[0];
  const startedMs = container?.runningSinceMs;
  const node = nodes?.find((each) => each.name === pod.node);
  if (startedMs === undefined) return unknown(`Runner ${pod.key} is between two lives.`, pod);
  // A container's start has whole seconds; one that began in the lock's second began before it.
  if (startedMs > createdMs) {
    const says = `Lock ${lock.id} is older than the container of ${pod.key} that runs now.`;
    return { kind: "gone", pod, says };
  }
  // A pod on a node that is lost stays Running; the control plane says only that it is not Ready.
  const isAway = nodes === undefined ? !pod.ready : node?.ready !== true;
  if (isAway) return unknown(`Node ${pod.node} is not Ready; its runner may still write.`, pod);
  return { kind: "live", pod, says: `Runner ${pod.key} took lock ${lock.id} and is alive.` };
}

const unknown = (says: string, pod?: PodView): Holder => ({ kind: "unknown", pod, says });
