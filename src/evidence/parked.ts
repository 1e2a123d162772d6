import { DOWNLOAD_MS } from "./artifacts.ts";
import type { ControlPlaneView } from "./control-plane.ts";
import { type LeadershipView, type LeaderView, leaderFor } from "./controllers.ts";
import type { Knowledge, UnreadView } from "./knowledge.ts";
import type { PassView } from "./passes.ts";
import type { NodeView, PodView } from "./pods.ts";
import { type RunnerView, runnerFate } from "./runners.ts";
import type { SourceView } from "./sources.ts";
import type { Stage, TerraformView } from "./terraforms.ts";
import { type CallsView, stageOfCall, type WorkersView } from "./workers.ts";

/** What is known, as far as it bears on passes that wait for a runner. */
export interface ParkedFacts {
  readonly terraforms: readonly TerraformView[];
  readonly pods: readonly PodView[];
  readonly leadership: LeadershipView;
  readonly activity: Knowledge["activity"];
  readonly nodes?: readonly NodeView[];
  readonly sources?: readonly SourceView[];
  readonly calls?: CallsView;
  readonly controlPlane?: ControlPlaneView;
  readonly unread?: UnreadView;
}

/** An object whose status says that a pass is among the runner's calls, judged. */
export interface CallView {
  readonly object: TerraformView;
  /** Since when the status says so. */
  readonly sinceMs: number;
  readonly stage: Stage;
  readonly leader: LeaderView | undefined;
  readonly runner: RunnerView;
  readonly pass: PassView | undefined;
  /**
   * `parked`: the runner that got the call is gone and the wait goes on. `running`: it is not
   * gone. `over`: no pass waits any more. `undecided`: the evidence does not settle it.
   */
  readonly verdict: "parked" | "running" | "over" | "undecided";
  /** How it is known that the wait goes on. */
  readonly by: readonly ("log" | "metrics")[];
  readonly workers: WorkersView | undefined;
  /** A whole sentence: why it is judged so. */
  readonly why: string;
}

/** Times of the API server are cut to this. */
const WHOLE_SECOND_MS = 1_000;
/** A line younger than this may yet be followed by another. */
const SILENT_MS = 60_000;
/** Metrics and objects of one dump are read some seconds apart. */
const APART_MS = 15_000;
/** A pass comes to a call that shows in the status, or to its end, within this. */
const UNTOLD_MS = 4 * 60_000;
const UNSTEADY_MS = 15 * 60_000;

type Draft = Omit<CallView, "by" | "why" | "verdict"> &
  Pick<CallView, "why"> & {
    /** `candidate`: gone, leader old enough; whether the wait goes on is still to be seen. */
    readonly standing: "candidate" | "running" | "over" | "undecided";
    readonly log: "waits" | "silent-too-short" | "ended" | "unknown";
    readonly call: Call;
  };

/** A call to the runner that a pass stands in, by the status or, where that is older, the log. */
interface Call {
  readonly stage: Stage;
  readonly sinceMs: number;
}

/** Judges every object that the status shows in a call. Never `parked` on a guess. */
export function callsInProgress(facts: ParkedFacts, asOfMs: number): CallView[] {
  const drafts = facts.terraforms.flatMap((object) => {
    const draft = draftOf(object, facts, asOfMs);
    return draft === undefined ? [] : [draft];
  });
  return drafts.map((draft) => settled(draft, drafts, facts, asOfMs));
}

/**
 * Passes that the metrics count and no object's status tells of, where there is no log to tell: one
 * that is parked may be among them, for not every call shows in a status.
 */
