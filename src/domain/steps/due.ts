import { REASON } from "../../api/names.ts";
import { intervalMs, longestRetryMs, retryIntervalMs, retryPauseMs } from "../backoff.ts";
import type { Ground } from "../ground.ts";
import { lostRunPauseMaxMs } from "../limits.ts";
import { outputsMissing } from "../outputs.ts";
import { change, type Outcome, type Pass } from "../pass.ts";
import { isReplanAsked } from "../replan.ts";
import type { RunReason } from "../run-notes.ts";
import { isNewlyAccepted } from "../state-guard.ts";
import { timeOf, timeText } from "../time.ts";

/**
 * Tells whether a plan is due, and why; the first reason counts. What is not due is left as it is.
 *
 * May set: nothing; takes Reconciling away.
 */
export function due(pass: Pass, ground: Ground): RunReason | Outcome {
  const paused = lossPause(pass);
  if (paused !== undefined) return paused;
  const changed = changedBecause(pass, ground);
  if (changed !== undefined) return changed;
  const dueMs = dueAt(pass);
  if (dueMs <= pass.nowMs) return timeReason(pass);
  if (outputsMissing(pass) && !recentlyRun(pass)) return "OutputsMissing";
  return notDue(pass, dueMs);
}

export function isReason(found: RunReason | Outcome): found is RunReason {
  return typeof found === "string";
}

/** Reasons that need no clock. */
function changedBecause(pass: Pass, ground: Ground): RunReason | undefined {
  const { fields } = pass;
  const attempted = fields.attempted;
  if (attempted === undefined && fields.lastPlanAt === undefined) return "FirstPlan";
  if (isReplanAsked(pass)) return "ReplanRequested";
  if (pass.staleBecause !== undefined) return "PlanStale";
  const generation = attempted?.generation ?? fields.observedGeneration;
  if (generation !== pass.generation) return "SpecChanged";
  if ((attempted?.revision ?? fields.lastAttemptedRevision) !== ground.revision) {
    return "SourceChanged";
  }
  if (attempted !== undefined && attempted.inputsDigest !== ground.inputsDigest) {
    return "InputsChanged";
  }
  if (pass.requested !== undefined) return "Requested";
  if (isNewlyAccepted(pass)) return "Unblocked";
  return wasBlocked(pass) ? "Unblocked" : undefined;
}

/** Reasons of Ready that say something was in the way; here it is no longer. */
const blocks: readonly string[] = [
  REASON.dependencyNotReady,
  REASON.accessDenied,
  REASON.fieldNotObeyed,
  REASON.invalidSpec,
  REASON.stateRescued,
  REASON.stateChanged,
  REASON.lockHeld,
  REASON.suspended,
  REASON.deletionBlocked,
  REASON.artifactFailed,
  REASON.varsGenerationFailed,
  REASON.execInitFailed,
];

/** What a run found is a failure with its time; what a pass found without a run was in the way. */
export function wasBlocked(pass: Pass): boolean {
  const { ready, fields } = pass;
  if (ready === undefined || ready.status === "True") return false;
  return blocks.includes(ready.reason) && fields.lastRun?.message !== ready.message;
}

/**
 * When the object is due by time, in ms since 1970; objects that another controller left say it in
 * other fields.
 */
export function dueAt(pass: Pass): number {
  const { fields, ready, terraform } = pass;
  const stored = timeOf(fields.nextDueAt);
  if (stored !== undefined) return believable(stored, pass.nowMs, longestPauseMs(pass));
  const failures = fields.reconciliationFailures ?? 0;
  if (failures > 0 && ready?.status !== "True") {
    const planned = timeOf(fields.lastPlanAt);
    return planned === undefined ? pass.nowMs : planned + retryPauseMs(terraform.spec, failures);
  }
  const succeeded = timeOf(fields.lastSuccessfulReconcileAt);
  const interval = intervalMs(terraform.spec) ?? 0;
  return succeeded === undefined ? pass.nowMs : succeeded + interval;
}

/** A time that lies further off than any pause is left over from a clock that was set back. */
function believable(dueMs: number, nowMs: number, longestMs: number): number {
  return dueMs - nowMs > longestMs ? nowMs : dueMs;
}

function longestPauseMs({ terraform }: Pass): number {
  const interval = intervalMs(terraform.spec) ?? 0;
  return Math.max(interval, longestRetryMs(terraform.spec), lostRunPauseMaxMs());
}

export function timeReason(pass: Pass): RunReason {
  const { fields, ready } = pass;
  if ((fields.lostRuns ?? 0) > 0) return "RetryAfterLoss";
  if (ready?.reason === REASON.runnerLost) return "ConfirmApply";
  if ((fields.reconciliationFailures ?? 0) > 0) return "RetryAfterFailure";
  return "IntervalElapsed";
}

/** A Secret that does not come right must not keep runs going without a pause. */
function recentlyRun(pass: Pass): boolean {
  const ended = timeOf(pass.fields.lastRun?.finishedAt);
  return ended !== undefined && pass.nowMs < ended + retryIntervalMs(pass.terraform.spec);
}

function notDue(pass: Pass, dueMs: number): Outcome {
  return {
    why: "due: not yet",
    fields: change(pass.fields, { nextDueAt: timeText(dueMs) }),
    standing: { is: "unchanged" },
  };
}

/** After a lost run the pause holds for everything: whatever is due is due after it. */
function lossPause(pass: Pass): Outcome | undefined {
  const dueMs = timeOf(pass.fields.nextDueAt);
  if ((pass.fields.lostRuns ?? 0) === 0 || dueMs === undefined) return undefined;
  if (believable(dueMs, pass.nowMs, lostRunPauseMaxMs()) <= pass.nowMs) return undefined;
  const message = pass.ready?.message ?? "A new attempt starts";
  return {
    why: "due: pause after a lost run",
    fields: pass.fields,
    standing:
      pass.ready?.reason === REASON.runnerLost
        ? { is: "retrying", reason: REASON.runnerLost, message }
        : { is: "unchanged" },
  };
}

/** An approved plan that could not be carried out waits for its retry, like everything else. */
export function holdOff(pass: Pass): Outcome | undefined {
  const paused = lossPause(pass);
  if (paused !== undefined) return paused;
  const { fields } = pass;
  const dueMs = timeOf(fields.nextDueAt);
  const failing = (fields.reconciliationFailures ?? 0) > 0;
  const fresh = fields.attempted?.generation !== pass.generation || pass.requested !== undefined;
  if (!failing || fresh || isNewlyAccepted(pass) || dueMs === undefined) return undefined;
  if (believable(dueMs, pass.nowMs, longestPauseMs(pass)) <= pass.nowMs) return undefined;
  return { ...notDue(pass, dueMs), why: "pending: retry interval has not elapsed" };
}
