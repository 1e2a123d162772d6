import type { Stage } from "../api/terraform.ts";
import type { JournalEvent } from "./messages.ts";
import type { ProgressLedger } from "./tofu-json.ts";
import { notInState } from "./tofu-state.ts";

// How a run is judged whose runner is dead, wherever it ran.

/** The stage begun last: each is journalled before any of it is done. */
export function stageOf(events: readonly JournalEvent[]): Stage {
  const begun = events.findLast((event) => event.type === "stage");
  return begun?.type === "stage" ? begun.stage : "launch";
}

/**
 * Resources that may exist although no state says so. In flight: begun and not ended. Where tofu
 * came to no end of its own (`lost`), what it had created counts too, because it hands its state on
 * every 20 s at most, unless it is in the state.
 */
export function unrecordedOf(
  ledger: Pick<ProgressLedger, "inFlight" | "created">,
  lost: boolean,
  state: Uint8Array | undefined,
): string[] {
  const created = lost ? notInState(ledger.created(), jsonOf(state)) : [];
  return [...new Set([...ledger.inFlight(), ...created])].sort();
}

/** Undefined also for what is no JSON, such as an encrypted state: then nothing is known of it. */
function jsonOf(state: Uint8Array | undefined): unknown {
  try {
    return state === undefined ? undefined : JSON.parse(Buffer.from(state).toString("utf8"));
  } catch {
    return undefined;
  }
}
