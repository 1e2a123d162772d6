import { formatDuration } from "../../api/duration.ts";
import { END_RUN, REASON } from "../../api/names.ts";
import type { Ending, RunStatus } from "../../api/terraform.ts";
import type { RunFact } from "../facts.ts";
import { isNotInterrupted } from "../guards.ts";
import { interruptGraceMs, overrunGraceMs, signRefreshMs, stageLimitMs } from "../limits.ts";
import {
  lostRunTable,
  type Measure,
  type Phase,
  phaseNow,
  type Situation,
  situationOf,
} from "../lost-run.ts";
import { change, type Outcome, type Pass, wantsDestroy, warning, wordFor } from "../pass.ts";
import { busyText, followRun, looksAgain, notLaunched } from "../run-notes.ts";
import { givenUp } from "../run-results.ts";
import { awaitedProof, happened } from "../run-words.ts";
import type { Trouble } from "../standing.ts";
import { secondText, timeOf, timeText } from "../time.ts";
import { lostRun } from "./run-lost.ts";

/**
 * A run is under way: it is watched, and what follows from silence or loss is read from
 * `lostRunTable`. Passes on if there is none, or if it has ended and waits to be collected.
 *
 * May set: Ready (Unknown Progressing, RunnerLost, RunnerUnreachable; False RunnerUnreachable),
 * Reconciling, Stalled (RunnerUnreachable).
 */
export function runUnderWay(pass: Pass): Outcome | undefined {
  const run = pass.fields.run;
  if (run === undefined) return undefined;
  const fact = pass.observed.run;
  if (fact === undefined || fact.id !== run.id) return unseen(pass, run);
  if (fact.outcome !== undefined) return undefined;
  if (neverBegan(run, fact)) {
    // There is nobody whose silence could mean anything.
    if (!isUnwanted(pass, run)) return notLaunched(pass, run, fact);
    return givenUp(pass, run, `The run was given up before it began (${fact.launchError ?? ""})`);
  }
  const measured = measure(pass, run, fact);
  switch (measured.measure) {
    case "retry":
      return lostRun(pass, run, fact);
    case "go-on":
      if (fact.launchError !== undefined) return notLaunched(pass, run, fact);
      return watched(pass, followRun(pass, answering(run), fact), notice(fact));
    case "end":
      return ended(pass, run, fact, measured);
    case "interrupt":
      return interrupted(pass, run, fact, measured.next);
    case "end-runner":
      return runnerEnded(pass, run, fact, measured);
    case "ask":
      return asked(pass, run, fact, measured.next);
    case "watch": {
      const way = `or have them ended: "nigari end-run ${wordFor(pass)}"`;
      return troubled(pass, run, fact, `${measured.next}${processes(fact)}; ${way}`);
    }
    case "wait":
    case "collect":
      return troubled(pass, run, fact, `${measured.next}${processes(fact)}`);
  }
}

/** A runner that takes longer to start is worth a word. */
const SLOW_START_MS = 5_000;

/** What is told of a run that goes on: what its runner waits for, or why it is being stopped. */
function notice(fact: RunFact): Trouble | undefined {
  const { place, stageMs = 0 } = fact;
  const told = (message: string) => ({ reason: REASON.progressing, message, needsPerson: false });
  if (place?.waitsFor !== undefined && stageMs >= SLOW_START_MS) {
    return told(`The runner has not started yet. ${place.waitsFor}`);
  }
  if (place?.stoppedBy === undefined || fact.runner !== "running") return undefined;
  return told(`The runner is being stopped: ${place.stoppedBy}; OpenTofu is asked to end in order`);
}

/** A runner that answers again is not ended for its silence. */
function answering(run: RunStatus): RunStatus {
  if (run.ending !== "unreachable") return run;
  const { ending: _, ...rest } = run;
  return rest;
}

function isUnwanted(pass: Pass, run: RunStatus): boolean {
  const { spec, metadata } = pass.terraform;
  return pass.deleting || spec.suspend === true || metadata.annotations?.[END_RUN] === run.id;
}

/** No runner comes about, and the platform knows of nothing that was begun. */
function neverBegan(run: RunStatus, fact: RunFact): boolean {
  const started = run.startedAt ?? fact.startedAt;
  const nothing = fact.runner === "unknown" && fact.workersAlive === 0;
  return fact.launchError !== undefined && nothing && started === undefined;
}

interface Measured {
  /** "ask": SIGINT once, because a person says so. */
  readonly measure: Measure | "ask";
  readonly next: string;
  readonly ending: Ending;
}

