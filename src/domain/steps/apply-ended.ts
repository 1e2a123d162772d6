import { REASON } from "../../api/names.ts";
import type { RunStatus, Stage } from "../../api/terraform.ts";
import { intervalMs, lostRunPause } from "../backoff.ts";
import type { RunOutcome } from "../facts.ts";
import { withHealth } from "../health.ts";
import { inventoryAfter } from "../inventory.ts";
import { type Phase, phaseOf } from "../lost-run.ts";
import { availableOf, type OutputsVerdict, outputsVerdict } from "../outputs.ts";
import { basisOf, change, type Fields, normal, type Outcome, type Pass, warning } from "../pass.ts";
import { failed, failureText, lastRunOf, nothingPending, succeeded } from "../run-results.ts";
import { happened } from "../run-words.ts";
import { rememberApplied, rememberUnsure } from "../state-guard.ts";
import { secondText, timeText } from "../time.ts";
import { fenced } from "./run-lost.ts";

type Applied = Extract<RunOutcome, { kind: "applied" }>;
type Failed = Extract<RunOutcome, { kind: "failed" }>;
type Orphaned = Extract<RunOutcome, { kind: "orphaned" }>;

/**
 * An apply has ended. What was applied is written down; what is not known is named and held for a
 * person; a plan that was not carried out whole is never sent again, a fresh one is made.
 *
 * May set: Apply, Output, StateLocked; Ready True (TerraformAppliedSucceed,
 * TerraformOutputsWritten), Unknown (Progressing, RunnerLost), False (TFExecApplyFailed,
 * TFExecOutputFailed, OutputsWritingFailed, or the failure's own reason).
 */
export function applyEnded(pass: Pass, run: RunStatus, outcome: RunOutcome): Outcome {
  const ended = endedBy(pass, run, outcome);
  const { fields } = ended;
  switch (ended.marks?.apply?.is) {
    case "succeeded":
      return { ...ended, fields: rememberApplied(pass, fields, run.destroy === true) };
    case "failed":
      return { ...ended, fields: rememberUnsure(fields) };
    default:
      return ended;
  }
}

function endedBy(pass: Pass, run: RunStatus, outcome: RunOutcome): Outcome {
  switch (outcome.kind) {
    case "applied":
      return applied(pass, run, outcome);
    case "failed":
      return applyFailed(pass, run, outcome);
    case "cancelled":
      return applyFailed(pass, run, {
        ...outcome,
        kind: "failed",
        reason: REASON.execApplyFailed,
        message: `The run was cancelled: ${outcome.message}`,
        exitCode: undefined,
        lock: undefined,
        planStale: false,
        stateRescued: false,
        unrecorded: [],
      });
    case "orphaned":
      return applyOrphaned(pass, run, outcome);
    case "planned":
      throw new Error("runEnded lets no plan's outcome come here");
  }
}

/**
 * The phase in which an apply ended. If the runner was once heard to apply, no later word of an
 * earlier stage makes the plan one that may be sent again.
 */
function phaseAt(pass: Pass, stage: Stage): Phase {
  const phase = phaseOf("apply", stage);
  const heard = phaseOf("apply", pass.observed.run?.stage ?? stage);
  return phase === "prepares" && heard !== "prepares" ? "writes" : phase;
}

/** What holds of the status once an apply has been carried out. */
function asApplied(pass: Pass, run: RunStatus, fields: Fields): Fields {
  const plan = nothingPending(fields.plan) ?? {};
  const lastApplied = fields.plan?.pending ?? run.planId ?? plan.lastApplied;
  return change(fields, {
    plan: {
      ...plan,
      ...(lastApplied === undefined ? {} : { lastApplied }),
      isDestroyPlan: run.destroy === true,
    },
    lastAppliedRevision: run.revision,
    lastAppliedByDriftDetectionAt:
      plan.isDriftDetectionPlan === true
        ? secondText(pass.nowMs)
        : fields.lastAppliedByDriftDetectionAt,
    settled: basisOf(run),
    held: undefined,
    drift: undefined,
  });
}

function appliedEvent(run: RunStatus) {
  return run.destroy === true
    ? normal(REASON.destroySucceed, "Destroy applied successfully")
    : normal(REASON.appliedSucceed, "Applied successfully");
}

