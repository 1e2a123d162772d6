import { formatDuration } from "../../api/duration.ts";
import { ACCEPT_STATE, REASON } from "../../api/names.ts";
import type { RunStatus } from "../../api/terraform.ts";
import { intervalMs, retryIntervalMs } from "../backoff.ts";
import { orphanWay } from "../deletion.ts";
import { type Outcome, type Pass, waiting, wordFor } from "../pass.ts";
import { failed, nothingPending } from "../run-results.ts";
import {
  judgeState,
  type KnownState,
  type SeenState,
  type Struck,
  seenIn,
  workspaceOf,
} from "../state-guard.ts";

/**
 * The state is not the one that was known: nothing is planned or applied on it until it is back or
 * a person has accepted it. Passes on if it is, and where only a run can look.
 *
 * May set: Ready False and Stalled (StateChanged).
 */
export function guardState(pass: Pass): Outcome | undefined {
  const seen = seenIn(pass.observed.state);
  if (seen === "hidden") return undefined;
  const every = `every ${formatDuration(retryIntervalMs(pass.terraform.spec))}`;
  const { head } = pass.observed.state;
  if (head?.state === "present" && head.damage !== undefined)
    return damaged(pass, head.damage, every);
  const verdict = judgeState(pass, seen);
  if (verdict.is !== "struck") return undefined;
  const message = `${messageOf(pass, verdict, every)}${orphanWay(pass)}`;
  const stalled = { is: "stalled", reason: REASON.stateChanged, message } as const;
  return waiting(pass, `state: ${verdict.guard}`, stalled);
}

/** tofu would only tell that its backend has answered with an error. */
function damaged(pass: Pass, damage: string, every: string): Outcome {
  const message =
    `State of ${wordFor(pass)} (workspace ${workspaceOf(pass)}) is damaged: ${damage}. ` +
    `Nothing is planned or applied meanwhile; it is looked at again ${every}` +
    orphanWay(pass);
  return waiting(pass, "state: damaged", { is: "stalled", reason: REASON.stateChanged, message });
}

/**
 * A plan was made on a state that is not the one that was known: nothing of it is used.
 *
 * May set: the same.
 */
export function planOnChangedState(pass: Pass, run: RunStatus, struck: Struck): Outcome {
  const { spec } = pass.terraform;
  const againMs = Math.max(intervalMs(spec) ?? 0, retryIntervalMs(spec));
  const looks = `every ${formatDuration(againMs)}, and on request`;
  const outcome = failed(pass, run, {
    stage: "plan",
    reason: REASON.stateChanged,
    message: messageOf(pass, struck, looks),
    againMs,
    fields: { stateInQuestion: struck.word, plan: nothingPending(pass.fields.plan) },
  });
  const { message } = outcome.standing;
  return { ...outcome, standing: { is: "stalled", reason: REASON.stateChanged, message } };
}

function messageOf(pass: Pass, struck: Struck, looks: string): string {
  const name = wordFor(pass);
  const { guard, says, known, seen, word } = struck;
  return (
    `State of ${name} (workspace ${workspaceOf(pass)}) ${says}. Known was ${text(known)}; ` +
    `there is ${text(seen)}. Nothing is planned or applied on it. ${bringBack(pass, guard)}, or, ` +
    `if it is right as it is, accept it with "nigari state accept ${name}" (annotation ` +
    `${ACCEPT_STATE}: ${word}). It is looked at again ${looks}`
  );
}

function bringBack(pass: Pass, guard: string): string {
  const name = wordFor(pass);
  if (guard === "moved") {
    return "Move the state to it, or set spec.backendConfig back to what it was";
  }
  if (seenIn(pass.observed.state) === "hidden") {
    return "Bring the state back in its backend, which Nigari does not keep";
  }
  return (
    `Bring it back with "nigari state rollback ${name} ID", of those that ` +
    `"nigari state history ${name}" shows`
  );
}

function text(state: KnownState | SeenState): string {
  if (state === undefined) return "none";
  const { lineage = "", serial, resources } = state;
  if (lineage === "" && serial === 0) return "one that was applied before";
  const held = resources === undefined ? "" : `, ${resources} managed resources`;
  return `serial ${serial} of lineage ${lineage || "not known"}${held}`;
}
