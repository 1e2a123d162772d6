import type { ObjectKey } from "../api/kinds.ts";
import type { LivenessVerdict, Stage } from "../api/terraform.ts";
import type { Call } from "./call.ts";

/** Log lines of runs, masked, kept after the runs have gone. */
export interface RunLogs {
  append(key: ObjectKey, runId: string, lines: readonly LogLine[], call: Call): Promise<void>;
  /** Lines of the last runs of an object, oldest first. */
  read(key: ObjectKey, options: LogOptions, call: Call): Promise<LogLine[]>;
  /**
   * The same and then what comes, until the signal fires. Fails with SlowReader if the lines are
   * not taken as they come: they are not kept for ever.
   */
  follow(key: ObjectKey, options: LogOptions, call: Call): AsyncIterable<LogLine>;
}
/** A reader fell so far behind that lines would be lost to it. */
export class SlowReader extends Error {
  override readonly name = "SlowReader";
}

export interface LogLine {
  readonly at: string;
  readonly runId: string;
  readonly stage: Stage;
  readonly text: string;
}
export interface LogOptions {
  /** Only this run; undefined: all that are kept. */
  readonly runId?: string;
  /** At most this many of the newest lines. */
  readonly tail?: number;
}

/** What a running engine knows of a run at this moment, beyond the stored status. */
export interface LiveRuns {
  describe(key: ObjectKey): LiveRun | undefined;
}
export interface LiveRun {
  readonly runId: string;
  readonly stage: Stage;
  readonly verdict: LivenessVerdict;
  readonly silentMs: number;
  /** Resources done and known in all so far, for a progress bar; undefined while unknown. */
  readonly progress: { readonly done: number; readonly total: number } | undefined;
  readonly inFlight: readonly string[];
}
