import { retryIntervalMs } from "./backoff.ts";
import { keepingGood } from "./deletion.ts";
import type { Decision, Effect, Observed } from "./facts.ts";
import type { Ground } from "./ground.ts";
import { effectPauseMs } from "./limits.ts";
import { change, type Outcome, openPass, type Pass, wantsDestroy, withEffects } from "./pass.ts";
import { isAtRest } from "./standing.ts";
import { judged, judgeState, seenIn } from "./state-guard.ts";
import { admit } from "./steps/admit.ts";
import { dependencies } from "./steps/dependencies.ts";
import { due, isReason } from "./steps/due.ts";
import { finalize } from "./steps/finalize.ts";
import { guardState } from "./steps/guard-state.ts";
import { heldBack } from "./steps/held-back.ts";
import { idle } from "./steps/idle.ts";
import { inputs } from "./steps/inputs.ts";
import { pending } from "./steps/pending.ts";
import { rescued } from "./steps/rescued.ts";
import { retryLimit } from "./steps/retry-limit.ts";
import { runEnded } from "./steps/run-ended.ts";
import { runUnderWay } from "./steps/run-under-way.ts";
import { isArtifact, source } from "./steps/source.ts";
import { startRun } from "./steps/start.ts";
import { suspend } from "./steps/suspend.ts";
import { summarize } from "./summarize.ts";
import { timeOf, timeText } from "./time.ts";

/**
 * What one pass of one object does: pure and synchronous. Everything it knows is in `observed`,
 * `nowMs` is the wall clock in milliseconds since 1970. Each step decides or passes on.
 */
export function decide(observed: Observed, nowMs: number): Decision {
  const pass = openPass(observed, nowMs);
  const outcome = withoutFailed(pass, keepingGood(pass, steps(pass)));
  return complete(pass, outcome);
}

/** The steps in their order. A run that has begun is seen to its end before anything else. */
function steps(pass: Pass): Outcome {
  return (
    runUnderWay(pass) ??
    runEnded(pass) ??
    heldBack(pass) ??
    finalize(pass) ??
    admit(pass) ??
    suspend(pass) ??
    rescued(pass) ??
    idle(pass) ??
    guardState(pass) ??
    grounded(pass)
  );
}

/** The steps that need a source, then those that need everything a run is made from. */
function grounded(pass: Pass): Outcome {
  const artifact = source(pass);
  if (!isArtifact(artifact)) return artifact;
  const blocked = dependencies(pass, artifact);
  if (blocked !== undefined) return blocked;
  const resolved = inputs(pass);
  if ("why" in resolved) return resolved;
  const ground = { artifact, revision: artifact.revision, ...resolved };
  return retryLimit(pass, ground) ?? planned(pass, ground);
}

function planned(pass: Pass, ground: Ground): Outcome {
  const next = pending(pass, ground);
  if ("why" in next) return next;
  const reason = due(next, ground);
  if (!isReason(reason)) return withEffects(next, reason);
  const direction = wantsDestroy(next) ? ({ destroy: true } as const) : {};
  return withEffects(next, startRun(next, ground, { operation: "plan", reason, ...direction }));
}

/**
 * An effect that has just failed is not asked for again in this pass: the status stays as it was,
 * says what does not work, and the next pass tries again.
 */
function withoutFailed(pass: Pass, outcome: Outcome): Outcome {
  const failed = pass.observed.failedEffect;
  if (failed === undefined || !(outcome.before ?? []).some(isEffect(failed.effect))) return outcome;
  const pauseMs = failed.transient
    ? effectPauseMs()
    : Math.max(effectPauseMs(), retryIntervalMs(pass.terraform.spec));
  const message =
    `${effectText[failed.effect]} does not work: ${failed.message}; ` +
    "it is tried again by itself";
  const run = pass.fields.run === undefined ? undefined : { ...pass.fields.run, note: message };
  return {
    why: `effect ${failed.effect} failed: ${failed.message}`,
    fields: change(pass.fields, {
      run,
      nextDueAt: run === undefined ? timeText(pass.nowMs + pauseMs) : undefined,
    }),
    standing: { is: "failed", reason: failed.reason, message },
    recheckMs: pauseMs,
  };
}

