import { type KindName, keyOf, keyText, type ObjectOf } from "../api/kinds.ts";
import type { Clock, Random } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { isStoreError, type ObjectStore, type WatchEvent } from "../ports/object-store.ts";
import { bounded, messageOf, unlessSilent } from "./bounded.ts";
import { listMs, relistMs, watchSilenceMs } from "./limits.ts";

/** Pauses after trouble are random below a bound that doubles from the first to the second. */
const PAUSE_FIRST_MS = 500;
const PAUSE_MAX_MS = 30_000;

export interface InformerPorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Listener<T> {
  /** The object came to be or changed; `before` is what was known of it. */
  changed(object: T, before: T | undefined): void;
  removed(object: T): void;
  /** What is kept of the object until its next change; all of it if left out. */
  keep?(object: T): T | undefined;
  /** Metadata is enough. */
  readonly metadataOnly?: boolean;
}

/**
 * Tells of every object of a kind: lists once, then watches. A watch that breaks or falls silent is
 * made again from where it was; only one that comes too late lists anew, and then tells the
 * differences. Ends with the signal, never otherwise.
 */
export class Informer<K extends KindName> {
  readonly #kind: K;
  readonly #ports: InformerPorts;
  readonly #listener: Listener<ObjectOf<K>>;
  readonly #known = new Map<string, ObjectOf<K>>();
  #version: string | undefined;
  #listedMs = 0;
  #failures = 0;

  constructor(kind: K, ports: InformerPorts, listener: Listener<ObjectOf<K>>) {
    this.#kind = kind;
    this.#ports = ports;
    this.#listener = listener;
  }

  /** Everything known at this moment. */
  objects(): Iterable<ObjectOf<K>> {
    return this.#known.values();
  }

  /** Lists, again and again until it succeeds or the signal fires; `run` goes on from there. */
  async start(signal: AbortSignal): Promise<void> {
    while (this.#version === undefined && !signal.aborted) {
      try {
        await this.#list(signal);
      } catch (error) {
        await this.#pause(error, signal);
      }
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#version === undefined) await this.#list(signal);
        await this.#watch(this.#version ?? "", signal);
        await this.#pause("it was closed", signal);
      } catch (error) {
        await this.#pause(error, signal);
      }
    }
  }

  async #pause(error: unknown, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { clock, random, log } = this.#ports;
    log.debug("A watch ended", { kind: this.#kind, error: messageOf(error) });
    if (isStoreError(error, "Expired")) this.#version = undefined;
    const boundMs = Math.min(PAUSE_FIRST_MS * 2 ** Math.min(this.#failures, 10), PAUSE_MAX_MS);
    this.#failures += 1;
    await clock.sleep(random.next() * boundMs, signal);
  }

  async #list(parent: AbortSignal): Promise<void> {
    const { clock, store } = this.#ports;
    const bound = { what: `Listing ${this.#kind}`, ms: listMs(), parent };
    const list = await bounded(clock, bound, (call) =>
      store.list(this.#kind, this.#wanted(), call),
    );
    const seen = new Set(list.items.map((item) => keyText(keyOf(item))));
    for (const [key, object] of [...this.#known]) if (!seen.has(key)) this.#remove(object);
    for (const object of list.items) this.#put(object);
    this.#version = list.resourceVersion;
    this.#listedMs = clock.monotonic();
  }

  async #watch(from: string, parent: AbortSignal): Promise<void> {
    const { clock, store } = this.#ports;
    const bound = { what: `The watch of ${this.#kind}`, ms: watchSilenceMs(), parent };
    const events = unlessSilent(clock, bound, (call) =>
      store.watch(this.#kind, { resourceVersion: from, ...this.#wanted() }, call),
    );
    for await (const event of events) {
      this.#failures = 0;
      this.#take(event);
      // A change that no watch told of is found by listing again.
      if (clock.monotonic() - this.#listedMs > relistMs()) {
        this.#version = undefined;
        return;
      }
    }
  }

  #wanted(): { readonly metadataOnly?: boolean } {
    return this.#listener.metadataOnly === true ? { metadataOnly: true } : {};
  }

  #take(event: WatchEvent<ObjectOf<K>>): void {
    if (event.type === "BOOKMARK") {
      this.#version = event.resourceVersion;
      return;
    }
    if (event.type === "DELETED") this.#remove(event.object);
    else this.#put(event.object);
    this.#version = event.object.metadata.resourceVersion ?? this.#version;
  }

  /** Another uid under the same name is another object. */
  #put(object: ObjectOf<K>): void {
    const key = keyText(keyOf(object));
    const before = this.#known.get(key);
    if (before !== undefined && before.metadata.uid !== object.metadata.uid) this.#remove(before);
    const same = this.#known.get(key);
    const kept = this.#listener.keep === undefined ? object : this.#listener.keep(object);
    if (kept === undefined) this.#known.delete(key);
    else this.#known.set(key, kept);
    if (same?.metadata.resourceVersion !== object.metadata.resourceVersion) {
      this.#listener.changed(object, same);
    }
  }

  #remove(object: ObjectOf<K>): void {
    this.#known.delete(keyText(keyOf(object)));
    this.#listener.removed(object);
  }
}
