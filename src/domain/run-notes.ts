import { REASON } from "../api/names.ts";
import type { RunStatus } from "../api/terraform.ts";
import type { RunFact } from "./facts.ts";
import { signRefreshMs, stageLimitMs } from "./limits.ts";
import { change, type Outcome, type Pass } from "./pass.ts";
import { stageText } from "./run-words.ts";
import { secondText, timeOf, timeText } from "./time.ts";

/** Why a run was started, as status.run.reason says it. */
export const runReasons = [
  "FirstPlan",
  "SpecChanged",
  "SourceChanged",
  "InputsChanged",
  "ReplanRequested",
  "PlanStale",
  "Approved",
  "DestroyOnDeletion",
  "Requested",
  "Unblocked",
  "OutputsMissing",
  "RetryAfterFailure",
  "RetryAfterLoss",
  "ConfirmApply",
  "IntervalElapsed",
] as const;
export type RunReason = (typeof runReasons)[number];

/** Reasons of runs that only look again at what is known. */
const again: readonly string[] = [
  "Requested",
  "OutputsMissing",
  "RetryAfterFailure",
  "RetryAfterLoss",
  "ConfirmApply",
  "IntervalElapsed",
] satisfies RunReason[];

/** A run that only looks again leaves Ready as it was until it knows better. */
export function looksAgain(run: { readonly operation: string; readonly reason: string }): boolean {
  return run.operation === "plan" && again.includes(run.reason);
}

/** status.run with what was heard since. */
export function followRun(pass: Pass, run: RunStatus, fact: RunFact): RunStatus {
  const { stageDeadline: _old, note: _said, ...kept } = run;
  const limit = stageLimitMs(fact.stage);
  const since = timeOf(fact.stageSince) ?? timeOf(run.stageSince) ?? pass.nowMs;
  const lastSignAt = signText(pass, run, fact);
  const next: RunStatus = {
    ...kept,
    stage: fact.stage,
    stageSince: timeText(since),
    verdict: fact.verdict,
    ...(limit === undefined ? {} : { stageDeadline: deadlineText(pass, run, fact, since + limit) }),
    ...(lastSignAt === undefined ? {} : { lastSignAt }),
    ...(fact.startedAt === undefined ? {} : { startedAt: fact.startedAt }),
  };
  const note = noteOf(pass, next, fact);
  return note === undefined ? next : { ...next, note };
}

/**
 * The time limit is judged by the time that was watched: where a restart of the engine or a jump of
 * the clock has put off its end, the end that is told moves with it.
 */
function deadlineText(pass: Pass, run: RunStatus, fact: RunFact, plainMs: number): string {
  if (fact.stageMs === undefined) return timeText(plainMs);
  const limit = stageLimitMs(fact.stage) ?? 0;
  const watchedMs = pass.nowMs + limit - fact.stageMs;
  const told = fact.stage === run.stage ? timeOf(run.stageDeadline) : undefined;
  const near = [plainMs, told].find((ms) => ms !== undefined && isNear(ms, watchedMs));
  return timeText(near ?? watchedMs);
}

/** Within what passes differ by, so that the status is not written for nothing. */
function isNear(aMs: number, bMs: number): boolean {
  return Math.abs(aMs - bMs) < signRefreshMs();
}

/** The last sign, not rewritten for every beat; exact once the runner is silent. */
function signText(pass: Pass, run: RunStatus, fact: RunFact): string | undefined {
  const sign = pass.nowMs - fact.silentMs;
  const stored = timeOf(run.lastSignAt);
  const slack = fact.verdict === "alive" ? signRefreshMs() : 1_500;
  return stored !== undefined && Math.abs(sign - stored) < slack ? run.lastSignAt : timeText(sign);
}

function noteOf(pass: Pass, run: RunStatus, fact: RunFact): string | undefined {
  if (run.ending !== undefined) return pass.fields.run?.note;
  if (fact.verdict !== "alive" && fact.verdict !== "suspect") return pass.fields.run?.note;
  if (run.stage === "apply") {
    const sign = timeOf(run.lastSignAt);
    const text = sign === undefined ? "not yet" : secondText(sign);
    return `Apply has no time limit; last sign ${text}`;
  }
  if (run.attempt > 1 && pass.fields.lastRun?.outcome === "lost") {
    return `Attempt ${run.attempt}. Before: ${pass.fields.lastRun.message}`;
  }
  return run.reason === "InputsChanged" ? pass.fields.run?.note : undefined;
}

/** What a person is told whose request came in the middle of a run. */
export function busyText(pass: Pass, run: RunStatus): string | undefined {
  if (pass.requested === undefined || pass.requested === run.handles) return undefined;
  const until =
    run.stageDeadline === undefined ? "with no time limit" : `until ${run.stageDeadline} at most`;
  return (
    `Busy since ${run.intendedAt}: ${run.operation} is in stage ${run.stage}, ${until}; ` +
    `the request of ${pass.requested} is answered right after`
  );
}

/** No runner comes about: said at once, tried again with growing pauses, without end. */
export function notLaunched(pass: Pass, run: RunStatus, fact: RunFact): Outcome {
  const intended = timeOf(run.intendedAt) ?? pass.nowMs;
  const pauseMs = Math.min(Math.max((pass.nowMs - intended) / 2, 1_000), 60_000);
  const message =
    `The runner cannot be started (${stageText(run.operation, fact.stage)}): ` +
    `${fact.launchError ?? "no reason given"}; it is tried again by itself`;
  const next: RunStatus = { ...followRun(pass, run, fact), note: message };
  return {
    why: `run: ${message}`,
    fields: change(pass.fields, { run: next, nextDueAt: undefined }),
    standing: {
      is: "running",
      run: next,
      looksAgain: false,
      trouble: { reason: REASON.progressing, message, needsPerson: false },
      busy: busyText(pass, next),
    },
    after: [{ do: "launch-run", runId: run.id }],
    recheckMs: Math.ceil(pauseMs),
  };
}
