import { REASON } from "../api/names.ts";
import type { RunStatus, Stage } from "../api/terraform.ts";
import type { RunOutcome } from "../domain/facts.ts";

/** Outcomes that no runner tells, because there is none to tell them. */

/** The run was begun, and nothing is left of it: nobody can say how far an apply came. */
export function vanishedOutcome(run: RunStatus, stage: Stage): RunOutcome {
  return {
    kind: "orphaned",
    stage,
    exitCode: undefined,
    unrecorded: run.operation === "apply" ? ["unknown: no trace of the run is left"] : [],
    stateRescued: false,
  };
}

/** The artifact cannot be had, and time will not mend it. */
export function artifactFailedOutcome(message: string): RunOutcome {
  return failedOutcome({ stage: "artifact", reason: REASON.artifactFailed, message });
}

/** The runner does not take its order, by its own word, and would not the next time either. */
export function refusedOutcome(message: string): RunOutcome {
  const said = `The order was refused: ${message}`;
  return failedOutcome({ stage: "launch", reason: REASON.execInitFailed, message: said });
}

function failedOutcome(
  what: Pick<Extract<RunOutcome, { kind: "failed" }>, "stage" | "reason" | "message">,
): RunOutcome {
  return {
    kind: "failed",
    ...what,
    exitCode: undefined,
    lock: undefined,
    planStale: false,
    stateRescued: false,
    unrecorded: [],
  };
}
