import { FINALIZER, REASON } from "../../api/names.ts";
import type { Operation, RunStatus } from "../../api/terraform.ts";
import { orphanWay } from "../deletion.ts";
import type { Effect } from "../facts.ts";
import type { Ground } from "../ground.ts";
import { isOwnLock } from "../guards.ts";
import { changedInputs } from "../input-words.ts";
import { slotPauseMs, stageLimitMs } from "../limits.ts";
import { basisOf, change, normal, type Outcome, type Pass, waiting } from "../pass.ts";
import { isReplanAsked, replanAsks } from "../replan.ts";
import { looksAgain, type RunReason } from "../run-notes.ts";
import { lockInTheWay, lockText } from "../run-results.ts";
import { timeOf, timeText } from "../time.ts";
import { lockWay, orderedUnlock } from "../unlock.ts";

export interface Intent {
  readonly operation: Operation;
  readonly reason: RunReason;
  readonly destroy?: boolean;
  /** The plan to carry out. */
  readonly planId?: string;
}

/**
 * Starts a run, unless something short-lived is in the way. The intent stands in the status, under
 * its lock, before anything is launched.
 *
 * May set: Ready (Unknown Progressing; False LockHeld), Reconciling, Apply (started), StateLocked.
 */
export function startRun(pass: Pass, ground: Ground, intent: Intent): Outcome {
  const { engine } = pass.observed;
  if (engine.shuttingDown) return stopping(pass);
  const locked = lockedBy(pass, intent);
  if (locked.wait !== undefined) return locked.wait;
  if (pass.terraform.metadata.finalizers?.includes(FINALIZER) !== true && !pass.deleting) {
    return guarded(pass);
  }
  const unfetched = fetching(pass, ground, intent);
  if (unfetched !== undefined) return unfetched;
  if (!engine.slotFree) {
    const why = "as many runs as may be are under way";
    return queued(pass, intent, `Waits for a free slot to ${intent.operation}: ${why}`);
  }
  const run = runOf(pass, ground, intent);
  const released = locked.released ?? run.unlock;
  return {
    why: `start: ${intent.operation}, ${intent.reason}`,
    fields: change(startFields(pass, run, ground), {
      lock: released === undefined ? pass.fields.lock : { lastApplied: released },
    }),
    standing: {
      is: "running",
      run,
      looksAgain: looksAgain(run),
      trouble: undefined,
      busy: undefined,
    },
    marks: {
      ...(intent.operation === "apply" ? { apply: { is: "started" } } : {}),
      ...(released === undefined ? {} : { lock: { is: "released", id: released } }),
    },
    before: locked.before,
    after: [...newsOf(run), { do: "launch-run", runId: run.id }],
    recheckMs: slotPauseMs(),
  };
}

function runOf(pass: Pass, ground: Ground, intent: Intent): RunStatus {
  const { engine } = pass.observed;
  const now = timeText(pass.nowMs);
  const limit = stageLimitMs("launch");
  // Where the backend cannot be asked, the run itself releases the lock, if it is still that one.
  const lockId = pass.observed.state.lock === undefined ? orderedUnlock(pass) : undefined;
  const unlock = intent.operation === "plan" ? lockId : undefined;
  return {
    id: engine.nextRunId,
    operation: intent.operation,
    ...(intent.destroy === true ? { destroy: true } : {}),
    reason: intent.reason,
    attempt: (pass.fields.lostRuns ?? 0) + 1,
    epoch: engine.epoch,
    generation: pass.generation,
    revision: ground.revision,
    artifactDigest: ground.artifact.digest,
    inputsDigest: ground.inputsDigest,
    ...(unlock === undefined ? {} : { unlock }),
    ...(intent.planId === undefined ? {} : { planId: intent.planId }),
    ...(pass.requested === undefined ? {} : { handles: pass.requested }),
    stage: "launch",
    intendedAt: now,
    stageSince: now,
    ...(limit === undefined ? {} : { stageDeadline: timeText(pass.nowMs + limit) }),
    verdict: "alive",
    ...noteOf(pass, ground, intent),
  };
}

/** What happened to the attempt before, or which input made this one due. */
function noteOf(pass: Pass, ground: Ground, { reason }: Intent): { note?: string } {
  const { lastRun, lostRuns = 0 } = pass.fields;
  if (lostRuns === 0 && reason === "InputsChanged") return { note: changedInputs(pass, ground) };
  if (lostRuns === 0 || lastRun === undefined) return {};
  return { note: `Attempt ${lostRuns + 1}. Before: ${lastRun.message}` };
}

function startFields(pass: Pass, run: RunStatus, ground: Ground) {
  const { attempted, reconciliationFailures } = pass.fields;
  const basis = basisOf(run);
  const news =
    attempted?.revision !== basis.revision ||
    attempted.generation !== basis.generation ||
    isReplanAsked(pass);
  return change(pass.fields, {
    run,
    attempted: ground.inputSources ? { ...basis, inputs: { ...ground.inputSources } } : basis,
    lastAttemptedRevision: ground.revision,
    reconciliationFailures: news ? 0 : reconciliationFailures,
    nextDueAt: undefined,
    held: run.operation === "apply" ? undefined : pass.fields.held,
    replanned: run.operation === "plan" ? replanAsks(pass) : pass.fields.replanned,
  });
}

