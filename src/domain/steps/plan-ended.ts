import { ACCEPT, REASON } from "../../api/names.ts";
import type { DriftStatus, RunStatus } from "../../api/terraform.ts";
import { intervalMs } from "../backoff.ts";
import type { Effect, PlanSummary, RunOutcome } from "../facts.ts";
import { withHealth } from "../health.ts";
import { inventoryAfter } from "../inventory.ts";
import { availableOf, outputsMissing, outputsVerdict } from "../outputs.ts";
import { basisOf, change, normal, type Outcome, type Pass, sameBasis, warning } from "../pass.ts";
import { uniquePlanId } from "../plan-id.ts";
import { isApproved, planStanding } from "../plan-prompt.ts";
import { failed, failureText, nothingPending, succeeded } from "../run-results.ts";
import type { Standing } from "../standing.ts";
import { judged, judgeState, seenIn } from "../state-guard.ts";
import { promptMessage } from "../summarize.ts";
import { cut } from "../text.ts";
import { secondText, timeText } from "../time.ts";
import { planOnChangedState } from "./guard-state.ts";
import { lostRun } from "./run-lost.ts";

type Planned = Extract<RunOutcome, { kind: "planned" }>;
type Failed = Extract<RunOutcome, { kind: "failed" }>;

/**
 * A plan has ended. Without changes the object is settled; with changes the plan file is kept under
 * an id, and the next pass carries it out or shows it to a person. Drift is a result, no failure.
 *
 * May set: Plan, Output, StateLocked; Ready True (NoDrift, TerraformPlannedNoChanges,
 * TerraformOutputsWritten), Unknown (TerraformPlannedWithChanges), False (DriftDetected,
 * DriftDetectionFailed, TFExecPlanFailed, OutputsWritingFailed, StateChanged, or the failure's own
 * reason), Stalled (StateChanged).
 */
export function planEnded(pass: Pass, run: RunStatus, outcome: RunOutcome): Outcome {
  switch (outcome.kind) {
    case "planned":
      return onKnownState(pass, run, outcome);
    case "failed":
      return planFailed(pass, run, outcome);
    case "cancelled":
      return failed(pass, run, {
        stage: outcome.stage,
        outcome: "cancelled",
        reason: REASON.execPlanFailed,
        message: `The run was cancelled: ${outcome.message}`,
      });
    default:
      return orphaned(pass, run, outcome);
  }
}

/** Nothing of a plan is used that was made on another state than the one that was known. */
function onKnownState(pass: Pass, run: RunStatus, outcome: Planned): Outcome {
  const found = outcome.state;
  if (found === undefined) return plannedOutcome(pass, run, outcome);
  const seen = found.state === "present" ? { ...found, ours: false } : undefined;
  const hidden = seenIn(pass.observed.state) === "hidden";
  const verdict = judgeState(pass, seen && { ...seen, ours: !hidden });
  if (verdict.is === "struck") return planOnChangedState(pass, run, verdict);
  const made = plannedOutcome(pass, run, outcome);
  return hidden ? { ...made, fields: judged(made.fields, pass, verdict, seen) } : made;
}

function plannedOutcome(pass: Pass, run: RunStatus, outcome: Planned): Outcome {
  return withWarnings(pass, whatIsPlanned(pass, run, outcome), outcome.warnings ?? []);
}

/** Warnings stand with the run; an event tells of them once, as long as they stay the same. */
function withWarnings(pass: Pass, made: Outcome, warnings: readonly string[]): Outcome {
  const { lastRun } = made.fields;
  if (warnings.length === 0 || lastRun === undefined) return made;
  const text = warnings.join("; ");
  const message = cut(`${lastRun.message}; warning: ${text}`);
  const known = pass.fields.lastRun?.message === message;
  return {
    ...made,
    fields: change(made.fields, { lastRun: { ...lastRun, message } }),
    after: [...(known ? [] : [warning(REASON.planWarning, text)]), ...(made.after ?? [])],
  };
}

function whatIsPlanned(pass: Pass, run: RunStatus, outcome: Planned): Outcome {
  if (outcome.nothingToDestroy || !outcome.changes) return noChanges(pass, run, outcome);
  return pass.mode === "disable" && run.destroy !== true
    ? driftOnly(pass, run, outcome)
    : withChanges(pass, run, outcome);
}

/** A plan's runner died: nothing of what tofu left is believed, for a plan is cheap. */
function orphaned(pass: Pass, run: RunStatus, outcome: RunOutcome): Outcome {
  const stage = outcome.kind === "orphaned" ? outcome.stage : run.stage;
  const fact = pass.observed.run;
  if (fact === undefined) throw new Error("A run that has an outcome has a fact");
  return lostRun(pass, run, { ...fact, stage, verdict: "dead" });
}

