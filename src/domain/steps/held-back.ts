import type { Outcome, Pass } from "../pass.ts";

/** Rarely, for the engine tells of the other one's end at once. */
const LOOK_AGAIN_MS = 300_000;

/**
 * Begins nothing while another controller leads these objects, not even the end of one: two that
 * plan, approve and apply the same object would undo each other. A run that was under way has been
 * seen to its end before this step. Goes on as soon as the other one is gone.
 *
 * May set: Reconciling (OtherControllerLeads); Ready Unknown OtherControllerLeads, where it said
 * nothing lasting before.
 */
export function heldBack(pass: Pass): Outcome | undefined {
  const message = pass.observed.engine.heldBack;
  if (message === undefined) return undefined;
  return {
    why: `held back: ${message}`,
    fields: pass.fields,
    standing: { is: "held-back", message },
    recheckMs: LOOK_AGAIN_MS,
  };
}
