import { type EventView, endedUnknown, type NodeView, type PodView } from "./pods.ts";

/** What the evidence says of a node's reboot. */
export interface RebootView {
  readonly node: NodeView;
  /** `unclear`: it became Ready late, and nothing is left that was there before. */
  readonly verdict: "rebooted" | "ran-on" | "unclear" | "no-sign";
  /** When the pods of the node ended, or the node went. */
  readonly wentMs: number | undefined;
  /** When it was Ready again. */
  readonly backMs: number | undefined;
  /** An orderly shutdown leaves Failed pods; a power loss restarts the containers in place. */
  readonly how: "shutdown" | "power-loss" | undefined;
  readonly struck: readonly PodView[];
  readonly proofs: readonly EventView[];
  readonly says: string;
}

/** Pods of one node end within this, when it goes down: their grace periods differ. */
const TOGETHER_MS = 90_000;

/**
 * Judges each node by the pods that ran on it before: all of them ended by the node's shutdown, or
 * came up again with an end that the kubelet does not know. A container that has run through
 * proves that there was no reboot since it began.
 */
export function rebootsOf(
  nodes: readonly NodeView[],
  pods: readonly PodView[],
  events: readonly EventView[],
): RebootView[] {
  return nodes.map((node) => {
    const here = pods.filter((pod) => pod.node === node.name);
    const proofs = events.filter((event) => event.about === `Node/${node.name}` && isProof(event));
    return judge(node, here, proofs);
  });
}

const isProof = (event: EventView) =>
  event.reason === "Rebooted" ||
  (event.reason === "Shutdown" && /shutdown/i.test(event.message)) ||
  event.reason === "NodeShutdown";

/** A node that boots runs nothing for longer than this. */
const BOOT_MS = 20_000;
/** A new node is Ready within this of its registration. */
const JOIN_MS = 2 * 60_000;

/** When it became Ready, if that was long after it joined: it was away, or not heard. */
function lateReady({ ready, readySinceMs, createdMs }: NodeView): number | undefined {
  if (!ready || readySinceMs === undefined || createdMs === undefined) return undefined;
  return readySinceMs - createdMs > JOIN_MS ? readySinceMs : undefined;
}

interface Strike {
  readonly pod: PodView;
  readonly how: "shutdown" | "power-loss";
  readonly wentMs: number | undefined;
  readonly backMs: number | undefined;
}

function judge(node: NodeView, here: readonly PodView[], proofs: readonly EventView[]): RebootView {
  const strikes = here.flatMap((pod) => strikeOf(pod));
  const newest = newestGroup(strikes);
  const proof = proofs.toSorted((one, two) => two.atMs - one.atMs)[0];
  const wentMs = least(newest.map((each) => each.wentMs)) ?? proof?.atMs;
  const back = least(newest.map((each) => each.backMs));
  const since = wentMs ?? (back === undefined ? lateReady(node) : back - BOOT_MS);
  const ranOn = since === undefined ? [] : here.filter((pod) => ranThrough(pod, since));
  const base = { node, wentMs, struck: newest.map((each) => each.pod), proofs };
  const backMs = laterOf(node, since) ?? back;
  if (ranOn.length > 0) {
    const names = ranOn
      .map((pod) => pod.key)
      .slice(0, 3)
      .join(", ");
    const says = `Containers on node ${node.name} ran through (${names}).`;
    return { ...base, backMs: undefined, how: undefined, verdict: "ran-on", says };
  }
  if (newest.length === 0 && proof === undefined) {
    const late = since !== undefined;
    const says = late
      ? `Node ${node.name} became Ready late, and nothing that ran on it before is left to tell.`
      : `Nothing on node ${node.name} shows a reboot.`;
    const verdict = late ? "unclear" : "no-sign";
    return { ...base, backMs: undefined, how: undefined, verdict, says };
  }
  const how = newest[0]?.how ?? "shutdown";
  const says =
    how === "shutdown"
      ? `The pods of node ${node.name} were ended by its shutdown.`
      : `Containers of node ${node.name} came up again with an end its kubelet does not know.`;
  return { ...base, backMs, how, verdict: "rebooted", says };
}

/** How a pod was struck by its node going down, if it was. */
function strikeOf(pod: PodView): Strike[] {
  const shutdown = /node shutdown|NodeShutdown/i.test(`${pod.message ?? ""} ${pod.reason ?? ""}`);
  if (pod.phase === "Failed" && (shutdown || pod.reason === "Terminated")) {
    const ends = pod.containers.map((each) => each.ended?.finishedMs);
    return [{ pod, how: "shutdown", wentMs: least(ends), backMs: undefined }];
  }
  const lost = pod.containers.filter(
    (each) => each.restartCount > 0 && endedUnknown(each.ended) && each.ended?.now === false,
  );
  if (lost.length === 0) return [];
  return [
    {
      pod,
      how: "power-loss",
      wentMs: undefined,
      backMs: least(lost.map((each) => each.runningSinceMs)),
    },
  ];
}

/** Of strikes at several times the newest ones that lie together. */
function newestGroup(strikes: readonly Strike[]): Strike[] {
  const time = (each: Strike) => each.wentMs ?? each.backMs ?? 0;
  const newest = strikes.reduce((latest, each) => Math.max(latest, time(each)), 0);
  return strikes.filter((each) => newest - time(each) <= TOGETHER_MS);
}

function ranThrough(pod: PodView, sinceMs: number): boolean {
  return pod.containers.some(
    (each) => each.runningSinceMs !== undefined && each.runningSinceMs < sinceMs,
  );
}

/** Ready since after it went. */
function laterOf(node: NodeView, wentMs: number | undefined): number | undefined {
  if (!node.ready || node.readySinceMs === undefined || wentMs === undefined) return undefined;
  return node.readySinceMs >= wentMs ? node.readySinceMs : undefined;
}

function least(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((each) => each !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
