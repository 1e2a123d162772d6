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
  const fields = fieldsInTheWay(spec);
  if (fields.length > 0) {
    const named = fields.map((each) => `${each.path} (${each.mend})`).join(", ");
    const message = `Not obeyed by this version, so nothing is touched: ${named}`;
    return refused(pass, REASON.fieldNotObeyed, message);
  }
  const wrong = wrongDuration(spec);
  if (wrong === undefined) return undefined;
  const message = `${wrong} is no positive duration; write one such as 10m`;
  return refused(pass, REASON.invalidSpec, message);
}

function wrongDuration(spec: TerraformSpec): string | undefined {
  if (positiveMs(spec.interval) === undefined) return `spec.interval "${spec.interval}"`;
  const wrong = (["retryInterval", "maxRetryInterval"] as const).find((field) => {
    const text = spec[field];
    return text !== undefined && positiveMs(text) === undefined;
  });
  return wrong === undefined ? undefined : `spec.${wrong} "${spec[wrong]}"`;
}

function refused(pass: Pass, reason: string, text: string): Outcome {
  const message = `${text}${orphanWay(pass)}`;
  const known = pass.ready?.message === message;
  return {
    ...parked(pass, `admit: ${message}`, { is: "stalled", reason, message }),
    after: known ? [] : [warning(reason, message)],
  };
}
