import { keyText, type ObjectKey } from "../api/kinds.ts";
import type { Stage } from "../api/terraform.ts";
import { overrunGraceMs, stageLimitMs } from "../domain/limits.ts";
import type { HealthCause } from "../ports/engine.ts";

/**
 * When the engine is stuck. Each bound lies well beyond what the engine itself needs to get out of
 * the trouble, so that only one that cannot help itself is called so: long work never is.
 */
export interface HealthFacts {
  /** How late this process was in the last ten seconds, in all. */
  readonly lagMs: number;
  /** How long the key that was ready first has waited; undefined: none waits. */
  readonly readyMs: number | undefined;
  /** Ages of the passes that go on. */
  readonly passesMs: readonly number[];
  readonly workers: number;
  /** Since the last look for objects that are due and that nobody asked for. */
  readonly sweptMs: number;
  readonly store: StoreTrouble | undefined;
  readonly runs: readonly RunUnderWatch[];
}

/** Reads or writes fail, without one that succeeded in between. */
export interface StoreTrouble {
  readonly way: "read" | "write";
  readonly forMs: number;
  /** Since the last one that failed. */
  readonly lastMs: number;
  readonly message: string;
}

export interface RunUnderWatch extends ObjectKey {
  readonly runId: string;
  readonly stage: Stage;
  readonly stageMs: number;
  /** Its outcome is known, so that the next pass ends it. */
  readonly isOver: boolean;
  /** Whoever follows it came to an end, by a bug. */
  readonly isLeft: boolean;
}

/** Half of the time in which a machine that is merely busy still answers. */
export function lagLimitMs(): number {
  return 5_000;
}

/** A key is taken within moments if a worker is free. */
export function untakenLimitMs(): number {
  return 60_000;
}

/** A pass is given up after a minute, whatever it waits for. */
export function passLimitMs(): number {
  return 90_000;
}

/** The sweep comes every 15 s. */
export function sweepLimitMs(): number {
  return 60_000;
}

/** A store may be locked or full for a moment. */
export function storeLimitMs(): number {
  return 60_000;
}

/** Nobody has written for so long: whether the store is still ill is not known. */
export function storeStaleMs(): number {
  return 300_000;
}

/** A run past the limit of its step and past the grace is ended by a pass within seconds. */
export function overrunLimitMs(): number {
  return 120_000;
}

/** Why the engine is stuck; empty if it is not. */
export function causesOf(facts: HealthFacts): HealthCause[] {
  return [
    ...lagCauses(facts),
    ...queueCauses(facts),
    ...storeCauses(facts),
    ...facts.runs.flatMap(runCauses),
  ];
}

function lagCauses({ lagMs }: HealthFacts): HealthCause[] {
  if (lagMs <= lagLimitMs()) return [];
  const text = `The event loop was ${seconds(lagMs)} late in the last ten seconds`;
  return [{ cause: "event-loop", text }];
}

function queueCauses({ readyMs, passesMs, workers, sweptMs }: HealthFacts): HealthCause[] {
  const causes: HealthCause[] = [];
  const free = workers - passesMs.length;
  if (readyMs !== undefined && readyMs > untakenLimitMs() && free > 0) {
    const text = `An object has waited ${seconds(readyMs)} for a pass, with ${free} workers free`;
    causes.push({ cause: "queue", text });
  }
  const late = passesMs.filter((ms) => ms > passLimitMs()).length;
  if (late > 0) {
    const oldest = seconds(Math.max(...passesMs));
    causes.push({ cause: "pass", text: `${late} passes did not end; the oldest is ${oldest} old` });
  }
  if (sweptMs > sweepLimitMs()) {
    const text = `Nobody has looked for objects that are due for ${seconds(sweptMs)}`;
    causes.push({ cause: "sweep", text });
  }
  return causes;
}

function storeCauses({ store }: HealthFacts): HealthCause[] {
  if (store === undefined || store.forMs < storeLimitMs() || store.lastMs > storeStaleMs()) {
    return [];
  }
  const text = `The store has done no ${store.way} for ${seconds(store.forMs)}: ${store.message}`;
  return [{ cause: "store", text }];
}

function runCauses(run: RunUnderWatch): HealthCause[] {
  const whose = `Run ${run.runId} of ${keyText(run)}`;
  if (run.isLeft) return [{ cause: "run", text: `${whose} is followed by nobody` }];
  const limitMs = stageLimitMs(run.stage);
  if (limitMs === undefined || run.isOver) return [];
  const overMs = run.stageMs - limitMs - overrunGraceMs();
  if (overMs <= overrunLimitMs()) return [];
  const text = `${whose} is ${seconds(overMs)} past the limit of stage ${run.stage}`;
  return [{ cause: "run", text }];
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
