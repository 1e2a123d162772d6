import { REPLAN } from "../api/names.ts";
import type { TerraformStatus } from "../api/terraform.ts";
import type { Pass } from "./pass.ts";

/**
 * A person asks for a new plan: by the annotation, or as tofu-controller has it by writing
 * `replan-…`, the pending id with "re" before it, into spec.approvePlan. Each value asks once.
 */
type Asked = NonNullable<TerraformStatus["replanned"]>;

/** What asks now, whether it was answered or not. */
export function replanAsks(pass: Pass): Asked | undefined {
  const { metadata, spec } = pass.terraform;
  const annotation = metadata.annotations?.[REPLAN];
  const approvePlan = spec.approvePlan?.startsWith("replan") ? spec.approvePlan : undefined;
  if (annotation === undefined && approvePlan === undefined) return undefined;
  return {
    ...(approvePlan === undefined ? {} : { approvePlan }),
    ...(annotation === undefined ? {} : { annotation }),
  };
}

/** Whether a new plan is asked for that no run has answered. */
export function isReplanAsked(pass: Pass): boolean {
  const asks = replanAsks(pass);
  const { replanned, plan } = pass.fields;
  if (asks?.annotation !== undefined && asks.annotation !== replanned?.annotation) return true;
  if (asks?.approvePlan === undefined || asks.approvePlan === replanned?.approvePlan) return false;
  return `re${plan?.pending ?? plan?.shown ?? ""}`.startsWith(asks.approvePlan);
}
