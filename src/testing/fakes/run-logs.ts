import { keyText, type ObjectKey } from "../../api/kinds.ts";
import type { Call } from "../../ports/call.ts";
import type { LogLine, LogOptions, RunLogs } from "../../ports/runs.ts";

/** Log lines in memory. */
export class MemoryRunLogs implements RunLogs {
  readonly #lines = new Map<string, LogLine[]>();

  async append(key: ObjectKey, _runId: string, lines: readonly LogLine[]): Promise<void> {
    this.#of(key).push(...lines);
  }

  async read(key: ObjectKey, options: LogOptions): Promise<LogLine[]> {
    const { runId, tail } = options;
    const lines = this.#of(key).filter((line) => runId === undefined || line.runId === runId);
    return tail === undefined ? lines : lines.slice(-tail);
  }

  async *follow(key: ObjectKey, options: LogOptions, call: Call): AsyncIterable<LogLine> {
    call.signal.throwIfAborted();
    yield* await this.read(key, options);
  }

  #of(key: ObjectKey): LogLine[] {
    const lines = this.#lines.get(keyText(key)) ?? [];
    this.#lines.set(keyText(key), lines);
    return lines;
  }
}
