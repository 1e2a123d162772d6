import { formatDuration } from "../../api/duration.ts";
import { keyOf } from "../../api/kinds.ts";
import type { Condition } from "../../api/meta.ts";
import { CONDITION, REASON } from "../../api/names.ts";
import type { RunStatus, Terraform } from "../../api/terraform.ts";
import type { LiveRun } from "../../ports/runs.ts";
import { wordFor } from "../context.ts";

/** The words a list shows for an object, and whether they are good, bad or neither. */
export interface StatusWord {
  readonly word: string;
  readonly mood: "good" | "bad" | "waiting" | "moving";
}

export function conditionOf(object: Terraform, type: string): Condition | undefined {
  return object.status?.conditions?.find((condition) => condition.type === type);
}

/**
 * Ready, Planning, Applying, Planned, Pending approval, Drifted, Unhealthy, Failed, Stalled,
 * Suspended, Waiting, Idle.
 */
export function statusWord(object: Terraform): StatusWord {
  const ready = conditionOf(object, CONDITION.ready);
  const run = object.status?.run;
  if (object.metadata.deletionTimestamp !== undefined) return { word: "Deleting", mood: "moving" };
  if (run !== undefined) {
    const word = run.operation === "apply" ? "Applying" : "Planning";
    return { word: run.verdict === "alive" ? word : `${word} (${run.verdict})`, mood: "moving" };
  }
  if (object.spec.suspend === true) return { word: "Suspended", mood: "waiting" };
  if (conditionOf(object, CONDITION.stalled)?.status === "True") {
    return { word: "Stalled", mood: "bad" };
  }
  if (ready?.reason === REASON.driftDetected) return { word: "Drifted", mood: "waiting" };
  if ((object.status?.plan?.pending ?? "") !== "") {
    const { planOnly, force } = object.spec;
    const forReading = planOnly === true && force !== true;
    return { word: forReading ? "Planned" : "Pending approval", mood: "waiting" };
  }
  if (ready?.status === "True") return { word: "Ready", mood: "good" };
  if (ready?.reason === REASON.healthChecksFailed) return { word: "Unhealthy", mood: "bad" };
  if (ready?.status === "False") {
    return ready.reason === REASON.dependencyNotReady
      ? { word: "Waiting", mood: "waiting" }
      : { word: "Failed", mood: "bad" };
  }
  if (ready?.reason === REASON.nothingToDo) return { word: "Idle", mood: "waiting" };
  return { word: "Pending", mood: "moving" };
}

/** Nothing is under way and nothing is due at once. */
export function atRest(object: Terraform): boolean {
  const handled =
    object.metadata.annotations?.["reconcile.fluxcd.io/requestedAt"] ===
    object.status?.lastHandledReconcileAt;
  const seen = object.status?.observedGeneration === object.metadata.generation;
  const { mood } = statusWord(object);
  return (
    object.status?.run === undefined && (handled || mood === "bad") && seen && mood !== "moving"
  );
}

/** "4m" since a time of the API, or "" where there is none. */
export function ageSince(time: string | undefined, nowMs: number): string {
  const then = time === undefined ? Number.NaN : Date.parse(time);
  return Number.isNaN(then) ? "" : formatDuration(Math.max(0, nowMs - then));
}

/** The answer to: what does it wait for, since when, until when, and what happens then. */
export function deadlineClock(
  object: Terraform,
  live: LiveRun | undefined,
  nowMs: number,
  home?: string,
): string[] {
  const run = object.status?.run;
  if (run === undefined) {
    const due = object.status?.nextDueAt;
    if (due === undefined) return [`Nothing under way${waitsFor(object, home)}`];
    const inMs = Date.parse(due) - nowMs;
    return [`Nothing under way; looked at again in ${formatDuration(Math.max(0, inMs))} (${due}).`];
  }
  const stage = live?.stage ?? run.stage;
  const lines = [
    `Run ${run.id} (${run.operation}, attempt ${run.attempt}) is in stage ${stage} ` +
      `since ${ageSince(run.stageSince, nowMs)}.`,
  ];
  lines.push(
    run.stageDeadline === undefined
      ? "Until: no limit; it goes on as long as it gives signs of life."
      : `Until: ${run.stageDeadline} at the latest, then it is ended and tried again.`,
  );
  const silent = silence(run, live, nowMs);
  if (silent !== "")
    lines.push(`Last sign of life: ${silent} ago (${live?.verdict ?? run.verdict}).`);
  if (run.note !== undefined) lines.push(run.note);
  if (live !== undefined && live.inFlight.length > 0) {
    lines.push(`In flight: ${live.inFlight.join(", ")}.`);
  }
  return lines;
}

/** An engine knows a silence no longer than itself; what is stored may go back further. */
function silence(run: RunStatus, live: LiveRun | undefined, nowMs: number): string {
  if (live === undefined) return ageSince(run.lastSignAt, nowMs);
  const storedMs = live.verdict === "alive" ? 0 : nowMs - Date.parse(run.lastSignAt ?? "");
  return formatDuration(Math.max(live.silentMs, storedMs || 0));
}

/** What makes an object go on that is not looked at again by itself, as the end of a sentence. */
function waitsFor(object: Terraform, home: string | undefined): string {
  const { spec, status, metadata } = object;
  const word = wordFor(keyOf(object), home);
  if (metadata.deletionTimestamp !== undefined) return "; Ready says what holds up its deletion.";
  if (spec.suspend === true) return `: it is suspended. Go on: nigari resume ${word}`;
  const stalled = conditionOf(object, CONDITION.stalled);
  if (stalled?.status === "True") {
    return stalled.reason === REASON.retryLimitReached
      ? ": its retries are used up. It goes on once its spec or source changes, or with: " +
          `nigari replan ${word}`
      : ": it waits for a person, as Stalled says below.";
  }
  if ((status?.plan?.pending ?? "") !== "") {
    return spec.planOnly === true && spec.force !== true
      ? "; the next plan is made once the spec, the source or an input changes, or on request."
      : ": its plan waits for approval.";
  }
  return "; only an event makes it due.";
}
