import { retriesUsedUp, retryPauseMs } from "../backoff.ts";
import type { Ground } from "../ground.ts";
import { change, type Outcome, type Pass, warning } from "../pass.ts";
import { timeOf, timeText } from "../time.ts";

/**
 * Finds the digest of variables, environment and the like. What cannot be resolved counts as a
 * failure and is looked for again, as often as spec.remediation allows.
 *
 * May set: Ready False (VarsGenerationFailed, or the reason that the fact names), Stalled
 * (RetryLimitReached).
 */
export function inputs(pass: Pass): FoundInputs | Outcome {
  const { inputs: fact } = pass.observed;
  if (fact.state !== "resolved") return failing(pass, fact);
  return { inputsDigest: fact.digest, inputSources: fact.sources };
}

type FoundInputs = Pick<Ground, "inputsDigest" | "inputSources">;

function failing(pass: Pass, fact: { readonly reason: string; readonly message: string }): Outcome {
  const { fields, nowMs, ready } = pass;
  const { spec } = pass.terraform;
  const { reason, message } = fact;
  const edited = fields.observedGeneration !== pass.generation;
  const before = edited ? 0 : (fields.reconciliationFailures ?? 0);
  const known = ready?.reason === reason && ready.message === message;
  const pauseMs = retryPauseMs(spec, before);
  const dueMs = timeOf(fields.nextDueAt);
  const waits = dueMs !== undefined && dueMs > nowMs && dueMs <= nowMs + pauseMs;
  const going = known && !edited && (waits || retriesUsedUp(spec, before));
  const failures = going ? before : before + 1;
  const last = retriesUsedUp(spec, failures);
  const next = going ? fields.nextDueAt : timeText(nowMs + retryPauseMs(spec, failures));
  return {
    why: `inputs: ${message}`,
    standing: { is: "failed", reason, message, last },
    fields: change(fields, {
      reconciliationFailures: failures,
      nextDueAt: last ? undefined : next,
    }),
    after: known ? [] : [warning(reason, message)],
  };
}