/** The plan only looked whether the world still is what was settled before. */
function isDriftCheck(pass: Pass, run: RunStatus): boolean {
  if (run.destroy === true || pass.terraform.spec.disableDriftDetection === true) return false;
  return pass.mode === "disable" || sameBasis(pass.fields.settled, basisOf(run));
}

function noChanges(pass: Pass, run: RunStatus, outcome: Planned): Outcome {
  const drift = isDriftCheck(pass, run);
  const destroy = run.destroy === true;
  const outputs = outputsVerdict(pass, run, outcome.outputs);
  const trouble = pass.observed.failedEffect;
  const available = availableOf(outputs);
  if (outputs.is === "refused") return outputsFailed(pass, run, outputs.message, available);
  if (trouble?.effect === "write-outputs" && !trouble.transient) {
    return outputsFailed(pass, run, trouble.message, available);
  }
  const read = outputs.is === "read" ? outputs : undefined;
  const restored = read?.written === true && outputsMissing(pass);
  const standing: Standing = restored
    ? { is: "outputs-written", revision: run.revision, none: read.mark === "none" }
    : drift
      ? { is: "no-drift", revision: run.revision }
      : { is: "no-changes", revision: run.revision, destroy };
  const fields = succeeded(pass, run, "collect", "No changes");
  return withHealth(pass, run, outcome.health, {
    why: drift ? "plan: no drift" : "plan: no changes",
    fields: change(fields, {
      ...(drift ? {} : planned(pass, run)),
      plan: nothingPending(fields.plan),
      settled: basisOf(run),
      held: undefined,
      drift: undefined,
      inventory: inventoryAfter(fields, run, outcome),
      availableOutputs: read?.available ?? fields.availableOutputs,
      nextDueAt: timeText(pass.deleting ? pass.nowMs : pass.nowMs + pauseMs(pass)),
    }),
    standing,
    marks: {
      lock: { is: "free" },
      output: read?.mark,
      plan: drift ? undefined : { changes: false, destroy },
    },
    before: read?.before ?? [],
    after: [...(read?.after ?? []), { do: "remove-run", runId: run.id }],
  });
}

/** The interval; a spec that has none is stalled by `admit`, not by a lost due time. */
function pauseMs(pass: Pass): number {
  return intervalMs(pass.terraform.spec) ?? 0;
}

function planned(pass: Pass, run: RunStatus) {
  return {
    lastPlannedRevision: run.revision,
    lastPlannedGeneration: run.generation,
    lastPlanAt: secondText(pass.nowMs),
  };
}

/** approvePlan is "disable": drift is told, and nothing is kept that could be applied. */
function driftOnly(pass: Pass, run: RunStatus, outcome: Planned): Outcome {
  const summary = summaryText(outcome.summary);
  const message = `Drift detected: ${summary}`;
  const known = pass.ready?.message === message;
  const done = succeeded(pass, run, "collect", message);
  return {
    why: "plan: drift, only told",
    fields: change(done, {
      inventory: inventoryAfter(done, run, outcome),
      ...driftFound(pass, run, outcome.summary),
      nextDueAt: timeText(pass.nowMs + pauseMs(pass)),
    }),
    standing: { is: "drift", summary },
    marks: { lock: { is: "free" } },
    after: [
      ...(known ? [] : [warning(REASON.driftDetected, `Drift detected.\n${summary}`)]),
      { do: "remove-run", runId: run.id },
    ],
  };
}

/** Drift is what a look has found: when, against which revision, how much, how often in a row. */
function driftFound(pass: Pass, run: RunStatus, summary: PlanSummary) {
  const at = secondText(pass.nowMs);
  const before = pass.fields.drift;
  const drift: DriftStatus = {
    since: before?.since ?? at,
    at,
    revision: run.revision,
    changes: summary.add + summary.change + summary.destroy + summary.import,
    summary: summaryText(summary),
    count: (before?.count ?? 0) + 1,
  };
  return { lastDriftDetectedAt: at, drift };
}

/** The plan of an earlier look still waits, and would do as much as this one. */
function isSameDrift(pass: Pass, run: RunStatus, outcome: Planned): boolean {
  const { plan } = pass.fields;
  return (
    plan?.pending !== undefined &&
    plan.isDriftDetectionPlan === true &&
    plan.summary === summaryText(outcome.summary) &&
    plan.revision === run.revision &&
    plan.inputsDigest === run.inputsDigest &&
    pass.observed.plan.stored
  );
}