function stopping(pass: Pass): Outcome {
  return {
    why: "start: the engine is shutting down",
    fields: change(pass.fields, { nextDueAt: pass.fields.nextDueAt ?? timeText(pass.nowMs) }),
    standing: { is: "unchanged" },
    recheckMs: slotPauseMs(),
  };
}

/** The finalizer comes first: a run must not outlive its object unseen. */
function guarded(pass: Pass): Outcome {
  return {
    why: "start: the finalizer is added first",
    fields: change(pass.fields, { nextDueAt: timeText(pass.nowMs) }),
    standing: { is: "unchanged" },
    before: [{ do: "add-finalizer" }],
  };
}

/** The archive comes first: no runner waits for it, and a server that is away is said at once. */
function fetching(pass: Pass, { artifact }: Ground, intent: Intent): Outcome | undefined {
  const { source } = pass.observed;
  if (source.state !== "ready" || source.artifact.digest !== artifact.digest) return undefined;
  const fetch: Effect = { do: "fetch-artifact", artifact };
  switch (source.fetch?.state) {
    case undefined:
      return undefined;
    case "absent":
    case "fetching": {
      const message = `Fetches the artifact of revision ${artifact.revision}`;
      const outcome = queued(pass, intent, message);
      return { ...outcome, why: `start: ${message}`, after: [fetch] };
    }
    case "failed": {
      const { message } = source.fetch;
      const standing = { is: "failed", reason: REASON.artifactFailed, message } as const;
      const outcome = waiting(pass, "start: the artifact cannot be fetched", standing);
      const isNews = pass.ready?.message !== message;
      const isTime = outcome.fields.nextDueAt !== pass.fields.nextDueAt;
      const again = !isNews && (isTime || pass.requested !== undefined);
      return { ...outcome, after: [...(outcome.after ?? []), ...(again ? [fetch] : [])] };
    }
  }
}

function queued(pass: Pass, intent: Intent, message: string): Outcome {
  const stored = timeOf(pass.fields.nextDueAt);
  const since = stored !== undefined && stored <= pass.nowMs ? stored : pass.nowMs;
  return {
    why: "start: no slot is free",
    fields: change(pass.fields, { nextDueAt: timeText(since) }),
    standing: { is: "queued", looksAgain: looksAgain(intent), message },
    recheckMs: slotPauseMs(),
  };
}

interface Locked {
  readonly wait?: Outcome;
  readonly before: readonly Effect[];
  /** The lock that is released because spec.tfstate orders it. */
  readonly released?: string;
}

/**
 * A lock on the state. Our own last run has ended, so its lock is nobody's and is released, and so
 * is that of a plan whose holder is known to be gone; anybody else's is named and waited for, never
 * broken.
 */
function lockedBy(pass: Pass, intent: Intent): Locked {
  const { lock } = pass.observed.state;
  if (lock === undefined) return { before: [] };
  const last = pass.fields.lastRun;
  if (isOwnLock(lock, last)) {
    const why = `Run ${last?.id} has ended (${last?.outcome}) and left its lock`;
    return { before: [{ do: "release-lock", lockId: lock.id, why }] };
  }
  if (lock.abandoned !== undefined) {
    const why = `Lock of ${lockText(lock)}: ${lock.abandoned}, and a plan writes nothing`;
    return { before: [{ do: "release-lock", lockId: lock.id, why }] };
  }
  // A plan that takes no lock is in nobody's way, and nobody in its.
  if (intent.operation === "plan" && pass.terraform.spec.plan?.lock === false) {
    return { before: [] };
  }
  // Of a run of ours that has not ended, no word of a person tells that it is dead.
  if (lock.runId === undefined && orderedUnlock(pass) === lock.id) {
    const why = `spec.tfstate orders it: lock of ${lockText(lock)}`;
    return { before: [{ do: "release-lock", lockId: lock.id, why }], released: lock.id };
  }
  const way = `${lockWay(pass, lock)}${orphanWay(pass)}`;
  const message = `State is locked by ${lockText(lock)}. ${way}`;
  const outcome = waiting(
    pass,
    "start: the state is locked",
    { is: "failed", reason: REASON.lockHeld, message },
    { marks: { lock: { is: "held", id: lock.id } } },
  );
  const fields = change(outcome.fields, { lock: lockInTheWay(outcome.fields, lock) });
  return { wait: { ...outcome, fields }, before: [] };
}

function newsOf(run: RunStatus): Effect[] {
  if (run.attempt > 1) return [recovered(run)];
  if (run.reason !== "InputsChanged") return [];
  return [normal(REASON.inputsChanged, `${run.note}, so a new plan is made`)];
}

function recovered(run: RunStatus) {
  return normal(
    REASON.runRecovered,
    `Attempt ${run.attempt} of the ${run.operation} begins, for the one before was lost`,
  );
}
