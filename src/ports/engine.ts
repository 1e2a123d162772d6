import type { ObjectKey } from "../api/kinds.ts";
import type { Call } from "./call.ts";
import type { LiveRun } from "./runs.ts";

/** A running engine as people meet it, beside its stores. Errors are `EngineUnavailable`. */
export interface EngineView {
  info(call: Call): Promise<EngineInfo>;
  /** What the engine knows of the object's run at this moment; undefined: it has none. */
  liveRun(key: ObjectKey, call: Call): Promise<LiveRun | undefined>;
}

/** What an engine carries at this moment. */
export interface EngineLoad {
  /** Every run that an object has. */
  readonly runs: readonly RunUnderWay[];
  /** Runs that may go on at once, and how many of these places are taken. */
  readonly slots: { readonly taken: number; readonly all: number };
}

/** Why the engine is stuck, in a word for machines and in a sentence for people. */
export interface HealthCause {
  readonly cause: "event-loop" | "queue" | "pass" | "sweep" | "store" | "run" | "leadership";
  readonly text: string;
}

export interface EngineInfo extends EngineLoad {
  readonly pid: number;
  readonly version: string;
  /** RFC 3339. */
  readonly since: string;
  /** How it was started. */
  readonly command: string;
  readonly dataDir: string;
  readonly epoch: number;
  /** How late the engine itself was in the last seconds: what it blames on no runner. */
  readonly lagMs: number;
}
export interface RunUnderWay extends ObjectKey {
  readonly runId: string;
}

/** No engine answers. The message says how to come to one. */
export class EngineUnavailable extends Error {
  override readonly name = "EngineUnavailable";
}