/** Somebody may just be reading the plan that was shown: it stays, with its id. */
function driftStands(pass: Pass, run: RunStatus, outcome: Planned): Outcome {
  const done = succeeded(pass, run, "collect", `Planned: ${summaryText(outcome.summary)}`);
  const fields = change(done, {
    ...driftFound(pass, run, outcome.summary),
    inventory: inventoryAfter(done, run, outcome),
    // Approved meanwhile it goes on at once.
    nextDueAt: timeText(pass.nowMs + (isApproved(pass) ? 0 : pauseMs(pass))),
  });
  return {
    why: `plan: the same drift, ${fields.plan?.pending ?? ""} still waits`,
    fields,
    standing: planStanding({ ...pass, fields }),
    marks: { lock: { is: "free" } },
    after: [{ do: "remove-run", runId: run.id }],
  };
}

function withChanges(pass: Pass, run: RunStatus, outcome: Planned): Outcome {
  const trouble = pass.observed.failedEffect;
  if (trouble?.effect === "save-plan" && !trouble.transient) {
    const message = `error saving plan secret: ${trouble.message}`;
    return failed(pass, run, { stage: "collect", reason: REASON.execPlanFailed, message });
  }
  const drift = isDriftCheck(pass, run);
  if (drift && isSameDrift(pass, run, outcome)) return driftStands(pass, run, outcome);
  const destroy = run.destroy === true;
  const planId = newPlanId(pass, run, outcome);
  const summary = summaryText(outcome.summary);
  const done = succeeded(pass, run, "collect", `Planned: ${summary}`);
  const fields = change(done, {
    ...planned(pass, run),
    drift: undefined,
    inventory: inventoryAfter(done, run, outcome),
    ...(drift ? driftFound(pass, run, outcome.summary) : {}),
    plan: {
      ...done.plan,
      pending: planId,
      shown: planId,
      isDestroyPlan: destroy,
      isDriftDetectionPlan: drift,
      digest: outcome.planDigest,
      summary,
      inputsDigest: run.inputsDigest,
      revision: run.revision,
      generation: run.generation,
    },
  });
  const now = timeText(pass.nowMs);
  const next = { ...pass, fields };
  const shown = !isApproved(next);
  const saved: Effect = { do: "save-plan", runId: run.id, planId };
  const prompt = `Planned.\n${promptMessage({ planId, planOnly: pass.mode === "plan-only" })}`;
  return {
    why: `plan: ${planId}, ${summary}`,
    fields: change(fields, {
      nextDueAt: shown ? (drift ? timeText(pass.nowMs + pauseMs(pass)) : undefined) : now,
    }),
    standing: planStanding(next),
    marks: { lock: { is: "free" }, plan: { changes: true, destroy } },
    before: [saved],
    after: [
      ...(drift ? [warning(REASON.driftDetected, `Drift detected.\n${summary}`)] : []),
      ...(shown && !drift ? [normal(REASON.planSucceed, prompt)] : []),
      { do: "remove-run", runId: run.id },
    ],
  };
}

/** Where nobody is asked the id is the plain one; else it must be one that nobody has approved. */
function newPlanId(pass: Pass, run: RunStatus, outcome: Planned): string {
  const asked = pass.fields.held !== undefined || !(pass.mode === "auto" || pass.deleting);
  const { spec, metadata } = pass.terraform;
  const taken = [
    pass.fields.plan?.shown,
    pass.fields.plan?.lastApplied,
    spec.approvePlan,
    metadata.annotations?.[ACCEPT],
  ];
  return uniquePlanId(run.revision, outcome.planDigest, asked ? taken : []);
}

export function summaryText(summary: PlanSummary): string {
  const imports = summary.import > 0 ? `${summary.import} to import, ` : "";
  return (
    `${imports}${summary.add} to add, ${summary.change} to change, ` +
    `${summary.destroy} to destroy`
  );
}

function planFailed(pass: Pass, run: RunStatus, outcome: Failed): Outcome {
  const { stage, lock } = outcome;
  const said = failureText(stage, outcome, run.destroy === true);
  const planning = stage === "plan" || stage === "show";
  const drift = planning && isDriftCheck(pass, run);
  const reason = drift ? REASON.driftDetectionFailed : said.reason;
  const what = drift ? "Drift detection error" : "Plan error";
  const told =
    lock === undefined ? outcome.message : `State locked with Lock Identifier ${lock.id}`;
  const event = planning ? { event: { reason, message: `${what}: ${told}` } } : {};
  return failed(pass, run, { stage, reason, message: said.message, lock, ...event });
}

/** The object is settled all the same; a later run reads and writes the outputs again. */
function outputsFailed(
  pass: Pass,
  run: RunStatus,
  message: string,
  available: string[] | undefined,
): Outcome {
  return failed(pass, run, {
    stage: "collect",
    reason: REASON.outputsWritingFailed,
    message,
    fields: {
      settled: basisOf(run),
      plan: nothingPending(pass.fields.plan),
      held: undefined,
      availableOutputs: available ?? pass.fields.availableOutputs,
    },
  });
}
