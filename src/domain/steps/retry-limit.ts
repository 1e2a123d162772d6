import { retriesUsedUp } from "../backoff.ts";
import type { Ground } from "../ground.ts";
import { type Outcome, type Pass, parked } from "../pass.ts";
import { isReplanAsked } from "../replan.ts";
import { wasBlocked } from "./due.ts";

/**
 * Starts nothing once an object has failed as often as spec.remediation allows. Goes on when spec,
 * source or inputs change, when what stood in the way is gone, or when a new plan is asked for.
 *
 * May set: Stalled (RetryLimitReached); Ready keeps the last error.
 */
export function retryLimit(pass: Pass, ground: Ground): Outcome | undefined {
  const { attempted, lastRun, reconciliationFailures = 0 } = pass.fields;
  if (!retriesUsedUp(pass.terraform.spec, reconciliationFailures)) return undefined;
  const same =
    attempted?.generation === pass.generation &&
    attempted.revision === ground.revision &&
    attempted.inputsDigest === ground.inputsDigest;
  // What may exist unrecorded is looked at by one more plan, which a person then judges.
  const unclear = (lastRun?.unrecorded ?? []).length > 0;
  if (!same || unclear || wasBlocked(pass) || isReplanAsked(pass)) return undefined;
  const why = `retries: ${reconciliationFailures} failures are as many as spec.remediation allows`;
  return parked(pass, why, { is: "used-up" });
}
