import { keyText, type ObjectKey } from "../api/kinds.ts";
import { isPassOpen } from "../domain/guards.ts";
import type { Clock } from "../ports/clock.ts";
import type { ObjectStore } from "../ports/object-store.ts";

/** A pass went on after its end: what it was about to do is refused. */
export class PassOver extends Error {
  override readonly name = "PassOver";
}

/**
 * One pass of one object. A pass that overruns its time is given up and another may follow, so
 * everything it does to the world is checked here first; so is what an effect that came too late
 * would still do after its pass.
 */
export class Pass {
  readonly key: ObjectKey;
  /** Fires when the pass is over, by its end or because it took too long. */
  readonly signal: AbortSignal;
  readonly #over = new AbortController();

  constructor(key: ObjectKey, clock: Clock, how: { ms: number; parent: AbortSignal }) {
    this.key = key;
    const end = AbortSignal.any([how.parent, this.#over.signal]);
    this.signal = clock.deadline(`The pass of ${keyText(key)}`, how.ms, end);
  }

  /** Throws PassOver if the pass is over. */
  check(): void {
    if (isPassOpen({ isOver: this.signal.aborted })) return;
    const message = `The pass of ${keyText(this.key)} is over`;
    throw new PassOver(message, { cause: this.signal.reason });
  }

  end(): void {
    this.#over.abort(new PassOver(`The pass of ${keyText(this.key)} has ended`));
  }
}

/** The store as a pass sees it: reads as ever, writes only as long as the pass is not over. */
export function storeOf(pass: Pass, store: ObjectStore): ObjectStore {
  return {
    get: (ref, call) => store.get(ref, call),
    list: (kind, where, call) => store.list(kind, where, call),
    watch: (kind, from, call) => store.watch(kind, from, call),
    async create(object, call) {
      pass.check();
      return await store.create(object, call);
    },
    async update(object, part, call) {
      pass.check();
      return await store.update(object, part, call);
    },
    async delete(ref, preconditions, call) {
      pass.check();
      await store.delete(ref, preconditions, call);
    },
  };
}