function isEffect(name: Effect["do"]): (effect: Effect) => boolean {
  return (effect) => effect.do === name;
}

/** Effects as the beginning of a sentence. */
const effectText: Readonly<Record<Effect["do"], string>> = {
  "add-finalizer": "Adding the finalizer",
  "remove-finalizer": "Removing the finalizer",
  "save-plan": "Saving the plan",
  "delete-plan": "Deleting the stored plan",
  "write-outputs": "Writing the Secret of outputs",
  "delete-outputs": "Deleting the Secret of outputs",
  "keep-inputs": "Keeping the inputs for a later destroy",
  "forget-inputs": "Forgetting the inputs that were kept",
  "release-lock": "Releasing the lock of a dead run",
  "revoke-credentials": "Revoking the credentials of a dead run",
  "interrupt-run": "Asking the run to stop",
  "terminate-run": "Ending the run",
  "end-runner": "Ending the runner",
  "fetch-artifact": "Fetching the artifact",
  "launch-run": "Launching the run",
  "remove-run": "Removing the run",
  event: "Recording an event",
};

function complete(pass: Pass, outcome: Outcome): Decision {
  const { standing } = outcome;
  const rest = isAtRest(standing);
  // What a run found holds for the spec it obeyed, not for one that was edited meanwhile.
  const generation = (outcome.fields.run ?? pass.fields.run)?.generation ?? pass.generation;
  const wanted = pass.terraform.spec.enableInventory === true;
  const fields = change(stateKnown(pass, outcome), {
    ...(wanted ? {} : { inventory: undefined }),
    ...(rest ? { observedGeneration: generation } : {}),
    // A pass that began after the request and came to rest has answered it, whatever it found.
    ...(rest && outcome.fields.run === undefined && pass.fields.run === undefined
      ? { lastHandledReconcileAt: pass.requested ?? outcome.fields.lastHandledReconcileAt }
      : {}),
  });
  const conditions = summarize({
    old: pass.terraform.status?.conditions ?? [],
    standing,
    marks: outcome.marks ?? {},
    generation,
    nowMs: pass.nowMs,
  });
  return {
    before: outcome.before ?? [],
    status: { ...fields, conditions },
    after: outcome.after ?? [],
    requeueAfterMs: requeueAfter(pass, outcome),
    why: outcome.why,
  };
}

/** The fields with the state as it is known now; while a run goes on it moves, and is its own. */
function stateKnown(pass: Pass, outcome: Outcome): Outcome["fields"] {
  const { fields } = outcome;
  const { run } = pass.fields;
  const { head } = pass.observed.state;
  const seen = seenIn(pass.observed.state);
  const goesOn = run !== undefined && fields.run !== undefined;
  const damaged = head?.state === "present" && head.damage !== undefined;
  if (seen === "hidden" || goesOn || damaged) return fields;
  // Where nobody notes who writes, it is our apply that has just ended which did.
  const byApply = head?.state === "present" && head.writerHidden && run?.operation === "apply";
  const found = byApply === true && seen !== undefined ? { ...seen, ours: true } : seen;
  return judged(fields, pass, judgeState(pass, found), found);
}

function requeueAfter(pass: Pass, outcome: Outcome): number | undefined {
  // What changed while the run was under way, or was asked for, has had to wait: no longer.
  if (pass.fields.run !== undefined && outcome.fields.run === undefined) return 0;
  const dueMs = timeOf(outcome.fields.nextDueAt);
  const waits = [
    ...(outcome.recheckMs === undefined ? [] : [outcome.recheckMs]),
    ...(dueMs === undefined ? [] : [Math.max(0, dueMs - pass.nowMs)]),
  ];
  // A queued object is overdue all the while; its recheck is what counts.
  if (outcome.recheckMs !== undefined && dueMs !== undefined && dueMs <= pass.nowMs) {
    return outcome.recheckMs;
  }
  return waits.length === 0 ? undefined : Math.min(...waits);
}
