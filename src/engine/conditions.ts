import type { Condition } from "../api/meta.ts";
import { secondText } from "../domain/time.ts";

export type ConditionText = Pick<Condition, "type" | "status" | "reason" | "message">;

/**
 * The conditions wanted, and no other; the time of a transition stays where the status stays. For
 * objects whose status is made here; a Terraform's are `summarize`'s.
 */
export function conditionsOf(
  before: readonly Condition[] | undefined,
  wanted: readonly ConditionText[],
  at: { readonly nowMs: number; readonly generation: number | undefined },
): Condition[] {
  return wanted.map((condition) => {
    const old = before?.find(({ type }) => type === condition.type);
    const same = old?.status === condition.status ? old.lastTransitionTime : undefined;
    const observed = at.generation === undefined ? {} : { observedGeneration: at.generation };
    return { ...condition, ...observed, lastTransitionTime: same ?? secondText(at.nowMs) };
  });
}
