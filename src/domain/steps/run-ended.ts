import { REASON } from "../../api/names.ts";
import type { RunStatus } from "../../api/terraform.ts";
import type { RunOutcome } from "../facts.ts";
import type { Outcome, Pass } from "../pass.ts";
import { failed, givenUp } from "../run-results.ts";
import { applyEnded } from "./apply-ended.ts";
import { planEnded } from "./plan-ended.ts";

/**
 * A run has ended: its result is taken over into the status, then what is left of it is removed.
 * Passes on if no run has ended.
 *
 * May set: Ready Unknown Progressing, Reconciling (a run that was given up before it began), and
 * whatever the result of a plan (`planEnded`) or of an apply (`applyEnded`) may set.
 */
export function runEnded(pass: Pass): Outcome | undefined {
  const { run } = pass.fields;
  const outcome = pass.observed.run?.outcome;
  if (run === undefined || outcome === undefined) return undefined;
  if (!answers(run, outcome)) return strange(pass, run, outcome);
  if (outcome.kind === "cancelled" && outcome.stage === "launch") {
    return givenUp(pass, run, outcome.message);
  }
  return run.operation === "plan" ? planEnded(pass, run, outcome) : applyEnded(pass, run, outcome);
}

function answers(run: RunStatus, outcome: RunOutcome): boolean {
  if (outcome.kind === "planned") return run.operation === "plan";
  return outcome.kind !== "applied" || run.operation === "apply";
}

/** A runner that answers what it was not asked: nothing of it is believed. */
function strange(pass: Pass, run: RunStatus, outcome: RunOutcome): Outcome {
  return failed(pass, run, {
    stage: "collect",
    reason: run.operation === "plan" ? REASON.execPlanFailed : REASON.execApplyFailed,
    message: `The runner answered "${outcome.kind}" to an order to ${run.operation}`,
    fields: run.operation === "apply" ? { plan: undefined, settled: undefined } : {},
  });
}