export function untoldPasses(
  facts: ParkedFacts,
  calls: readonly CallView[],
  asOfMs: number,
): { readonly amount: number; readonly workers: WorkersView }[] {
  if (facts.activity.passes !== undefined) return [];
  return (facts.activity.workers ?? []).flatMap((workers) => {
    const told = calls.filter((each) => each.workers === workers && each.verdict !== "over");
    const amount = workers.active - told.length;
    const agesMs = told.reduce((sum, each) => sum + asOfMs - each.sinceMs, 0);
    const isLong = (workers.unfinishedMs ?? 0) - agesMs > UNTOLD_MS;
    return amount > 0 && isLong ? [{ amount, workers }] : [];
  });
}

function draftOf(object: TerraformView, facts: ParkedFacts, asOfMs: number): Draft | undefined {
  const pass = facts.activity.passes?.byObject.get(object.key);
  const call = callOf(object, pass);
  if (call === undefined) return undefined;
  const { sinceMs } = call;
  const leader = leaderFor(facts.leadership, object.namespace);
  const unread = facts.unread?.podsIn.includes(object.namespace) === true;
  const runner: RunnerView = unread
    ? unreadRunner(object)
    : runnerFate(object, sinceMs, facts.pods, facts.nodes);
  const log = logSays(pass, facts, sinceMs, asOfMs);
  const workers = facts.activity.workers?.find(
    (each) => each.controller === undefined || each.controller === leader?.controller,
  );
  const stage = stageOf(call, object, pass, facts);
  const base = { object, sinceMs, stage, leader, runner, pass, workers, log, call };
  return { ...base, ...standing(base, facts, asOfMs) };
}

/**
 * The call that the newest pass stands in. A status may be older than that pass, for the same
 * words do not move its time; and some calls come after a status that says nothing of a call.
 */
function callOf(object: TerraformView, pass: PassView | undefined): Call | undefined {
  const { inCall } = object;
  if (pass === undefined || pass.ended) return inCall;
  // Without destroying anything, a deletion asks the runner to clean up right after this line.
  const cleansUp = object.deleting && /^runner is running/.test(pass.last.message);
  const stage = pass.stage ?? (cleansUp ? "destroy" : undefined);
  const byLog = stage === undefined ? undefined : { stage, sinceMs: pass.calledMs };
  const { beganMs } = pass;
  if (inCall !== undefined) {
    const isNewer = beganMs !== undefined && beganMs >= inCall.sinceMs + WHOLE_SECOND_MS;
    return isNewer ? byLog : inCall;
  }
  const underWay = object.ready?.status === "Unknown" || object.reconciling?.status === "True";
  const isDone = beganMs === undefined || (object.lastSuccessMs ?? 0) >= beganMs;
  return underWay && !isDone ? byLog : undefined;
}

const unreadRunner = (object: TerraformView): RunnerView => ({
  pod: undefined,
  fate: "unknown",
  how: undefined,
  says: `The pods of namespace ${object.namespace} could not be read.`,
  goneMs: undefined,
});

/** What the leader's log says of the wait: its last line of the object, and silence since. */
function logSays(
  pass: PassView | undefined,
  facts: ParkedFacts,
  sinceMs: number,
  asOfMs: number,
): Draft["log"] {
  const covered = facts.activity.passes?.covered;
  if (pass === undefined || covered === undefined) return "unknown";
  // The log must tell of the whole time: from a line of this wait until now.
  if (pass.last.atMs < sinceMs - 5_000) return "unknown";
  if (pass.ended) return "ended";
  if (covered.toMs < asOfMs - SILENT_MS) return "unknown";
  return asOfMs - pass.last.atMs >= SILENT_MS ? "waits" : "silent-too-short";
}

