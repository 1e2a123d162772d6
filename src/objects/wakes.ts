import type { Clock } from "../ports/clock.ts";

/** Lets many wait for the next change, each with a time limit of its own. */
export class Wakes {
  readonly #clock: Clock;
  readonly #waiting = new Set<AbortController>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends every wait that goes on. */
  all(): void {
    for (const each of this.#waiting) each.abort("woken");
  }

  /** Resolves at the next `all`, after `ms`, or when the signal fires. */
  async next(ms: number, signal: AbortSignal): Promise<void> {
    const wake = new AbortController();
    const stop = () => wake.abort("ended");
    signal.addEventListener("abort", stop);
    this.#waiting.add(wake);
    try {
      if (!signal.aborted) await this.#clock.sleep(ms, wake.signal);
    } finally {
      this.#waiting.delete(wake);
      signal.removeEventListener("abort", stop);
    }
  }
}
