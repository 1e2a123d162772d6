import type { Operation, RunStatus, Stage } from "../api/terraform.ts";
import type { RunFact } from "./facts.ts";
import { giveUpAfterMs } from "./limits.ts";

/**
 * What follows when a runner falls silent or is gone: a table, phase × situation. `runUnderWay`
 * obeys it, and docs/lost-runs.md is rendered from it.
 */

/** How much harm it does to end the run here. */
export const phases = ["reads", "prepares", "writes", "ends"] as const;
export type Phase = (typeof phases)[number];

export const phaseText: Readonly<Record<Phase, string>> = {
  reads: "a plan, in any stage: it writes nothing",
  prepares: "an apply that has not begun",
  writes: "an apply that may write",
  ends: "an apply that has ended; outputs are read, health is checked",
};

export const situations = [
  "answers",
  "silent",
  "silent-long",
  "idle",
  "cut-off",
  "orphaned",
  "left-over",
  "unclear",
  "dead",
] as const;
export type Situation = (typeof situations)[number];

export const situationText: Readonly<Record<Situation, string>> = {
  answers: "the runner answers (alive, suspect)",
  silent: "unreachable, not for long",
  "silent-long": "unreachable for 30 s",
  idle: "unreachable for 30 s, and the runner is all that lives of the run",
  "cut-off": "unreachable, and so is its machine, or nobody knows what became of it there",
  orphaned: "the runner is gone, processes of the run live (unreachable)",
  "left-over": "the runner is gone and tofu has ended, what it left behind lives (unreachable)",
  unclear: "the runner is gone, its processes cannot be counted (unreachable)",
  dead: "every process is gone, on proof (dead)",
};

export type Measure =
  /** Nothing is wrong. */
  | "go-on"
  /** Nothing is done yet. */
  | "wait"
  /** Every process of the run is ended. */
  | "end"
  /** SIGINT once; then a grace; then a person. */
  | "interrupt"
  /** The runner is ended, and none of its workers, should it have begun one. */
  | "end-runner"
  /** What is left of the run does its work to the end, under watch. */
  | "watch"
  /** What it left is read: exit code, state, journal. */
  | "collect"
  /** Credentials revoked, its own lock released, removed; a new attempt. */
  | "retry";

export interface Answer {
  readonly measure: Measure;
  /** What comes next, as the end of a sentence. */
  readonly next: string;
}

const goOn: Answer = { measure: "go-on", next: "the run goes on" };
const unproven: Answer = {
  measure: "wait",
  next: "nothing is started before it is proven that it cannot write any more",
};
const uncounted: Answer = {
  measure: "wait",
  next: "its processes cannot be counted at the moment, and nothing is started before they can",
};

export const lostRunTable: Readonly<Record<Phase, Readonly<Record<Situation, Answer>>>> = {
  reads: {
    answers: goOn,
    silent: {
      measure: "wait",
      next: "if it stays silent for 30s, its processes are ended and a new attempt starts",
    },
    "silent-long": { measure: "end", next: "its processes are ended, then a new attempt starts" },
    idle: { measure: "end", next: "it is ended, then a new attempt starts" },
    "cut-off": {
      measure: "retry",
      next: "it is left to itself, for it writes nothing; a new attempt starts elsewhere",
    },
    orphaned: {
      measure: "end",
      next: "what is left of it is ended, for it writes nothing, then a new attempt starts",
    },
    "left-over": {
      measure: "end",
      next: "what is left of it is ended, for it writes nothing, then a new attempt starts",
    },
    unclear: uncounted,
    dead: { measure: "retry", next: "a new attempt starts" },
  },
  prepares: {
    answers: goOn,
    silent: {
      measure: "wait",
      next: "if it stays silent for 30s, it is asked to stop once, for the apply may have begun",
    },
    "silent-long": {
      measure: "interrupt",
      next: "it is asked to stop once, for the apply may have begun; after 10m a person is called",
    },
    idle: {
      measure: "end-runner",
      next: "no tofu lives, so it is ended, and what it left is collected",
    },
    "cut-off": unproven,
    orphaned: {
      measure: "end",
      next: "what is left of it is ended, for nothing was applied; then the plan is tried again",
    },
    "left-over": {
      measure: "end",
      next: "what tofu left behind is ended, and what the run left is collected",
    },
    unclear: uncounted,
    dead: {
      measure: "collect",
      next: "what it left is collected; if nothing was applied, the same plan is tried again",
    },
  },
  writes: {
    answers: goOn,
    silent: {
      measure: "wait",
      next: "if it stays silent for 30s, it is asked to stop once; it is never started twice",
    },
    "silent-long": {
      measure: "interrupt",
      next: "it is asked to stop once; if it is there after 10m, a person is called",
    },
    idle: {
      measure: "end-runner",
      next: "tofu has ended, so the runner is ended, and what it left is collected",
    },
    "cut-off": unproven,
    orphaned: {
      measure: "watch",
      next: "tofu goes on and is watched; its result is collected, then a fresh plan is made",
    },
    "left-over": {
      measure: "end",
      next: "tofu has ended, so what it left behind is ended, and its result is collected",
    },
    unclear: uncounted,
    dead: {
      measure: "collect",
      next: "its result is collected, then a fresh plan is made",
    },
  },
  ends: {
    answers: goOn,
    silent: {
      measure: "wait",
      next: "if it stays silent for 30s, it is ended, for the apply is over; a fresh plan follows",
    },
    "silent-long": {
      measure: "end",
      next: "it is ended, for the apply is over; a fresh plan reads the outputs",
    },
    idle: {
      measure: "end",
      next: "it is ended, for the apply is over; a fresh plan reads the outputs",
    },
    "cut-off": unproven,
    orphaned: {
      measure: "end",
      next: "what is left of it is ended, for the apply is over; a fresh plan reads the outputs",
    },
    "left-over": {
      measure: "end",
      next: "what is left of it is ended, for the apply is over; a fresh plan reads the outputs",
    },
    unclear: uncounted,
    dead: { measure: "collect", next: "its result is collected, then a fresh plan is made" },
  },
};

/** The phase of a stage, if it is known for certain that the run is there. */
export function phaseOf(operation: Operation, stage: Stage): Phase {
  if (operation === "plan") return "reads";
  switch (stage) {
    case "launch":
    case "artifact":
    case "init":
    case "workspace":
    case "plan":
    case "show":
      return "prepares";
    case "apply":
      return "writes";
    case "outputs":
    case "health":
    case "collect":
      return "ends";
  }
}

/**
 * The phase by what is known: a stage heard from a runner that is gone may be old news, and then
 * its apply may have begun.
 */
export function phaseNow(run: RunStatus, fact: RunFact): Phase {
  const heard = phaseOf(run.operation, fact.stage);
  if (fact.runner !== "gone" || heard !== "prepares") return heard;
  if (fact.workersStage !== undefined) return phaseOf(run.operation, fact.workersStage);
  return "writes";
}

export function situationOf(fact: RunFact): Situation {
  if (fact.verdict === "dead") return "dead";
  if (fact.runner === "gone") {
    if (fact.workersAlive === undefined) return "unclear";
    if (fact.workersAlive === 0) return "dead";
    return fact.onlyLeftovers === true ? "left-over" : "orphaned";
  }
  if (fact.verdict !== "unreachable") return "answers";
  if (fact.cutOff === true) return "cut-off";
  if (fact.silentMs < giveUpAfterMs()) return "silent";
  return fact.runner === "running" && fact.workersAlive === 0 ? "idle" : "silent-long";
}