function standing(
  draft: Pick<Draft, "object" | "sinceMs" | "leader" | "runner" | "pass" | "log" | "call">,
  facts: ParkedFacts,
  asOfMs: number,
): Pick<Draft, "standing" | "why"> {
  const { object, sinceMs, leader, runner, log } = draft;
  if (runner.fate !== "gone" && runner.fate !== "unknown") {
    return { standing: "running", why: runner.says };
  }
  if (log === "ended") {
    return { standing: "over", why: `The last pass of ${object.key} has ended.` };
  }
  if (log === "silent-too-short") {
    return { standing: "over", why: `The pass of ${object.key} wrote a line within a minute.` };
  }
  const led = leads(leader, facts.leadership, sinceMs);
  if (led !== undefined) return led;
  if (runner.fate === "unknown") return { standing: "undecided", why: runner.says };
  if (asOfMs - sinceMs < SILENT_MS) {
    return { standing: "over", why: `${object.key} has been in this call for less than a minute.` };
  }
  const doubt = doubtOf(draft, facts, asOfMs);
  if (doubt !== undefined) return { standing: "undecided", why: doubt };
  return { standing: "candidate", why: runner.says };
}

/** Only a process that is older than the call can wait in it. */
function leads(
  leader: LeaderView | undefined,
  leadership: LeadershipView,
  sinceMs: number,
): Pick<Draft, "standing" | "why"> | undefined {
  if (leader === undefined) {
    if (leadership.vacant.length > 0) {
      return { standing: "over", why: "The process that held the leader Lease is gone." };
    }
    return { standing: "undecided", why: "Nobody is known to lead." };
  }
  const { startedMs, pod } = leader.controller;
  if (startedMs === undefined) {
    return { standing: "undecided", why: `When ${pod.key} began is not known.` };
  }
  if (startedMs < sinceMs) return undefined;
  return { standing: "over", why: `The leading process of ${pod.key} began after the call.` };
}

/**
 * Two looks of a wedge that are none: a download of the artifact, which comes before the first
 * call and ends by itself, and nodes that only look lost because the control plane is away.
 */
function doubtOf(
  draft: Pick<Draft, "object" | "sinceMs" | "runner" | "pass" | "log" | "call">,
  facts: ParkedFacts,
  asOfMs: number,
): string | undefined {
  const { object, sinceMs, runner, pass, call } = draft;
  const newestSign = facts.controlPlane?.signs.findLast((sign) => sign.atMs <= asOfMs)?.atMs;
  const unsteady = newestSign !== undefined && asOfMs - newestSign <= UNSTEADY_MS;
  const mayFetch = pass === undefined ? call.stage === "unknown" : pass.fetching;
  const begunMs = pass?.last.atMs ?? sinceMs;
  const wasSteady = pass === undefined || isCovered(facts.controlPlane, begunMs);
  const fetches = facts.calls === undefined ? unsteady || !wasSteady : facts.calls.downloads > 0;
  if (mayFetch && fetches && asOfMs - begunMs < DOWNLOAD_MS) {
    return `${object.key} may still be fetching its artifact, which ends by itself.`;
  }
  const isAbsent = runner.how === "no-pod" || runner.how === "pod-replaced";
  if (draft.log === "unknown" && isAbsent && call.stage === "unknown" && object.failures > 0) {
    return `An earlier pass of ${object.key} may have left its status, and its pod is a newer one.`;
  }
  if (runner.how === "node-not-ready" && facts.nodes !== undefined) {
    const away = facts.nodes.filter((node) => !node.ready).length;
    if (away > 1 && away === facts.nodes.length) {
      return "No node at all is Ready: the control plane may not hear them.";
    }
    const awayMs = asOfMs - (runner.goneMs ?? Number.NEGATIVE_INFINITY);
    if (awayMs < SILENT_MS)
      return "The node is not Ready for less than a minute: it may come back.";
    if (unsteady && awayMs < 2 * SILENT_MS) {
      return "The node is not Ready only since the control plane became unsteady.";
    }
  }
  return undefined;
}

/** Whether the logs would tell of trouble before a time. */
function isCovered(controlPlane: ControlPlaneView | undefined, ms: number): boolean {
  if (controlPlane === undefined) return false;
  return !controlPlane.cut || controlPlane.coveredFromMs <= ms - UNSTEADY_MS;
}

