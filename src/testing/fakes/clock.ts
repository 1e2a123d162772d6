import type { Clock, Random } from "../../ports/clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly fire: () => void;
}

/**
 * A clock that stands still until it is told to advance. Timers fire in the order of their time,
 * then of their making, and all that a timer sets off has settled before the next one fires.
 */
export class VirtualClock implements Clock {
  #monotonicMs = 0;
  #wallMs: number;
  #lagMs = 0;
  #order = 0;
  readonly #timers = new Set<Timer>();

  constructor(startAt = "2026-01-01T00:00:00Z") {
    this.#wallMs = Date.parse(startAt);
  }

  now(): number {
    return this.#wallMs;
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  lagMs(): number {
    return this.#lagMs;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        this.#timers.delete(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = this.#timer(ms, end);
      signal.addEventListener("abort", end, { once: true });
    });
  }

  deadline(what: string, ms: number, parent?: AbortSignal): AbortSignal {
    const own = new AbortController();
    if (parent?.aborted) own.abort(parent.reason);
    if (own.signal.aborted) return own.signal;
    const follow = () => end(parent?.reason);
    const timer = this.#timer(ms, () =>
      end(new DOMException(`${what} took longer than ${ms} ms`, "TimeoutError")),
    );
    const end = (reason: unknown) => {
      this.#timers.delete(timer);
      parent?.removeEventListener("abort", follow);
      own.abort(reason);
    };
    parent?.addEventListener("abort", follow, { once: true });
    return own.signal;
  }

  /** What lagMs answers from now on. */
  setLag(ms: number): void {
    this.#lagMs = ms;
  }

  /** The wall clock jumps, as after a correction or a sleep of the machine; no timer fires. */
  jump(ms: number): void {
    this.#wallMs += ms;
  }

  /** Lets `ms` pass, firing what is due on the way. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#monotonicMs + ms;
    await settle();
    for (let next = this.#next(endMs); next !== undefined; next = this.#next(endMs)) {
      this.#passTo(next.dueMs);
      next.fire();
      await settle();
    }
    this.#passTo(endMs);
  }

  /** Lets time pass, at most `limitMs`, until `reached` says so; answers whether it was. */
  async advanceUntil(reached: () => boolean, limitMs: number): Promise<boolean> {
    const endMs = this.#monotonicMs + limitMs;
    await settle();
    while (!reached()) {
      const next = this.#next(endMs);
      if (next === undefined) {
        this.#passTo(endMs);
        return false;
      }
      this.#passTo(next.dueMs);
      next.fire();
      await settle();
    }
    return true;
  }

  #passTo(monotonicMs: number): void {
    const passedMs = Math.max(0, monotonicMs - this.#monotonicMs);
    this.#monotonicMs += passedMs;
    this.#wallMs += passedMs;
  }

  #timer(ms: number, fire: () => void): Timer {
    this.#order += 1;
    const timer = { dueMs: this.#monotonicMs + Math.max(0, ms), order: this.#order, fire };
    this.#timers.add(timer);
    return timer;
  }

  #next(endMs: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueMs > endMs) continue;
      const sooner =
        first === undefined ||
        timer.dueMs < first.dueMs ||
        (timer.dueMs === first.dueMs && timer.order < first.order);
      if (sooner) first = timer;
    }
    return first;
  }
}

/** Waits until every promise that can go on without a timer has gone on. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Chance from a seed: the same seed gives the same numbers (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  function hex(bytes: number): string {
    const digits = Array.from({ length: bytes * 2 }, () => Math.floor(next() * 16).toString(16));
    return digits.join("");
  }
  return { next, hex };
}
