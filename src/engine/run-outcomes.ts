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
  return {
    kind: "failed",
    stage: "artifact",
    reason: REASON.artifactFailed,
    message,
    exitCode: undefined,
    lock: undefined,
    planStale: false,
    stateRescued: false,
    unrecorded: [],
  };
}
