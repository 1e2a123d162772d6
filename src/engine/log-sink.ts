import type { ObjectKey } from "../api/kinds.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { LogLine, RunLogs } from "../ports/runs.ts";
import { bounded, messageOf } from "./bounded.ts";

const FLUSH_AFTER_MS = 200;
const APPEND_MS = 5_000;
/** Lines held at most while the logs cannot be written; the oldest are given up. */
const LINES_MAX = 10_000;

interface Sink {
  readonly logs: RunLogs;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Gathers the lines of one run and appends them in batches, one batch at a time. A log that cannot
 * be written costs lines, never a run.
 */
export class LogSink {
  readonly #ports: Sink;
  readonly #key: ObjectKey;
  readonly #runId: string;
  #lines: LogLine[] = [];
  #lost = 0;
  #writing: Promise<void> | undefined;

  constructor(ports: Sink, key: ObjectKey, runId: string) {
    this.#ports = ports;
    this.#key = key;
    this.#runId = runId;
  }

  add(line: LogLine): void {
    this.#lines.push(line);
    if (this.#lines.length > LINES_MAX) {
      this.#lines.shift();
      this.#lost += 1;
    }
    this.#writing ??= this.#writeSoon();
  }

  /** Resolves once what was added is written or given up. */
  async flush(): Promise<void> {
    await this.#writing;
    if (this.#lines.length > 0) await this.#write();
  }

  async #writeSoon(): Promise<void> {
    await this.#ports.clock.sleep(FLUSH_AFTER_MS, new AbortController().signal);
    while (this.#lines.length > 0 && (await this.#write())) {
      // More came while the last batch was written.
    }
    this.#writing = undefined;
  }

  async #write(): Promise<boolean> {
    const lines = this.#lines;
    this.#lines = [];
    const { logs, clock, log } = this.#ports;
    try {
      const bound = { what: "Appending to the run's log", ms: APPEND_MS };
      await bounded(clock, bound, (call) => logs.append(this.#key, this.#runId, lines, call));
      if (this.#lost > 0) log.warn("Log lines were lost", { run: this.#runId, lines: this.#lost });
      this.#lost = 0;
      return true;
    } catch (error) {
      this.#lines = [...lines, ...this.#lines].slice(-LINES_MAX);
      log.warn("A run's log cannot be written", { run: this.#runId, error: messageOf(error) });
      return false;
    }
  }
}
