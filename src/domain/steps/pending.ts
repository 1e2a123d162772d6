import { REASON } from "../../api/names.ts";
import type { PlanStatus } from "../../api/terraform.ts";
import type { Ground } from "../ground.ts";
import { isPlanCurrent } from "../guards.ts";
import { changedInputs } from "../input-words.ts";
import { change, normal, type Outcome, type Pass, wantsDestroy } from "../pass.ts";
import { isApproved, planStanding } from "../plan-prompt.ts";
import { isReplanAsked } from "../replan.ts";
import { nothingPending } from "../run-results.ts";
import type { Standing } from "../standing.ts";
import { timeText } from "../time.ts";
import { dueAt, holdOff, timeReason } from "./due.ts";
import { startRun } from "./start.ts";

/**
 * A plan is pending. If what it was made from has changed it is dropped, and the pass goes on to
 * make another; if it is approved by its exact id, by mode or by deletion, it is carried out; else
 * the object waits for a person, and only drift is looked at again meanwhile.
 *
 * May set: Ready (Unknown TerraformPlannedWithChanges, False DriftDetected, False
 * RunResultUnknown), Stalled (RunResultUnknown), and what `startRun` may set.
 */
export function pending(pass: Pass, ground: Ground): Outcome | Pass {
  const plan = pass.fields.plan;
  if (plan?.pending === undefined) return pass;
  const why = staleBecause(pass, ground);
  if (why !== undefined) return dropped(pass, plan.pending, why);
  if (isApproved(pass)) {
    const wait = holdOff(pass);
    if (wait !== undefined) return wait;
    const direction = plan.isDestroyPlan === true ? { destroy: true } : {};
    return startRun(pass, ground, {
      operation: "apply",
      reason: pass.deleting ? "DestroyOnDeletion" : "Approved",
      planId: plan.pending,
      ...direction,
    });
  }
  return isLookedAtAgain(pass) && dueAt(pass) <= pass.nowMs
    ? startRun(pass, ground, { operation: "plan", reason: timeReason(pass) })
    : waits(pass, plan);
}

/** Drift that nobody has decided about may go away by itself: it is looked at in its time. */
function isLookedAtAgain(pass: Pass): boolean {
  const { plan, held } = pass.fields;
  return plan?.isDriftDetectionPlan === true && held === undefined && !pass.deleting;
}

function waits(pass: Pass, plan: PlanStatus): Outcome {
  const fields = change(pass.fields, {
    plan: { ...plan, generation: pass.generation },
    lastPlannedGeneration: pass.generation,
    nextDueAt: isLookedAtAgain(pass) ? timeText(dueAt(pass)) : undefined,
  });
  const waiting = { ...pass, fields };
  const why = `pending: ${plan.pending} waits for a person`;
  // Why the last look at drift failed stands until the next one.
  const failed = fields.lastRun?.outcome === "failed" && isTold(pass, fields.lastRun.message);
  const standing: Standing = failed ? { is: "unchanged" } : planStanding(waiting);
  return { why, fields, standing };
}

function isTold(pass: Pass, message: string): boolean {
  return pass.ready?.status === "False" && pass.ready.message === message;
}

/** Why the plan does not hold any more, as the end of a sentence. */
function staleBecause(pass: Pass, ground: Ground): string | undefined {
  const plan = pass.fields.plan ?? {};
  const { stored, id } = pass.observed.plan;
  if (pass.mode === "disable" && !pass.deleting) {
    return 'spec.approvePlan is "disable", and nothing is applied';
  }
  if (plan.revision === undefined || plan.inputsDigest === undefined) {
    return "it is not known what it was made from";
  }
  if (!isPlanCurrent({ ...plan, inputsDigest: ground.inputsDigest }, ground)) {
    return `the revision is ${ground.revision} now`;
  }
  if ((plan.isDestroyPlan ?? false) !== wantsDestroy(pass)) {
    return wantsDestroy(pass) ? "everything is to be destroyed" : "nothing is to be destroyed";
  }
  if (!isPlanCurrent(plan, ground)) return changedInputs(pass, ground);
  if (!stored || (id !== undefined && id !== plan.pending)) {
    return "its stored file is missing or another one";
  }
  if (isReplanAsked(pass)) return "a new plan was asked for";
  const looks = plan.isDriftDetectionPlan === true || pass.mode === "plan-only";
  if (looks && pass.requested !== undefined && !isApproved(pass)) {
    return "it was asked to look again";
  }
  return undefined;
}

function dropped(pass: Pass, planId: string, why: string): Pass {
  const { before, after } = pass.effects;
  const message = `Plan ${planId} went stale: ${why}`;
  return {
    ...pass,
    staleBecause: message,
    fields: change(pass.fields, {
      // Of a plan that tofu-controller showed, its id alone tells: no other plan may have it.
      plan: { shown: planId, ...nothingPending(pass.fields.plan) },
    }),
    effects: {
      before: [...before, { do: "delete-plan" }],
      after: [...after, normal(REASON.planStale, message)],
    },
  };
}
