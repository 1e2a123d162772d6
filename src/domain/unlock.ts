import type { LockFact } from "./facts.ts";
import type { Pass } from "./pass.ts";

/**
 * The lock that spec.tfstate orders to release: `forceUnlock: yes` with the identifier of the very
 * lock that is in the way. `auto` orders nothing: what may be released without a guess, locks of
 * runs that are dead on proof, is released anyway; whoever else holds one may be alive.
 */
export function orderedUnlock(pass: Pass): string | undefined {
  const { forceUnlock, lockIdentifier = "" } = pass.terraform.spec.tfstate ?? {};
  const ordered = forceUnlock === "yes" && lockIdentifier !== "";
  return ordered && pass.fields.lock?.pending === lockIdentifier ? lockIdentifier : undefined;
}

/** What becomes of a lock in the way, and what a person may do about it. */
export function lockWay(pass: Pass, lock: LockFact): string {
  if (lock.runId !== undefined) {
    return `It belongs to run ${lock.runId} of this object, which is not known to have ended`;
  }
  const auto =
    pass.terraform.spec.tfstate?.forceUnlock === "auto"
      ? 'spec.tfstate.forceUnlock "auto" releases only locks whose holder is dead on proof. '
      : "";
  return (
    `It is never broken by itself, and looked at again. ${auto}If its holder is gone for good, ` +
    `set spec.tfstate.forceUnlock to "yes" and lockIdentifier to "${lock.id}"`
  );
}