function applied(pass: Pass, run: RunStatus, outcome: Applied): Outcome {
  const destroy = run.destroy === true;
  const verdict = outputsVerdict(pass, run, outcome.outputs);
  const trouble = writingTrouble(pass, verdict);
  if (trouble !== undefined) {
    return outputsFailed(pass, run, {
      reason: REASON.outputsWritingFailed,
      message: trouble,
      available: availableOf(verdict),
    });
  }
  const read = verdict.is === "read" ? verdict : undefined;
  const done = succeeded(pass, run, "collect", destroy ? "Destroyed" : "Applied");
  const pause = pass.deleting ? 0 : (intervalMs(pass.terraform.spec) ?? 0);
  return withHealth(pass, run, outcome.health, {
    why: destroy ? "apply: destroyed" : "apply: applied",
    fields: change(asApplied(pass, run, done), {
      availableOutputs: destroy ? [] : (read?.available ?? done.availableOutputs),
      inventory: inventoryAfter(done, run, outcome),
      nextDueAt: timeText(pass.nowMs + pause),
    }),
    standing:
      read?.written === true
        ? { is: "outputs-written", revision: run.revision, none: read.mark === "none" }
        : { is: "applied", revision: run.revision, destroy },
    marks: {
      apply: { is: "succeeded", destroy },
      output: destroy ? "absent" : read?.mark,
      lock: { is: "free" },
    },
    before: read?.before ?? [],
    after: [appliedEvent(run), ...(read?.after ?? []), { do: "remove-run", runId: run.id }],
  });
}

function writingTrouble(pass: Pass, verdict: OutputsVerdict): string | undefined {
  if (verdict.is === "refused") return verdict.message;
  const trouble = pass.observed.failedEffect;
  return trouble?.effect === "write-outputs" && !trouble.transient ? trouble.message : undefined;
}

/** Applied, but the outputs could not be read or written: a later plan reads them again. */
function outputsFailed(
  pass: Pass,
  run: RunStatus,
  trouble: {
    readonly reason: string;
    readonly message: string;
    readonly available?: string[] | undefined;
  },
): Outcome {
  const { reason, message, available } = trouble;
  const outcome = failed(pass, run, {
    stage: "outputs",
    reason,
    message,
    marks: { apply: { is: "succeeded", destroy: run.destroy === true } },
    fields: { availableOutputs: available ?? pass.fields.availableOutputs },
  });
  return {
    ...outcome,
    fields: asApplied(pass, run, outcome.fields),
    after: [appliedEvent(run), ...(outcome.after ?? [])],
  };
}

function applyFailed(pass: Pass, run: RunStatus, outcome: Failed): Outcome {
  const destroy = run.destroy === true;
  const { stage, lock, message } = outcome;
  const said = failureText(stage, outcome, destroy);
  const phase = phaseAt(pass, stage);
  if (phase === "prepares") {
    return failed(pass, run, { stage, reason: said.reason, message: said.message, lock });
  }
  if (phase === "ends") return outputsFailed(pass, run, said);
  if (outcome.planStale) return stale(pass, run, outcome);
  const told = lock === undefined ? message : `State locked with Lock Identifier ${lock.id}`;
  const held = heldAfter(pass, run, outcome.unrecorded);
  return failed(pass, run, {
    stage,
    reason: said.reason,
    message: `${said.message}${unrecordedText(outcome.unrecorded)}`,
    lock,
    unrecorded: outcome.unrecorded,
    marks: { apply: { is: "failed", message } },
    fields: { plan: nothingPending(pass.fields.plan), settled: undefined, ...held },
    before: lock === undefined ? fencedLock(pass, run) : [],
    event: {
      reason: destroy ? REASON.execDestroyFailed : REASON.execApplyFailed,
      message: `${destroy ? "Destroy" : "Apply"} error: ${told}`,
    },
    ...(outcome.unrecorded.length === 0 ? {} : { againMs: 0 }),
  });
}

/** A tofu that was killed leaves its lock; its run has ended, so nobody holds it any more. */
function fencedLock(pass: Pass, run: RunStatus) {
  return fenced(pass, run, "the run has ended").filter((each) => each.do === "release-lock");
}

/** The state has moved on since the plan was shown: nothing was applied, a fresh plan is made. */
function stale(pass: Pass, run: RunStatus, outcome: Failed): Outcome {
  const planId = run.planId ?? "";
  const message = `Plan ${planId} no longer fits the state; a new plan is made`;
  return {
    why: `apply: ${message}`,
    fields: change(succeeded(pass, run, outcome.stage, message), {
      lastRun: lastRunOf(pass, run, { outcome: "failed", stage: outcome.stage, message }),
      plan: nothingPending(pass.fields.plan),
      settled: undefined,
      lastSuccessfulReconcileAt: pass.fields.lastSuccessfulReconcileAt,
      reconciliationFailures: pass.fields.reconciliationFailures,
      nextDueAt: timeText(pass.nowMs),
    }),
    standing: { is: "retrying", reason: REASON.progressing, message },
    marks: { apply: { is: "failed", message: outcome.message } },
    after: [warning(REASON.planStale, message), { do: "remove-run", runId: run.id }],
  };
}

