import { formatDuration } from "../../api/duration.ts";
import { REASON } from "../../api/names.ts";
import type { RunStatus } from "../../api/terraform.ts";
import { lostRunPause, retryIntervalMs } from "../backoff.ts";
import type { Effect, RunFact } from "../facts.ts";
import { change, type Outcome, type Pass, warning } from "../pass.ts";
import { failed, lastRunOf } from "../run-results.ts";
import { happened } from "../run-words.ts";
import { timeText } from "../time.ts";

/**
 * A run that wrote nothing is dead on proof. Its credentials are revoked, its own lock is released,
 * and the object is due again after a pause with full jitter that grows with every further loss.
 *
 * May set: Ready (Unknown RunnerLost, Progressing; False with the reason of a step that overran),
 * Reconciling.
 */
export function lostRun(pass: Pass, run: RunStatus, fact: RunFact): Outcome {
  const what = happened(run, fact);
  if (run.ending === "overrun") {
    return failed(pass, run, {
      stage: fact.stage,
      reason: overrunReason(fact),
      message: `${what} and was ended`,
      before: fenced(pass, run, fact.proof ?? "every process of the run is gone"),
    });
  }
  if (run.ending === "person") return orderedAway(pass, run, fact);
  const lostRuns = (pass.fields.lostRuns ?? 0) + 1;
  const deletion = run.ending === "deletion";
  const pauseMs = deletion ? 0 : lostRunPause(lostRuns, pass.observed.engine.jitter);
  const soon = pauseMs <= 1_000 ? "at once" : `in ${formatDuration(pauseMs)}`;
  const message = deletion ? what : `${what}; a new attempt starts ${soon}`;
  return {
    why: `run lost: ${message}`,
    fields: change(pass.fields, {
      run: undefined,
      lastRun: lastRunOf(pass, run, {
        outcome: deletion ? "cancelled" : "lost",
        stage: fact.stage,
        message: what,
      }),
      lostRuns: deletion ? pass.fields.lostRuns : lostRuns,
      nextDueAt: timeText(pass.nowMs + pauseMs),
    }),
    standing: { is: "retrying", reason: REASON.runnerLost, message },
    before: fenced(pass, run, fact.proof ?? what),
    after: [
      ...(deletion ? [] : [warning(REASON.runnerLost, message)]),
      { do: "remove-run", runId: run.id },
    ],
  };
}

/** A person has had it ended: nothing was lost, and nothing counts against the object. */
function orderedAway(pass: Pass, run: RunStatus, fact: RunFact): Outcome {
  const what = happened(run, fact);
  const pauseMs = retryIntervalMs(pass.terraform.spec);
  const message = `${what}; the next starts in ${formatDuration(pauseMs)}, or on request`;
  return {
    why: `run ended by a person: ${message}`,
    fields: change(pass.fields, {
      run: undefined,
      lastRun: lastRunOf(pass, run, { outcome: "cancelled", stage: fact.stage, message: what }),
      nextDueAt: timeText(pass.nowMs + pauseMs),
    }),
    standing: { is: "retrying", reason: REASON.progressing, message },
    before: fenced(pass, run, fact.proof ?? what),
    after: [{ do: "remove-run", runId: run.id }],
  };
}

/** Effects by which nothing of a dead run can write or stand in the way any more. */
export function fenced(pass: Pass, run: RunStatus, proof: string): Effect[] {
  const { lock } = pass.observed.state;
  const own: Effect[] =
    lock !== undefined && lock.runId === run.id
      ? [{ do: "release-lock", lockId: lock.id, why: `Run ${run.id} is dead: ${proof}` }]
      : [];
  return [{ do: "revoke-credentials", runId: run.id, proof }, ...own];
}

function overrunReason(fact: RunFact): string {
  switch (fact.stage) {
    case "artifact":
      return REASON.artifactFailed;
    case "workspace":
      return REASON.selectWorkspaceFailed;
    case "plan":
    case "show":
      return REASON.execPlanFailed;
    case "outputs":
      return REASON.execOutputFailed;
    case "health":
      return REASON.healthChecksFailed;
    default:
      return REASON.execInitFailed;
  }
}