function settled(
  draft: Draft,
  drafts: readonly Draft[],
  facts: ParkedFacts,
  asOfMs: number,
): CallView {
  const { standing: own, log, why, ...view } = draft;
  if (own !== "candidate") return { ...view, verdict: own, by: [], why };
  const metrics = metricsSay(draft, drafts, asOfMs);
  if (log === "waits" && metrics !== "fewer-than-parked") {
    const by = metrics === "waits" ? (["log", "metrics"] as const) : (["log"] as const);
    return { ...view, verdict: "parked", by, why };
  }
  if (log === "unknown" && metrics === "waits") {
    return { ...view, verdict: "parked", by: ["metrics"], why };
  }
  return { ...view, verdict: "undecided", by: [], why: doubtOfWait(draft, metrics, facts) };
}

function doubtOfWait(draft: Draft, metrics: MetricsSay, facts: ParkedFacts): string {
  const { key } = draft.object;
  if (draft.log === "waits") {
    return `The log shows ${key} waiting, but the metrics show fewer passes than that.`;
  }
  if (metrics === "unknown" && facts.activity.passes === undefined) {
    return `The runner of ${key} is gone; neither log nor metrics say whether a pass waits.`;
  }
  return `The runner of ${key} is gone; neither log nor metrics settle whether a pass waits.`;
}

type MetricsSay = "waits" | "fewer-than-parked" | "unknown";

/**
 * By numbers alone: as many passes run as there are candidates and live runs, the longest is as
 * old as the wait, and together they are as old as all these waits together.
 */
function metricsSay(draft: Draft, drafts: readonly Draft[], asOfMs: number): MetricsSay {
  const { workers } = draft;
  if (workers === undefined) return "unknown";
  const mine = drafts.filter((each) => each.workers === workers);
  const candidates = mine.filter((each) => each.standing === "candidate");
  const byLog = candidates.filter((each) => each.log === "waits").length;
  if (workers.active < byLog) return "fewer-than-parked";
  const running = mine.filter((each) => each.standing === "running" && each.log !== "ended");
  if (workers.active < candidates.length + running.length) return "unknown";
  const age = (each: Draft) => asOfMs - each.sinceMs;
  if ((workers.longestMs ?? 0) + APART_MS < age(draft)) return "unknown";
  const all = [...candidates, ...running];
  if (workers.unfinishedMs !== undefined) {
    const together = all.reduce((sum, each) => sum + age(each) - APART_MS, 0);
    if (workers.unfinishedMs < together) return "unknown";
  }
  // Where these are all that run, the longest is one of them, and no older than its pass can be.
  const oldest = Math.max(...all.map((each) => age(each) + beforeCallMs(each)));
  if (workers.active === all.length && (workers.longestMs ?? 0) > oldest) return "unknown";
  return "waits";
}

/** How long a pass may have run before its status says that it is in this call. */
const beforeCallMs = ({ call }: Draft) => (call.stage === "unknown" ? 6 * 60_000 : 60 * 60_000);

/** The log knows best, then the status, then what the object's revisions leave as possible. */
function stageOf(
  call: Call,
  object: TerraformView,
  pass: PassView | undefined,
  facts: ParkedFacts,
): Stage {
  if (call.stage !== "unknown") return call.stage;
  if (pass?.stage !== undefined) return pass.stage;
  if (cannotDrift(object, facts.sources)) return "setup";
  const methods = [...(facts.calls?.byMethod.keys() ?? [])];
  const only = methods.length === 1 ? stageOfCall[methods[0] ?? ""] : undefined;
  return only === "setup" ? "setup" : "unknown";
}

/** "Initializing" covers set-up and drift plan; a drift plan comes only for a planned revision. */
function cannotDrift(object: TerraformView, sources: readonly SourceView[] | undefined): boolean {
  const source = sources?.find(
    (each) => each.kind === object.source?.kind && each.key === object.source.key,
  );
  if (source?.revision === undefined) return false;
  return source.revision !== object.plannedRevision || object.pendingPlan !== undefined;
}
