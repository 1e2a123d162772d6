import type { LogLine, LogMark, LogStream, Place } from "./model.ts";
import type { EventView } from "./pods.ts";

/** One sign that etcd or the API server was slow or away. */
export interface ControlPlaneSign {
  readonly atMs: number;
  readonly mark: LogMark;
  /** What the line says, short. */
  readonly says: string;
  /** Program that was hit or that says so. */
  readonly by: string;
  readonly place: Place;
}

export interface ControlPlaneView {
  /** Oldest first. */
  readonly signs: readonly ControlPlaneSign[];
  /** From when on some log would have told. */
  readonly coveredFromMs: number;
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
): ControlPlaneView | undefined {
  const witnesses = logs.filter(isWitness);
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
    elections: events.filter((event) => event.reason === "LeaderElection"),
  };
}

function isWitness(log: LogStream): boolean {
  if (log.span === undefined) return false;
  if (log.name.endsWith("-tf-runner")) return false;
  return WITNESS.test(log.name) || SIGNS.some((mark) => log.marks[mark] !== undefined);
}

function signOf(line: LogLine, log: LogStream): ControlPlaneSign | undefined {
  const { mark } = line;
  if (mark === undefined || !SIGNS.includes(mark)) return undefined;
  const text = line.error === undefined ? line.message : `${line.message}: ${line.error}`;
  if (mark === "lease-trouble" && !isTimeOut(text)) return undefined;
  if (mark === "slow-request" && !isSlow(line)) return undefined;
  return { atMs: line.atMs, mark, says: text.slice(0, 240), by: log.name, place: line.place };
}

/** A lease lost because its holder was told to stop is no sign; one that timed out is. */
const isTimeOut = (text: string) =>
  /deadline exceeded|timed? ?out|Client\.Timeout|etcdserver:/i.test(text) ||
  (/failed to renew lease/i.test(text) && !/context canceled/i.test(text));

/** etcd complains beyond 100 ms, which a busy disk does often; a second is another thing. */
function isSlow(line: LogLine): boolean {
  const took = line.fields?.took ?? /took too long \(([\d.]+m?s)\)/.exec(line.message)?.[1];
  const seconds = /^([\d.]+)s$/.exec(took ?? "")?.[1];
  return seconds !== undefined && Number(seconds) >= 1;
}
