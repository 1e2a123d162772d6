import type { LeadershipView } from "./controllers.ts";
import type { LogLine, LogStream } from "./model.ts";
import { anyOf } from "./patterns.ts";
import type { Stage } from "./terraforms.ts";

/** What the controllers' logs tell of an object: where its newest pass stands. */
export interface PassView {
  /** `namespace/name`. */
  readonly object: string;
  readonly last: LogLine;
  /** The last line ends a pass: nobody works on the object. */
  readonly ended: boolean;
  /** The gate held it back: there was no work. */
  readonly skipped: boolean;
  /** Which call follows the last line; undefined if the pass has ended or the line tells none. */
  readonly stage: Stage | undefined;
  /** The artifact is fetched after this line, before anything is asked of the runner. */
  readonly fetching: boolean;
  /** Newest ">> Started", if it was kept. */
  readonly startedMs: number | undefined;
  /** When the newest pass began, if its lines tell. */
  readonly beganMs: number | undefined;
  /** Newest line of that pass that is no error: what it told before it called. */
  readonly calledMs: number;
  /** Newest line that ended a pass, if it was kept. */
  readonly endedMs: number | undefined;
  /** The newest error of this object, if one was kept. */
  readonly error: LogLine | undefined;
  readonly lines: readonly LogLine[];
}

export interface PassesView {
  readonly byObject: ReadonlyMap<string, PassView>;
  /** From when to when the logs of the controllers that lead tell everything. */
  readonly covered: { readonly fromMs: number; readonly toMs: number };
  readonly streams: readonly LogStream[];
}

/** Lines after which nobody works on the object until it is due again. */
const ENDS = anyOf(
  /^Reconciliation (failed|completed|is stopped|is suspended|is skipped)/,
  /^(clean up dir|requeue after|Skipping reconciliation|Reconciler error)/,
  /^(Dependencies do not meet|Source is not ready|Source .{0,200}not found)/,
  /^Reset reconciliation failures count\. Reason: successful/,
);
const SKIPS = /^Skipping reconciliation|^Reconciliation is skipped/i;
const STARTS = /^>> Started Generation/;

/** The last line before a call to the runner, and which call that is. */
const places: readonly { readonly line: RegExp; readonly stage: Stage }[] = [
  {
    line: anyOf(
      /^(setting up terraform|write backend config|new terraform|generated? (vars?|template))/,
      /^(init reply|tfexec initialized|error in terraform setup|error running Init)/,
      /^workspace select reply/,
    ),
    stage: "setup",
  },
  { line: /^(calling detectDrift|plan for drift|detected non drift error)/, stage: "drift-plan" },
  { line: /^(calling plan|plan to destroy)/, stage: "plan" },
  { line: /^(plan: ok|save tfplan)/, stage: "plan" },
  { line: /^(load tf plan|error applying)/, stage: "apply" },
  { line: /^destroy/, stage: "destroy" },
  {
    line: anyOf(
      /^(apply: ok|write outputs|get outputs|inventory|calling get inventory)/,
      /^(should apply == false|Last known action)/,
    ),
    stage: "outputs",
  },
];

function stageAfter(message: string): Stage | undefined {
  return places.find((row) => row.line.test(message))?.stage;
}

/** Streams of controllers that reconcile Terraform objects, told by what they log. */
export function isControllerLog(stream: LogStream): boolean {
  return stream.lines.some((line) => line.fields?.controller === "terraform");
}

/**
 * Puts together the newest pass of each object. Undefined if there is no log of a controller.
 * `readMs` is when the logs were read: until then silence is silence.
 */
export function passesOf(
  logs: readonly LogStream[],
  leadership: LeadershipView | undefined,
  readMs: number,
): PassesView | undefined {
  const streams = logs.filter((log) => !log.previous && isLeaderLog(log, leadership));
  if (streams.length === 0) return undefined;
  const byObject = new Map<string, PassView>();
  for (const stream of streams) {
    for (const [object, lines] of groupByObject(stream.lines)) {
      const pass = passOf(object, lines);
      const known = byObject.get(object);
      if (known === undefined || known.last.atMs <= pass.last.atMs) byObject.set(object, pass);
    }
  }
  const firsts = streams.map((each) => each.span?.firstMs ?? Number.POSITIVE_INFINITY);
  const ends = streams.map((each) => (each.brokenOff ? (each.span?.lastMs ?? 0) : readMs));
  const covered = { fromMs: Math.min(...firsts), toMs: Math.max(...ends) };
  return { byObject, covered, streams };
}

function isLeaderLog(log: LogStream, leadership: LeadershipView | undefined): boolean {
  const names = leadership?.leaders.map(({ controller }) => controller.pod) ?? [];
  const own = names.some(
    (pod) => pod.name === log.name && (log.namespace ?? pod.namespace) === pod.namespace,
  );
  if (own) return true;
  // A log that no pod can claim, for its name or for want of pods, counts if a controller wrote it.
  return (leadership === undefined || log.namespace === undefined) && isControllerLog(log);
}

function groupByObject(lines: readonly LogLine[]): Map<string, LogLine[]> {
  const groups = new Map<string, LogLine[]>();
  for (const line of lines) {
    if (line.object === undefined) continue;
    if ((line.fields?.controller ?? "terraform") !== "terraform") continue;
    const group = groups.get(line.object);
    if (group === undefined) groups.set(line.object, [line]);
    else group.push(line);
  }
  return groups;
}

function passOf(object: string, lines: readonly LogLine[]): PassView {
  const last = lines.at(-1) as LogLine;
  const ended = ENDS.test(last.message);
  const newest = (fits: RegExp) => lines.findLast((line) => fits.test(line.message))?.atMs;
  const own = lines.filter((line) => line.reconcileId === last.reconcileId);
  const began = last.reconcileId === undefined ? lines : own;
  return {
    object,
    last,
    ended,
    skipped: SKIPS.test(last.message),
    stage: ended ? undefined : stageAfter(last.message),
    fetching: !ended && /^(setting up terraform|runner is running)/.test(last.message),
    startedMs: newest(STARTS),
    beganMs: last.passBeganMs ?? began.findLast((line) => STARTS.test(line.message))?.atMs,
    calledMs: (own.findLast((line) => line.level !== "error") ?? last).atMs,
    endedMs: newest(ENDS),
    error: lines.findLast((line) => line.error !== undefined && line.level === "error"),
    lines,
  };
}