/**
 * The runner died in an apply and nothing of the run lives any more. By tofu's exit code it was
 * applied or it failed; without one tofu was killed too, and what was in flight is named.
 */
function applyOrphaned(pass: Pass, run: RunStatus, outcome: Orphaned): Outcome {
  const proof = pass.observed.run?.proof ?? "every process of the run is gone";
  const before = fenced(pass, run, proof);
  // What may exist unrecorded was being written, whatever stage is named.
  const named = phaseAt(pass, outcome.stage);
  const phase = outcome.unrecorded.length > 0 && named === "prepares" ? "writes" : named;
  const applied = phase === "ends" || (phase === "writes" && outcome.exitCode === 0);
  const failedAlone =
    phase === "writes" && outcome.exitCode !== undefined && outcome.exitCode !== 0;
  if (failedAlone) {
    const code = `exit code ${outcome.exitCode}`;
    const message = `tofu went on after its runner was gone and ended with ${code}`;
    const end = applyFailed(pass, run, {
      ...outcome,
      kind: "failed",
      reason: REASON.execApplyFailed,
      message,
      lock: undefined,
      planStale: false,
    });
    return { ...end, before };
  }
  const lostRuns = (pass.fields.lostRuns ?? 0) + 1;
  const pauseMs = applied ? 0 : lostRunPause(lostRuns, pass.observed.engine.jitter);
  const what = orphanText(run, outcome, { phase, applied, lost: lossText(pass, run, proof) });
  const ended = {
    outcome: applied ? ("succeeded" as const) : ("lost" as const),
    stage: outcome.stage,
    message: what,
    unrecorded: outcome.unrecorded,
  };
  const fields = change(pass.fields, {
    run: undefined,
    lastRun: lastRunOf(pass, run, ended),
    lostRuns: applied ? undefined : lostRuns,
    nextDueAt: timeText(pass.nowMs + pauseMs),
    ...heldAfter(pass, run, outcome.unrecorded),
  });
  const writes = phase === "writes";
  const killed = { plan: nothingPending(fields.plan), settled: undefined };
  return {
    why: `apply lost: ${what}`,
    fields: applied
      ? confirming(asApplied(pass, run, fields), fields)
      : change(fields, writes ? killed : {}),
    standing: { is: "retrying", reason: REASON.runnerLost, message: what },
    marks: applied
      ? { apply: { is: "succeeded", destroy: run.destroy === true }, lock: { is: "free" } }
      : writes
        ? { apply: { is: "failed", message: what } }
        : {},
    before,
    after: [
      warning(REASON.runnerLost, what),
      ...(applied ? [appliedEvent(run)] : []),
      { do: "remove-run", runId: run.id },
    ],
  };
}

/** Applied by the exit code alone: due at once, and held if anything may be unrecorded. */
function confirming(fields: Fields, before: Fields): Fields {
  return change(fields, { held: before.held });
}

/** Why there is no runner any more: lost, or ended by us, and then for which cause. */
function lossText(pass: Pass, run: RunStatus, proof: string): string {
  const fact = pass.observed.run;
  if (run.ending === undefined || run.ending === "orphaned" || fact === undefined) {
    return `The runner was lost (${proof})`;
  }
  return `${happened(run, fact)} and was ended`;
}

function orphanText(
  run: RunStatus,
  outcome: Orphaned,
  known: { readonly phase: Phase; readonly applied: boolean; readonly lost: string },
): string {
  const { lost } = known;
  if (known.phase === "prepares") {
    return `${lost} before it applied anything; plan ${run.planId ?? ""} is tried again`;
  }
  if (known.applied) {
    return `${lost}, but tofu finished the apply; a fresh plan confirms it and reads the outputs`;
  }
  const unrecorded = unrecordedText(outcome.unrecorded);
  return `${lost} and tofu was killed during apply${unrecorded}; a fresh plan is made`;
}

function unrecordedText(unrecorded: readonly string[]): string {
  return unrecorded.length === 0 ? "" : `; may exist unrecorded: ${unrecorded.join(", ")}`;
}

/** Nothing goes on by itself while resources may exist that the state does not know. */
function heldAfter(
  pass: Pass,
  run: RunStatus,
  unrecorded: readonly string[],
): Partial<Pick<Fields, "held">> {
  if (unrecorded.length === 0) return {};
  const resources = [...new Set([...(pass.fields.held?.resources ?? []), ...unrecorded])].sort();
  return { held: { runId: run.id, since: secondText(pass.nowMs), resources } };
}
