import type { Clock } from "../../../ports/clock.ts";

/** How often the first in a line asks again whether there is room. */
const ASK_MS = 5_000;
/** Who has not come again for so long has given up. */
const AWAY_MS = 30_000;

interface Waiting {
  readonly runId: string;
  readonly urgent: boolean;
  readonly order: number;
  seenMs: number;
}

interface Line {
  readonly waiting: Map<string, Waiting>;
  /** When the API server may be asked again; before that it would only refuse. */
  askMs: number;
}

/**
 * Whose turn it is where a namespace's quota has no room: one asks for all, the urgent first, then
 * in the order they came, so that a quota is neither stormed nor left to whoever is quickest.
 */
export class QuotaLines {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #lines = new Map<string, Line>();
  #order = 0;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Undefined: it may ask. Else its place in line, 1 being the next, and how long the line is. */
  turn(
    namespace: string,
    runId: string,
    urgent: boolean,
  ): { readonly place: number; readonly of: number } | undefined {
    const line = this.#lines.get(namespace);
    if (line === undefined) return undefined;
    this.#join(line, runId, urgent);
    const nowMs = this.#clock.monotonic();
    for (const each of line.waiting.values()) {
      if (nowMs - each.seenMs > AWAY_MS) line.waiting.delete(each.runId);
    }
    const sorted = [...line.waiting.values()].sort(
      (a, b) => Number(b.urgent) - Number(a.urgent) || a.order - b.order,
    );
    const place = sorted.findIndex((each) => each.runId === runId) + 1;
    if (place === 1 && nowMs >= line.askMs) return undefined;
    return { place, of: sorted.length };
  }

  /** The quota had no room for it. */
  refused(namespace: string, runId: string, urgent: boolean): void {
    const line = this.#lines.get(namespace) ?? { waiting: new Map(), askMs: 0 };
    this.#lines.set(namespace, line);
    line.askMs = this.#clock.monotonic() + ASK_MS;
    this.#join(line, runId, urgent);
  }

  /** It has its pod. There may be room for the next: that one may ask at once. */
  served(namespace: string, runId: string): void {
    const line = this.#lines.get(namespace);
    line?.waiting.delete(runId);
    if (line?.waiting.size === 0) this.#lines.delete(namespace);
    else this.freed(namespace);
  }

  /** A pod has gone: the first in line may ask at once. */
  freed(namespace: string): void {
    const line = this.#lines.get(namespace);
    if (line !== undefined) line.askMs = 0;
  }

  #join(line: Line, runId: string, urgent: boolean): void {
    const known = line.waiting.get(runId);
    const seenMs = this.#clock.monotonic();
    if (known !== undefined) {
      known.seenMs = seenMs;
      return;
    }
    this.#order += 1;
    line.waiting.set(runId, { runId, urgent, order: this.#order, seenMs });
  }
}
