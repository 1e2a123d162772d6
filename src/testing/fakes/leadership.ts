import type { Lead, Leadership } from "../../ports/leadership.ts";

/** Leads whoever asks, under an epoch that grows; the one before loses its right. */
export class FakeLeadership implements Leadership {
  #epoch = 0;
  #lost = new AbortController();

  async acquire(): Promise<Lead> {
    this.#lost.abort();
    const lost = new AbortController();
    this.#lost = lost;
    this.#epoch += 1;
    return { epoch: this.#epoch, lost: lost.signal, release: async () => {} };
  }

  /** The one who leads leads no longer. */
  lose(): void {
    this.#lost.abort();
  }
}
