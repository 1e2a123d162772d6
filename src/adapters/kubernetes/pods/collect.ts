import type { RunOutcome } from "../../../domain/facts.ts";
import { outcomeOf } from "../../../protocol/journal.ts";
import { readLastWord } from "../../../protocol/last-word.ts";
import { stageOf, unrecordedOf } from "../../../protocol/left-behind.ts";
import type { PrintedRun } from "../../../protocol/pod-output.ts";
import { ProgressLedger } from "../../../protocol/tofu-json.ts";

/** What a dead runner left in the cluster. */
export interface LeftByPod {
  /** Its output, if that can still be read. */
  readonly printed: PrintedRun | undefined;
  /** What it left in its container's status. */
  readonly lastWord: string | undefined;
}

/**
 * The outcome of a run whose container has ended: its own word, or what can be told from how far it
 * had come. tofu ended with it, in the middle of whatever it did. Undefined: it left nothing.
 */
export function collectPod(left: LeftByPod, state?: Uint8Array): RunOutcome | undefined {
  const events = left.printed?.events ?? [];
  const word = left.lastWord === undefined ? undefined : readLastWord(left.lastWord);
  const outcome = outcomeOf(events) ?? word?.outcome;
  if (outcome !== undefined) return outcome;
  if (events.length > 0) {
    const stage = stageOf(events);
    const unrecorded =
      stage === "apply" ? unrecordedOf(ProgressLedger.of(events), true, state) : [];
    return orphaned(stage, unrecorded);
  }
  if (word === undefined) return undefined;
  const ledger = {
    inFlight: () => [...word.inFlight],
    created: () => new Map(word.created.map((address) => [address, undefined])),
  };
  const known = word.stage === "apply" ? unrecordedOf(ledger, true, state) : [];
  const more = word.more ? ["unknown: more than the runner's last word had room for"] : [];
  return orphaned(word.stage, [...known, ...more]);
}

function orphaned(
  stage: Extract<RunOutcome, { kind: "orphaned" }>["stage"],
  unrecorded: readonly string[],
): RunOutcome {
  return { kind: "orphaned", stage, exitCode: undefined, unrecorded, stateRescued: false };
}
