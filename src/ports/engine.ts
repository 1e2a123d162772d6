import type { ObjectKey } from "../api/kinds.ts";
import type { Call } from "./call.ts";
import type { LiveRun } from "./runs.ts";

/** A running engine as people meet it, beside its stores. Errors are `EngineUnavailable`. */
export interface EngineView {
  info(call: Call): Promise<EngineInfo>;
  /** What the engine knows of the object's run at this moment; undefined: it has none. */
  liveRun(key: ObjectKey, call: Call): Promise<LiveRun | undefined>;
}

export interface EngineInfo {
  readonly pid: number;
  readonly version: string;
  /** RFC 3339. */
  readonly since: string;
  /** How it was started. */
  readonly command: string;
  readonly dataDir: string;
  readonly epoch: number;
  readonly runs: readonly RunUnderWay[];
}
export interface RunUnderWay extends ObjectKey {
  readonly runId: string;
}

/** No engine answers. The message says how to come to one. */
export class EngineUnavailable extends Error {
  override readonly name = "EngineUnavailable";
}
