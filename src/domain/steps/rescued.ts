import { keyOf, keyText } from "../../api/kinds.ts";
import { REASON } from "../../api/names.ts";
import type { Terraform } from "../../api/terraform.ts";
import { retryIntervalMs } from "../backoff.ts";
import { orphanWay } from "../deletion.ts";
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
  const state = `${keyText(keyOf(pass.terraform))}${which}`;
  const named = kept.map((each) => `${each.id} (serial ${each.serial}, run ${each.runId})`);
  const way = isElsewhere(pass.terraform) ? takeOut : accept;
  const message =
    `State that a run could not write is kept aside: ${named.join(", ")}. ` +
    `${way(state, first.id)}, or drop it with "nigari state push ${state} --drop ${first.id}"; ` +
    `nothing is planned or applied before${orphanWay(pass)}`;
  return {
    why: "rescued: state is kept aside",
    fields: change(pass.fields, { nextDueAt: undefined }),
    standing: { is: "stalled", reason: REASON.stateRescued, message },
    after: pass.ready?.message === message ? [] : [warning(REASON.stateRescued, message)],
    recheckMs: retryIntervalMs(pass.terraform.spec),
  };
}

/** The state itself lies in a backend of the user's; what was rescued lies here all the same. */
function isElsewhere({ spec }: Terraform): boolean {
  return (spec.backendConfig?.customConfiguration ?? "") !== "";
}

function accept(name: string, id: string): string {
  return `Accept it with "nigari state push ${name} --accept ${id}"`;
}

function takeOut(name: string, id: string): string {
  return (
    `Take it out with "nigari state show ${name} --version ${id}" and push it to your backend ` +
    'with "tofu state push"'
  );
}