/** The table's answer, unless the run has overrun, is not wanted any more, or a person ends it. */
function measure(pass: Pass, run: RunStatus, fact: RunFact): Measured {
  const phase = phaseNow(run, fact);
  const situation = situationOf(fact);
  const answer = lostRunTable[phase][situation];
  const orphaned = situation === "orphaned" || situation === "left-over";
  const ending = orphaned ? "orphaned" : "unreachable";
  if (situation === "dead") return { ...answer, ending };
  const isCutOff = situation === "cut-off";
  // Nobody can end it there, and nobody need.
  if (isCutOff && phase === "reads") return { ...answer, ending };
  if (pass.terraform.metadata.annotations?.[END_RUN] === run.id) {
    return orderedEnd(pass, run, phase, situation);
  }
  if (isCutOff) return { ...answer, next: awaitedProof(fact), ending };
  if (phase === "prepares" && neverTakesItsOrder(fact) && overdue(run, fact)) {
    const next = "no tofu lives, so it is ended, and what it left is collected";
    return { measure: "end-runner", next, ending: "overrun" };
  }
  if (phase === "reads" || phase === "ends") {
    if (overdue(run, fact)) {
      return { measure: "end", next: "its processes are ended", ending: "overrun" };
    }
    if (pass.deleting && phase === "reads" && !(run.destroy === true && wantsDestroy(pass))) {
      const next = "its processes are ended, for the object is being deleted";
      return { measure: "end", next, ending: "deletion" };
    }
  }
  // Its runner says itself that the apply has not begun, and does not end the step.
  if (phase === "prepares" && situation === "answers" && overdue(run, fact)) {
    return { measure: "end", next: "its processes are ended", ending: "overrun" };
  }
  if (phase === "prepares" && situation === "silent-long" && fact.orderTaken === false) {
    const next = "its processes are ended, for it never took its order; then it is tried again";
    return { measure: "end", next, ending };
  }
  return { ...answer, ending };
}

/** A person orders the end. An apply whose runner answers is first asked, so that it can save. */
function orderedEnd(pass: Pass, run: RunStatus, phase: Phase, situation: Situation): Measured {
  const ordered = { next: "its processes are ended", ending: "person" } as const;
  const since = timeOf(run.interruptedAt);
  const graceIsOver = since !== undefined && pass.nowMs - since >= interruptGraceMs();
  if (situation !== "answers" || phase === "reads" || phase === "ends" || graceIsOver) {
    return { measure: "end", ...ordered };
  }
  return { measure: "ask", next: "it is asked to stop, and ended after 10m", ending: "person" };
}

/** The runner is there and has begun nothing: only its engine can end its launch. */
function neverTakesItsOrder(fact: RunFact): boolean {
  return fact.stage === "launch" && fact.startedAt === undefined && fact.workersAlive === 0;
}

/** The runner ends an overrun by itself; this is for one that does not. */
function overdue(run: RunStatus, fact: RunFact): boolean {
  if (run.ending === "overrun") return true;
  // A launch that fails has its own pauses, as long as there is nothing that could be ended.
  if (fact.launchError !== undefined && fact.runner === "unknown") return false;
  const limit = stageLimitMs(fact.stage);
  return limit !== undefined && (fact.stageMs ?? 0) > limit + overrunGraceMs();
}

/** The engine has no fact of this run in this pass: it will, and nothing is guessed meanwhile. */
function unseen(pass: Pass, run: RunStatus): Outcome {
  return { ...watched(pass, run, undefined), why: "run: not yet seen", recheckMs: 1_000 };
}

function watched(pass: Pass, run: RunStatus, trouble: Trouble | undefined): Outcome {
  const launch = run.stage === "launch" && run.startedAt === undefined;
  const never = pass.observed.run?.runner === "unknown";
  return {
    why: `run: ${run.operation} is in stage ${run.stage}`,
    fields: change(pass.fields, { run, nextDueAt: undefined }),
    standing: {
      is: "running",
      run,
      looksAgain: looksAgain(run),
      trouble,
      busy: busyText(pass, run),
    },
    after: launch && never ? [{ do: "launch-run", runId: run.id }] : [],
    recheckMs: signRefreshMs(),
  };
}

