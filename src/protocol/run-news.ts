/**
 * What every platform tells of its runs: ids about which something was heard, each once until it
 * is taken.
 */
export class RunNews {
  readonly #listeners = new Set<(runId: string) => void>();

  /** Whether anybody listens. */
  get heard(): boolean {
    return this.#listeners.size > 0;
  }

  tell(runId: string): void {
    for (const listener of this.#listeners) listener(runId);
  }

  /** Until the signal fires; `first` is news as well. `begun`: from here on it is listened. */
  async *listen(
    first: readonly string[],
    signal: AbortSignal,
    begun: () => void = () => {},
  ): AsyncGenerator<string> {
    const pending = new Set<string>(first);
    let wake = () => {};
    const listener = (runId: string) => {
      pending.add(runId);
      wake();
    };
    const end = () => wake();
    this.#listeners.add(listener);
    signal.addEventListener("abort", end, { once: true });
    begun();
    try {
      while (!signal.aborted) {
        const [runId] = pending;
        if (runId === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        pending.delete(runId);
        yield runId;
      }
    } finally {
      this.#listeners.delete(listener);
      signal.removeEventListener("abort", end);
    }
  }
}
