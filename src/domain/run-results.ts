import { formatDuration } from "../api/duration.ts";
import { REASON } from "../api/names.ts";
import type {
  LastRunStatus,
  PlanStatus,
  RunStatus,
  Stage,
  TerraformStatus,
} from "../api/terraform.ts";
import { lostRunPause, retriesUsedUp, retryPauseMs } from "./backoff.ts";
import { orphanWay } from "./deletion.ts";
import type { Effect, LockFact } from "./facts.ts";
import { change, type Fields, type Outcome, type Pass, warning } from "./pass.ts";
import type { Marks, Standing } from "./standing.ts";
import { USED_UP } from "./summarize.ts";
import { cut } from "./text.ts";
import { secondText, timeText } from "./time.ts";
import { lockWay } from "./unlock.ts";

/** What every end of a run has in common: how it is remembered, counted, and followed. */

interface Ended {
  readonly outcome: LastRunStatus["outcome"];
  readonly stage: Stage;
  readonly message: string;
  readonly unrecorded?: readonly string[];
}

export function lastRunOf(pass: Pass, run: RunStatus, ended: Ended): LastRunStatus {
  const { id, operation, revision, attempt, startedAt } = run;
  const unrecorded = ended.unrecorded ?? [];
  return {
    id,
    operation,
    outcome: ended.outcome,
    stage: ended.stage,
    revision,
    attempt,
    ...(startedAt === undefined ? {} : { startedAt }),
    finishedAt: timeText(pass.nowMs),
    message: cut(ended.message),
    ...(unrecorded.length === 0 ? {} : { unrecorded: [...unrecorded] }),
  };
}

/** Fields after a run that has been collected, whatever came of it. */
export function collected(pass: Pass, run: RunStatus, ended: Ended): Fields {
  return change(pass.fields, {
    run: undefined,
    lastRun: lastRunOf(pass, run, ended),
    lostRuns: ended.outcome === "lost" ? (pass.fields.lostRuns ?? 0) + 1 : undefined,
    lastHandledReconcileAt: run.handles ?? pass.fields.lastHandledReconcileAt,
  });
}

export interface Failure {
  readonly stage: Stage;
  readonly reason: string;
  readonly message: string;
  readonly outcome?: LastRunStatus["outcome"];
  readonly lock?: LockFact | undefined;
  readonly unrecorded?: readonly string[];
  readonly marks?: Marks;
  /** Further changes of the status. */
  readonly fields?: Partial<{ [K in keyof Fields]: Fields[K] | undefined }>;
  readonly before?: readonly Effect[];
  /** Reason and text of the event, if it differs from that of Ready. */
  readonly event?: { readonly reason: string; readonly message: string };
  /** Due again after so many ms instead of the retry interval. */
  readonly againMs?: number;
}

export interface FailedOutcome extends Outcome {
  readonly standing: Extract<Standing, { is: "failed" }>;
}

/**
 * A run failed: counted, its last error in Ready, tried again after the retry interval. What stood
 * in Ready before does not matter. Sets Ready False, StateLocked.
 */
export function failed(pass: Pass, run: RunStatus, failure: Failure): FailedOutcome {
  const { reason, lock } = failure;
  const told = lock === undefined ? failure.message : `${failure.message}\n${lockWay(pass, lock)}`;
  const message = `${told}${againText(pass)}`;
  const fields = collected(pass, run, {
    outcome: failure.outcome ?? "failed",
    stage: failure.stage,
    message: failure.message,
    unrecorded: failure.unrecorded ?? [],
  });
  const known = pass.ready?.reason === reason && pass.ready.message === message;
  const event = failure.event ?? { reason, message: failure.message };
  const { spec } = pass.terraform;
  const failures = (fields.reconciliationFailures ?? 0) + 1;
  // A deletion has no limit: it is tried until it is done or a person lets it go.
  const limited = failure.againMs === undefined && !pass.deleting;
  const last = limited && retriesUsedUp(spec, failures);
  const pauseMs = failure.againMs ?? retryPauseMs(spec, failures);
  return {
    why: `run failed: ${reason}`,
    fields: change(fields, {
      reconciliationFailures: failures,
      nextDueAt: last ? undefined : timeText(pass.nowMs + pauseMs),
      ...(lock === undefined ? {} : { lock: lockInTheWay(fields, lock) }),
      ...failure.fields,
    }),
    standing: { is: "failed", reason, message, last },
    marks: {
      ...failure.marks,
      ...(lock === undefined ? {} : { lock: { is: "held", id: lock.id } }),
    },
    before: failure.before ?? [],
    after: [
      ...(known ? [] : [warning(event.reason, event.message)]),
      ...(last ? [warning(REASON.retryLimitReached, USED_UP)] : []),
      { do: "remove-run", runId: run.id },
    ],
  };
}

