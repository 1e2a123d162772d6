import type { Basis, PlanStatus, RunStatus } from "../api/terraform.ts";

/**
 * What stands between an intent and harm: each guard is one function that answers true if all is
 * well. The simulation takes any one of them out and must then see the harm; so a new guard belongs
 * here, and its harm among the oracles.
 */

/** A pass that was given up does nothing more to the world. */
export function isPassOpen(pass: { readonly isOver: boolean }): boolean {
  return !pass.isOver;
}

/** What may have begun is not launched: nobody could tell how far the first one came. */
export function hasNotBegun(run: {
  readonly orderSent: boolean;
  readonly startedAt: string | undefined;
}): boolean {
  return !run.orderSent && run.startedAt === undefined;
}

/** A run obeys the spec and the inputs that it was intended for. */
export function isAsIntended(
  run: Pick<RunStatus, "generation" | "inputsDigest">,
  now: Pick<RunStatus, "generation" | "inputsDigest">,
): boolean {
  return run.generation === now.generation && run.inputsDigest === now.inputsDigest;
}

/** The plan file that is sent is the very one that was shown. */
export function isPlanShown(
  stored: { readonly id: string; readonly digest: string },
  shown: { readonly id: string | undefined; readonly digest: string | undefined },
): boolean {
  return stored.id === shown.id && stored.digest === shown.digest;
}

/** A plan that waits was made from what there is now. */
export function isPlanCurrent(
  plan: Pick<PlanStatus, "revision" | "inputsDigest">,
  ground: Pick<Basis, "revision" | "inputsDigest">,
): boolean {
  return plan.revision === ground.revision && plan.inputsDigest === ground.inputsDigest;
}

/** A lock is ours to release if it is that of our own last run, which has ended. */
export function isOwnLock(
  lock: { readonly runId: string | undefined },
  last: { readonly id: string } | undefined,
): boolean {
  return last !== undefined && lock.runId === last.id;
}

/** Nothing goes on by itself while resources may exist that no state names. */
export function isResultKnown(fields: { readonly held?: object | undefined }): boolean {
  return fields.held === undefined;
}

/** A run is dead if its runner is gone and no process of it lives; silence proves nothing. */
export function isProvenDead(evidence: {
  readonly runner: string;
  readonly workersAlive: number | undefined;
  readonly rebooted: boolean;
}): boolean {
  return evidence.rebooted || (evidence.runner === "gone" && evidence.workersAlive === 0);
}

/** One more run may go on. */
export function hasSlot(slots: { readonly taken: number; readonly all: number }): boolean {
  return slots.taken < slots.all;
}

/** tofu is asked to stop once: a second time makes it drop everything. */
export function isNotInterrupted(run: Pick<RunStatus, "interruptedAt">): boolean {
  return run.interruptedAt === undefined;
}

/** An object goes only after those that depend on it. */
export function hasNoDependants(dependants: readonly string[]): boolean {
  return dependants.length === 0;
}

/** Who leads no longer orders nothing: what bears an older epoch than one met before is refused. */
export function isEpochCurrent(epoch: number, newest: number): boolean {
  return epoch >= newest;
}
