import { ACCEPT, REASON } from "../api/names.ts";
import { isResultKnown } from "./guards.ts";
import type { Pass } from "./pass.ts";
import type { Standing } from "./standing.ts";

/** The plan of an object whose deletion destroys asks nobody; nor does "auto". */
function needsNoApproval(pass: Pass): boolean {
  return pass.mode === "auto" || pass.deleting;
}

/** A result before the plan is unknown, and no person has let this very plan go on. */
function isHeld(pass: Pass): boolean {
  const { plan } = pass.fields;
  if (isResultKnown(pass.fields)) return false;
  const pending = plan?.pending;
  if (pending === undefined) return true;
  const { spec, metadata } = pass.terraform;
  const approved = pass.mode === "manual" && !pass.deleting && spec.approvePlan === pending;
  return !approved && metadata.annotations?.[ACCEPT] !== pending;
}

/** Whether the pending plan may be carried out: by mode, by exact id, or by a deletion. */
export function isApproved(pass: Pass): boolean {
  const pending = pass.fields.plan?.pending;
  if (pending === undefined || isHeld(pass)) return false;
  if (needsNoApproval(pass)) return true;
  return pass.mode === "manual" && pass.terraform.spec.approvePlan === pending;
}

/** How an object with a pending plan stands. */
export function planStanding(pass: Pass): Standing {
  const plan = pass.fields.plan ?? {};
  const planId = plan.pending ?? "";
  if (isHeld(pass)) return heldStanding(pass, planId);
  if (isApproved(pass)) return { is: "planned" };
  const value = pass.terraform.spec.approvePlan ?? "";
  const shortened = value !== "" && value !== planId && planId.startsWith(value);
  return {
    is: "prompt",
    planId,
    summary: plan.summary ?? "",
    drift: plan.isDriftDetectionPlan === true,
    planOnly: pass.mode === "plan-only",
    shortened: shortened ? value : undefined,
  };
}

function heldStanding(pass: Pass, planId: string): Standing {
  const { held, plan } = pass.fields;
  const named = (held?.resources ?? []).join(", ");
  return {
    is: "stalled",
    reason: REASON.runResultUnknown,
    message:
      `Run ${held?.runId ?? ""} was cut off while it worked on ${named}: ` +
      "they may exist although the state does not say so. Look at them, import or remove what is " +
      `there, then let plan ${planId} (${plan?.summary ?? ""}) go on with the annotation ` +
      `${ACCEPT}=${planId}`,
  };
}
