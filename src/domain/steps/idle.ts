import { type Outcome, type Pass, parked } from "../pass.ts";

/**
 * The spec only looks for drift, and not to look for drift: there is nothing to do, and that is
 * said. Goes on when the spec changes.
 *
 * May set: Ready Unknown NothingToDo.
 */
export function idle(pass: Pass): Outcome | undefined {
  const { spec } = pass.terraform;
  if (pass.mode !== "disable" || spec.disableDriftDetection !== true) return undefined;
  const message =
    'Nothing is done: spec.approvePlan "disable" leaves only the look for drift, and ' +
    "spec.disableDriftDetection takes that away; remove one of the two";
  return parked(pass, "idle: the spec asks for nothing", { is: "idle", message });
}
