import { controllersOf, sourceControllersOf } from "./controllers.ts";
import type { LogLine, LogMark, LogStream, Place } from "./model.ts";
import type { EventView, PodView } from "./pods.ts";

/** One sign that etcd or the API server was slow or away. */
export interface ControlPlaneSign {
  readonly atMs: number;
  readonly mark: LogMark;
  /** What the line says, short. */
  readonly says: string;
  /** Program that was hit or that says so, and its namespace if it is a pod. */
  readonly by: string;
  readonly namespace: string | undefined;
  readonly place: Place;
}

export interface ControlPlaneView {
  /** Oldest first. */
  readonly signs: readonly ControlPlaneSign[];
  /** From when on some log would have told. */
  readonly coveredFromMs: number;
  /**
   * A log begins later than the program it is of, or that of its life before is missing: what lies
   * before may have been lost.
   */
  readonly cut: boolean;
  /** Controllers that ended with an error, and whose log of that life is missing. */
  readonly untold: readonly { readonly pod: PodView; readonly endedMs: number }[];
  /** Leader elections that changed hands, by events. */
  readonly elections: readonly EventView[];
}

const SIGNS: readonly LogMark[] = [
  "lease-trouble",
  "leader-lost",
  "etcd-trouble",
  "api-server-trouble",
  "slow-request",
];

/** Who would notice: anything that elects a leader or serves the API. */
const WITNESS = /leader|etcd|apiserver|kube-controller-manager|kube-scheduler|controller/i;

/**
 * Signs of an unsteady control plane in the logs of controllers (their own and previous life),
 * etcd and the API server. Undefined if no such log was read.
 */
export function controlPlaneOf(
  logs: readonly LogStream[],
  events: readonly EventView[],
  pods: readonly PodView[],
): ControlPlaneView | undefined {
  const own = [...controllersOf(pods).map(({ pod }) => pod), ...sourceControllersOf(pods)];
  const controllers = new Set(own.map(logKey));
  const witnesses = logs.filter((log) => isWitness(log, controllers));
  if (witnesses.length === 0) return undefined;
  const signs = witnesses.flatMap((log) =>
    log.lines.flatMap((line) => {
      const sign = signOf(line, log);
      return sign === undefined ? [] : [sign];
    }),
  );
  return {
    signs: signs.sort((one, two) => one.atMs - two.atMs),
    coveredFromMs: Math.min(
      ...witnesses.map((log) => log.span?.firstMs ?? Number.POSITIVE_INFINITY),
    ),
    cut: witnesses.some((log) => isCut(log, witnesses, pods)),
    untold: own.flatMap((pod) => untoldEnd(pod, logs)),
    elections: events.filter((event) => event.reason === "LeaderElection"),
  };
}

/** Its first line is later than its process, or its process is not its pod's first. */
function isCut(log: LogStream, all: readonly LogStream[], pods: readonly PodView[]): boolean {
  if (log.previous || log.span === undefined) return false;
  const pod = pods.find((each) => each.name === log.name && each.namespace === log.namespace);
  const container =
    pod?.containers.find((each) => each.name === log.container) ?? pod?.containers[0];
  if (container === undefined) return true;
  if (log.span.firstMs - (container.runningSinceMs ?? 0) > START_MS) return true;
  const before = all.some((each) => each.previous && each.name === log.name);
  return container.restartCount > 0 && !before;
}

/** A life that ended by itself with an error: why is written in its log alone. */
function untoldEnd(pod: PodView, logs: readonly LogStream[]): ControlPlaneView["untold"] {
  const ends = pod.containers.flatMap(({ ended }) => (ended?.exitCode === 1 ? [ended] : []));
  const endedMs = ends[0]?.finishedMs;
  if (endedMs === undefined || logs.some((log) => log.previous && logKey(log) === logKey(pod)))
    return [];
  return [{ pod, endedMs }];
}

/** A program writes its first line within this of its start. */
const START_MS = 30_000;

const by = ({ name, namespace }: LogStream) => ({ by: name, namespace });

const logKey = ({ namespace, name }: { namespace: string | undefined; name: string }) =>
  `${namespace ?? ""}/${name}`;

/** By its pod, by what it writes, or by its name: a controller may be called anything. */
function isWitness(log: LogStream, controllers: ReadonlySet<string>): boolean {
  if (log.span === undefined || log.name.endsWith("-tf-runner")) return false;
  if (controllers.has(logKey(log))) return true;
  if (WITNESS.test(log.name) || SIGNS.some((mark) => log.marks[mark] !== undefined)) return true;
  return log.lines.some((line) => line.fields?.controller !== undefined);
}

function signOf(line: LogLine, log: LogStream): ControlPlaneSign | undefined {
  const { mark } = line;
  if (mark === undefined || !SIGNS.includes(mark)) return undefined;
  // A controller that was told to stop gives up its Lease, and says that it lost it.
  if (/after stop sequence was engaged/.test(line.message)) return undefined;
  const text = line.error === undefined ? line.message : `${line.message}: ${line.error}`;
  if (mark === "lease-trouble" && !isTimeOut(text)) return undefined;
  if (mark === "slow-request" && !isSlow(line)) return undefined;
  return { atMs: line.atMs, mark, says: text.slice(0, 240), ...by(log), place: line.place };
}

/** A lease lost because its holder was told to stop is no sign; one that timed out is. */
const isTimeOut = (text: string) =>
  /deadline exceeded|timed? ?out|Client\.Timeout|etcdserver:/i.test(text) ||
  (/failed to renew lease/i.test(text) && !/context canceled/i.test(text));

/**
 * etcd complains beyond 100 ms, which a busy disk does often; a second is another thing. The API
 * server traces what takes half a second, which a long list does; five are another thing.
 */
function isSlow(line: LogLine): boolean {
  const traced = /\(total time: (\d+)ms\)/.exec(line.message)?.[1];
  if (traced !== undefined) return Number(traced) >= 5_000;
  const took = line.fields?.took ?? /took too long \(([\d.]+m?s)\)/.exec(line.message)?.[1];
  const seconds = /^([\d.]+)s$/.exec(took ?? "")?.[1];
  return seconds !== undefined && Number(seconds) >= 1;
}
