import { orphanWay } from "../deletion.ts";
import { type Outcome, type Pass, parked, wordFor } from "../pass.ts";

/**
 * Starts nothing while spec.suspend holds, also no deletion. A run that was under way has been
 * watched and collected before this step. Goes on when the spec changes.
 *
 * May set: Ready Unknown Suspended, where it said nothing lasting before.
 */
export function suspend(pass: Pass): Outcome | undefined {
  if (pass.terraform.spec.suspend !== true) return undefined;
  const resume = `spec.suspend is false ("nigari resume ${wordFor(pass)}")`;
  const message = pass.deleting
    ? `Deletion waits until ${resume}${orphanWay(pass)}`
    : "Nothing is started until spec.suspend is false";
  return parked(pass, "suspend: spec.suspend is true", {
    is: "suspended",
    message,
    always: pass.deleting,
  });
}
