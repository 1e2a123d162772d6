import type { Clock, Random } from "../ports/clock.ts";

/** People's requests and deletions are urgent; what comes due by itself is not. */
export type Priority = "urgent" | "normal";

export interface QueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Upper bound of the first delay after a failure, in milliseconds. */
  readonly backoffBaseMs: number;
  /** Upper bound of every delay after a failure, in milliseconds. */
  readonly backoffCapMs: number;
  readonly observer?: QueueObserver;
}

/** Hears what the queue does, to count it. Durations in milliseconds. */
export interface QueueObserver {
  added(): void;
  retried(): void;
  taken(waitedMs: number): void;
  done(workedMs: number): void;
}

/** How long what is here has been here, in milliseconds. */
export interface QueueAges {
  /** Of the key that was ready first; undefined: none is ready. */
  readonly readyMs: number | undefined;
  /** Of each key that is handed out. */
  readonly runningMs: readonly number[];
}

export interface QueueSize {
  readonly ready: number;
  readonly delayed: number;
  readonly running: number;
}

/** So many urgent keys may go before a normal one that waits. */
const URGENT_IN_A_ROW = 4;
/** A sleeper looks again after this long even if nobody woke it. */
const LOOK_AGAIN_MS = 60_000;
/** Nothing waits longer than a day, whatever was asked: an object must not be forgotten. */
const DELAY_MAX_MS = 86_400_000;
/** 2 to this power times any base lies beyond any cap, and still far from infinity. */
const DOUBLINGS_MAX = 40;

/**
 * Keys of objects that want a pass. A key is handed out to one taker at a time; added while it is
 * out, it is handed out again afterwards. A key waits at most once, so the queue never holds more
 * entries than there are objects.
 *
 * Call order of a taker: take → (pass) → done, and before done at will add, addAfter, retry or
 * forget.
 */
export class WorkQueue {
  readonly #options: QueueOptions;
  /** Keys that can be taken, and since when. */
  readonly #ready: Record<Priority, Map<string, number>> = { urgent: new Map(), normal: new Map() };
  /** When a delayed key becomes ready, on the clock that never jumps. */
  readonly #delayed = new Map<string, number>();
  /** Keys handed out: since when, and what was added meanwhile. */
  readonly #running = new Map<string, { readonly sinceMs: number; again: Priority | undefined }>();
  readonly #failures = new Map<string, number>();
  readonly #sleepers = new Set<AbortController>();
  #urgentInARow = 0;
  #nextDueMs = Number.POSITIVE_INFINITY;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Makes the key ready, or ready again once its taker is done. */
  add(key: string, priority: Priority = "normal"): void {
    const running = this.#running.get(key);
    if (running !== undefined) {
      running.again = priority === "urgent" ? "urgent" : (running.again ?? "normal");
      return;
    }
    const { urgent, normal } = this.#ready;
    const sinceMs = urgent.get(key) ?? normal.get(key);
    if (sinceMs === undefined) this.#options.observer?.added();
    if (priority === "urgent") normal.delete(key);
    if (!urgent.has(key)) {
      this.#ready[priority].set(key, sinceMs ?? this.#options.clock.monotonic());
    }
    this.#wake();
  }

  /** Makes the key ready in `delayMs`; an earlier date that it already has stays. */
  addAfter(key: string, delayMs: number): void {
    if (delayMs <= 0) {
      this.add(key);
      return;
    }
    const knownMs = Number.isNaN(delayMs) ? this.#options.backoffCapMs : delayMs;
    const dueMs = this.#options.clock.monotonic() + Math.min(knownMs, DELAY_MAX_MS);
    if (dueMs >= (this.#delayed.get(key) ?? Number.POSITIVE_INFINITY)) return;
    this.#delayed.set(key, dueMs);
    if (dueMs < this.#nextDueMs) {
      this.#nextDueMs = dueMs;
      this.#wake();
    }
  }

  /**
   * Makes the key ready after a random delay whose bound doubles with every failure in a row, and
   * answers with that delay.
   */
  retry(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, Math.min(failures + 1, DOUBLINGS_MAX));
    const { backoffBaseMs, backoffCapMs, random } = this.#options;
    const boundMs = Math.min(backoffCapMs, backoffBaseMs * 2 ** failures);
    const delayMs = Math.max(1, random.next() * boundMs);
    this.#options.observer?.retried();
    this.addAfter(key, delayMs);
    return delayMs;
  }

  /** A success: the next failure is the first again. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** The object is gone: nothing of the key is kept but an add that came while it was out. */
  drop(key: string): void {
    this.#failures.delete(key);
    this.#delayed.delete(key);
    this.#ready.urgent.delete(key);
    this.#ready.normal.delete(key);
  }

  /** The next key, once there is one; undefined when the signal fires. */
  async take(signal: AbortSignal): Promise<string | undefined> {
    while (!signal.aborted) {
      this.#promote();
      const key = this.#next();
      if (key !== undefined) {
        this.#running.set(key, { sinceMs: this.#options.clock.monotonic(), again: undefined });
        this.#delayed.delete(key);
        return key;
      }
      await this.#sleep(signal);
    }
    return undefined;
  }

  /** The taker has finished with the key. */
  done(key: string): void {
    const running = this.#running.get(key);
    this.#running.delete(key);
    if (running === undefined) return;
    this.#options.observer?.done(this.#options.clock.monotonic() - running.sinceMs);
    if (running.again !== undefined) this.add(key, running.again);
  }

  ages(): QueueAges {
    const nowMs = this.#options.clock.monotonic();
    const { urgent, normal } = this.#ready;
    const since = [...urgent.values(), ...normal.values()];
    return {
      readyMs: since.length === 0 ? undefined : nowMs - Math.min(...since),
      runningMs: [...this.#running.values()].map(({ sinceMs }) => nowMs - sinceMs),
    };
  }

  size(): QueueSize {
    const ready = this.#ready.urgent.size + this.#ready.normal.size;
    return { ready, delayed: this.#delayed.size, running: this.#running.size };
  }

  /** Makes ready what has come due. */
  #promote(): void {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs < this.#nextDueMs) return;
    this.#nextDueMs = Number.POSITIVE_INFINITY;
    for (const [key, dueMs] of this.#delayed) {
      if (dueMs > nowMs) {
        this.#nextDueMs = Math.min(this.#nextDueMs, dueMs);
      } else {
        this.#delayed.delete(key);
        this.add(key);
      }
    }
  }

  #next(): string | undefined {
    const { urgent, normal } = this.#ready;
    const normalsTurn = urgent.size === 0 || this.#urgentInARow >= URGENT_IN_A_ROW;
    const from = normalsTurn && normal.size > 0 ? normal : urgent;
    for (const [key, sinceMs] of from) {
      from.delete(key);
      this.#options.observer?.taken(this.#options.clock.monotonic() - sinceMs);
      this.#urgentInARow = from === urgent ? this.#urgentInARow + 1 : 0;
      return key;
    }
    return undefined;
  }

  async #sleep(signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#sleepers.add(woken);
    const dueInMs = this.#nextDueMs - this.#options.clock.monotonic();
    const end = AbortSignal.any([signal, woken.signal]);
    await this.#options.clock.sleep(Math.min(Math.max(dueInMs, 0), LOOK_AGAIN_MS), end);
    this.#sleepers.delete(woken);
  }

  #wake(): void {
    for (const sleeper of this.#sleepers) sleeper.abort("woken");
    this.#sleepers.clear();
  }
}
