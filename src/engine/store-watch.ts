import type { Call } from "../ports/call.ts";
import type { Clock } from "../ports/clock.ts";
import type { Meters } from "../ports/meters.ts";
import { isStoreError, type ObjectStore } from "../ports/object-store.ts";
import { messageOf } from "./bounded.ts";
import { type StoreTrouble, storeLimitMs } from "./health.ts";

type Way = "read" | "write";

/**
 * The store, with an eye on whether it answers. A refusal is an answer; what counts is a store that
 * is unavailable, one that says nothing, or an error that no store should have.
 */
export class StoreWatch {
  readonly #clock: Clock;
  readonly #meters: Meters;
  /** When each call began that has not come back. */
  readonly #pending = new Set<{ readonly way: Way; readonly sinceMs: number }>();
  readonly #failing = new Map<Way, { sinceMs: number; lastMs: number; message: string }>();

  constructor(ports: { readonly clock: Clock; readonly meters: Meters }) {
    this.#clock = ports.clock;
    this.#meters = ports.meters;
  }

  /** Undefined: the last write and the last read went well, or were refused for a reason. */
  trouble(): StoreTrouble | undefined {
    const nowMs = this.#clock.monotonic();
    const [oldest] = this.#pending;
    if (oldest !== undefined && nowMs - oldest.sinceMs > storeLimitMs()) {
      const message = `a ${oldest.way} does not come back`;
      return { way: oldest.way, forMs: nowMs - oldest.sinceMs, lastMs: 0, message };
    }
    for (const [way, { sinceMs, lastMs, message }] of this.#failing) {
      return { way, forMs: nowMs - sinceMs, lastMs: nowMs - lastMs, message };
    }
    return undefined;
  }

  watched(store: ObjectStore): ObjectStore {
    return {
      get: (ref, call) => this.#watch("read", call, () => store.get(ref, call)),
      list: (kind, where, call) => this.#watch("read", call, () => store.list(kind, where, call)),
      watch: (kind, from, call) => store.watch(kind, from, call),
      create: (object, call) => this.#watch("write", call, () => store.create(object, call)),
      update: (object, part, call) =>
        this.#watch("write", call, () => store.update(object, part, call)),
      delete: (ref, preconditions, call) =>
        this.#watch("write", call, () => store.delete(ref, preconditions, call)),
    };
  }

  async #watch<T>(way: Way, { signal }: Call, ask: () => Promise<T>): Promise<T> {
    const pending = { way, sinceMs: this.#clock.monotonic() };
    this.#pending.add(pending);
    try {
      const result = await ask();
      this.#failing.delete(way);
      return result;
    } catch (error) {
      if (isAnswer(error)) this.#failing.delete(way);
      // Whoever gave up waiting learns nothing of the store, unless it was the store's slowness.
      else if (!isGivenUp(signal)) this.#failed(way, messageOf(error));
      throw error;
    } finally {
      this.#pending.delete(pending);
    }
  }

  #failed(way: Way, message: string): void {
    const nowMs = this.#clock.monotonic();
    const sinceMs = this.#failing.get(way)?.sinceMs ?? nowMs;
    this.#failing.set(way, { sinceMs, lastMs: nowMs, message });
    this.#meters.add("nigari_store_failures_total", { way });
  }
}

function isAnswer(error: unknown): boolean {
  const answers = [
    "NotFound",
    "AlreadyExists",
    "Conflict",
    "Invalid",
    "Expired",
    "NoSuchKind",
  ] as const;
  return answers.some((code) => isStoreError(error, code));
}

function isGivenUp({ aborted, reason }: AbortSignal): boolean {
  return aborted && !(reason instanceof Error && /Timeout|Deadline/.test(reason.name));
}