/** What follows from a failed destroy of an object that is being deleted, and the way out. */
function againText(pass: Pass): string {
  if (!pass.deleting) return "";
  const pause = formatDuration(retryPauseMs(pass.terraform.spec, 1));
  return `. The deletion is tried again, ${pause} after each attempt or later${orphanWay(pass)}`;
}

/**
 * A run that never began is no failure: what it was intended for is decided anew. The pause keeps
 * an intent that goes stale again and again from turning in a circle.
 */
export function givenUp(pass: Pass, run: RunStatus, message: string): Outcome {
  const lostRuns = (pass.fields.lostRuns ?? 0) + 1;
  const ended = { outcome: "cancelled", stage: "launch", message } as const;
  return {
    why: `run given up: ${message}`,
    fields: change(pass.fields, {
      run: undefined,
      lastRun: lastRunOf(pass, run, ended),
      lostRuns,
      nextDueAt: timeText(pass.nowMs + lostRunPause(lostRuns, pass.observed.engine.jitter)),
    }),
    standing: { is: "retrying", reason: REASON.progressing, message },
    after: [{ do: "remove-run", runId: run.id }],
  };
}

/** status.lock with this lock in the way. */
export function lockInTheWay(fields: Fields, lock: LockFact): TerraformStatus["lock"] {
  const { pending, lastApplied } = fields.lock ?? {};
  const former = pending === undefined || pending === lock.id ? lastApplied : pending;
  return { pending: lock.id, ...(former === undefined ? {} : { lastApplied: former }) };
}

/** Who holds a lock, for people. */
export function lockText(lock: LockFact): string {
  const who = lock.who === "" ? "somebody unnamed" : lock.who;
  const operation = lock.operation.replace(/^OperationType/, "").toLowerCase();
  const what = operation === "" ? "unknown operation" : operation;
  const since = lock.created === "" ? "" : ` since ${lock.created}`;
  return `${who}${since} (${what}, lock ${lock.id})`;
}

/** Fields of a run that did what it was to do: nothing counts against the object any more. */
export function succeeded(pass: Pass, run: RunStatus, stage: Stage, message: string): Fields {
  return change(collected(pass, run, { outcome: "succeeded", stage, message }), {
    reconciliationFailures: 0,
    lastSuccessfulReconcileAt: secondText(pass.nowMs),
    lock: undefined,
  });
}

/** Ready's reason and the beginning of its message for a failure in a stage, as upstream has it. */
export function failureText(
  stage: Stage,
  said: { readonly reason: string; readonly message: string },
  destroys: boolean,
): { reason: string; message: string } {
  const { reason, message } = said;
  switch (stage) {
    case "init":
      return { reason, message: prefixed("error running Init: ", message) };
    case "plan":
    case "show":
      return { reason, message: prefixed("error running Plan: ", message) };
    case "apply": {
      const verb = destroys ? "Destroy" : "Apply";
      return {
        reason: REASON.execApplyFailed,
        message: prefixed(`error running ${verb}: `, message),
      };
    }
    case "outputs":
      return { reason, message: prefixed("error running Output: ", message) };
    default:
      return { reason, message };
  }
}

/** Messages of set-up errors say themselves what failed, and keep their form. */
function prefixed(prefix: string, message: string): string {
  return message.startsWith("error ") ? message : `${prefix}${message}`;
}

/** The plan part of the status with nothing pending; what was applied or shown stays known. */
export function nothingPending(plan: PlanStatus | undefined): PlanStatus | undefined {
  if (plan === undefined) return undefined;
  const { lastApplied, isDestroyPlan, isDriftDetectionPlan, shown } = plan;
  return {
    ...(lastApplied === undefined ? {} : { lastApplied }),
    ...(isDestroyPlan === undefined ? {} : { isDestroyPlan }),
    ...(isDriftDetectionPlan === undefined ? {} : { isDriftDetectionPlan }),
    ...(shown === undefined ? {} : { shown }),
  };
}
