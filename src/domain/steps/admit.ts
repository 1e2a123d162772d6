import { parseDuration } from "../../api/duration.ts";
import { REASON } from "../../api/names.ts";
import type { TerraformSpec } from "../../api/terraform.ts";
import { positiveMs } from "../backoff.ts";
import { orphanWay } from "../deletion.ts";
import { fieldsInTheWay } from "../fields.ts";
import { type Outcome, type Pass, parked, warning } from "../pass.ts";

/**
 * Leaves an object alone whose spec uses a field that this version does not obey, or that cannot be
 * right: no run, no finalizer, nothing but the word of it. Goes on when the spec changes.
 *
 * May set: Ready False and Stalled (FieldNotObeyed, InvalidSpec).
 */
export function admit(pass: Pass): Outcome | undefined {
  const { spec } = pass.terraform;
  const fields = fieldsInTheWay(spec, pass.observed.engine.runnersArePods);
  if (fields.length > 0) {
    const named = fields.map((each) => `${each.path} (${each.mend})`).join(", ");
    const message = `Not obeyed by this version, so nothing is touched: ${named}`;
    return refused(pass, REASON.fieldNotObeyed, message);
  }
  const wrong = wrongDuration(spec) ?? wrongNumber(spec);
  return wrong === undefined ? undefined : refused(pass, REASON.invalidSpec, wrong);
}

function wrongDuration(spec: TerraformSpec): string | undefined {
  const { interval, retryInterval, maxRetryInterval, tfstate } = spec;
  const positive = Object.entries({ interval, retryInterval, maxRetryInterval });
  for (const [field, text] of positive) {
    if (text === undefined || positiveMs(text) !== undefined) continue;
    return `spec.${field} "${text}" is no positive duration; write one such as 10m`;
  }
  const lockTimeout = tfstate?.lockTimeout;
  if (lockTimeout === undefined || (parseDuration(lockTimeout) ?? -1) >= 0) return undefined;
  return `spec.tfstate.lockTimeout "${lockTimeout}" is no duration; write one such as 30s`;
}

/** What OpenTofu takes for -parallelism; 0 is upstream's way to say "the default". */
const PARALLELISM_MAX = 2 ** 31 - 1;

function wrongNumber({ parallelism = 0 }: TerraformSpec): string | undefined {
  if (parallelism >= 0 && parallelism <= PARALLELISM_MAX) return undefined;
  return `spec.parallelism ${parallelism} is no number of operations; write one such as 10`;
}

function refused(pass: Pass, reason: string, text: string): Outcome {
  const message = `${text}${orphanWay(pass)}`;
  const known = pass.ready?.message === message;
  return {
    ...parked(pass, `admit: ${message}`, { is: "stalled", reason, message }),
    after: known ? [] : [warning(reason, message)],
  };
}
