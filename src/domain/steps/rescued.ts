import { keyOf, keyText } from "../../api/kinds.ts";
import { REASON } from "../../api/names.ts";
import { retryIntervalMs } from "../backoff.ts";
import { change, type Outcome, type Pass, warning } from "../pass.ts";

/**
 * A state that a run could not write is kept aside: nothing is planned or applied on the state
 * without it. Goes on once every such version is accepted or dropped.
 *
 * May set: Ready False and Stalled (StateRescued).
 */
export function rescued(pass: Pass): Outcome | undefined {
  const kept = [...pass.observed.state.rescued].sort((a, b) => (a.id < b.id ? -1 : 1));
  const first = kept[0];
  if (first === undefined) return undefined;
  const { workspace = "" } = pass.terraform.spec;
  const which = workspace === "" || workspace === "default" ? "" : ` --workspace ${workspace}`;
  const command = `nigari state push ${keyText(keyOf(pass.terraform))}${which}`;
  const named = kept.map((each) => `${each.id} (serial ${each.serial}, run ${each.runId})`);
  const message =
    `State that a run could not write is kept aside: ${named.join(", ")}. Accept it with ` +
    `"${command} --accept ${first.id}", or drop it with ` +
    `"${command} --drop ${first.id}"; nothing is planned or applied before`;
  return {
    why: "rescued: state is kept aside",
    fields: change(pass.fields, { nextDueAt: undefined }),
    standing: { is: "stalled", reason: REASON.stateRescued, message },
    after: pass.ready?.message === message ? [] : [warning(REASON.stateRescued, message)],
    recheckMs: retryIntervalMs(pass.terraform.spec),
  };
}