/** The runner is silent or gone, and what is left of the run is waited for. */
function troubled(pass: Pass, run: RunStatus, fact: RunFact, next: string): Outcome {
  const following = followRun(pass, run, fact);
  const lost = fact.runner === "gone" || fact.verdict === "dead";
  const message = `${happened(following, fact)}; ${next}`;
  const silent = fact.verdict === "unreachable" ? REASON.runnerUnreachable : REASON.progressing;
  const reason = lost ? REASON.runnerLost : silent;
  const news = run.note !== message && pass.ready?.reason !== reason;
  const outcome = watched(
    pass,
    { ...following, note: message },
    { reason, message, needsPerson: waitsLong(fact) },
  );
  return {
    ...outcome,
    why: `run: ${message}`,
    after: [...(outcome.after ?? []), ...(news ? [warning(reason, message)] : [])],
    recheckMs: 1_000,
  };
}

/** What cuts a machine off for so long does not pass by itself any more. */
function waitsLong(fact: RunFact): boolean {
  return situationOf(fact) === "cut-off" && fact.silentMs >= interruptGraceMs();
}

function processes(fact: RunFact): string {
  const count = fact.workersAlive ?? 0;
  if (fact.runner !== "gone" || count === 0) return "";
  return ` (${count} ${count === 1 ? "process lives" : "processes live"})`;
}

/** Every process of the run is ended; asked for again until none is left. */
function ended(pass: Pass, run: RunStatus, fact: RunFact, measured: Measured): Outcome {
  const ending = run.ending ?? measured.ending;
  const next = `${measured.next}${processes(fact)}`;
  const outcome = troubled(pass, { ...run, ending }, fact, next);
  const deletion = ending === "deletion" && fact.runner !== "gone";
  const calm = deletion ? watched(pass, { ...run, ending }, undefined) : outcome;
  return {
    ...calm,
    why: `run: ${measured.next}`,
    after: [...(calm.after ?? []), { do: "terminate-run", runId: run.id }],
    recheckMs: 1_000,
  };
}

/** The silent runner of an apply is ended; none of what it may have begun meanwhile is. */
function runnerEnded(pass: Pass, run: RunStatus, fact: RunFact, measured: Measured): Outcome {
  if (pass.observed.engine.lostApply === "wait") return forPerson(pass, run, fact);
  const ending = run.ending ?? measured.ending;
  const outcome = troubled(pass, { ...run, ending }, fact, measured.next);
  return { ...outcome, after: [...(outcome.after ?? []), { do: "end-runner", runId: run.id }] };
}

/**
 * An apply whose runner is unreachable: SIGINT at most once (a second one makes tofu drop
 * everything), a grace, then a person. Nothing else is started while it may write.
 */
function interrupted(pass: Pass, run: RunStatus, fact: RunFact, next: string): Outcome {
  if (pass.observed.engine.lostApply === "wait") return forPerson(pass, run, fact);
  if (isNotInterrupted(run)) return asked(pass, run, fact, next);
  const since = timeOf(run.interruptedAt) ?? pass.nowMs;
  if (pass.nowMs - since < interruptGraceMs()) {
    const until = secondText(since + interruptGraceMs());
    return troubled(
      pass,
      run,
      fact,
      `it was asked to stop and has until ${until}; after that a person is called`,
    );
  }
  return forPerson(pass, run, fact);
}

/** The order to stop is stored before it is given, so that it is never given twice. */
function asked(pass: Pass, run: RunStatus, fact: RunFact, next: string): Outcome {
  if (!isNotInterrupted(run)) return troubled(pass, run, fact, next);
  const outcome = troubled(pass, { ...run, interruptedAt: timeText(pass.nowMs) }, fact, next);
  return { ...outcome, after: [...(outcome.after ?? []), { do: "interrupt-run", runId: run.id }] };
}

function forPerson(pass: Pass, run: RunStatus, fact: RunFact): Outcome {
  const following = followRun(pass, run, fact);
  const asked =
    run.interruptedAt === undefined
      ? "it is left alone"
      : `it was asked to stop ${formatDuration(interruptGraceMs())} ago or more`;
  const message =
    `${happened(following, fact)}; ${asked}, and nothing is started while it may write. ` +
    `See whether it still works; it is collected by itself once its processes are gone, ` +
    `or have them ended: "nigari end-run ${wordFor(pass)}", or annotate the object with ` +
    `${END_RUN}=${run.id}`;
  const trouble = { reason: REASON.runnerUnreachable, message, needsPerson: true };
  return {
    ...watched(pass, { ...following, note: message }, trouble),
    why: "run: waits for a person",
    after: pass.ready?.message === message ? [] : [warning(trouble.reason, message)],
  };
}
