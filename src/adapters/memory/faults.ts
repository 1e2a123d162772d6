import {
  type AnyObject,
  type KindName,
  keyOf,
  type ObjectOf,
  type ObjectRef,
} from "../../api/kinds.ts";
import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";
import {
  describeRef,
  type ListOptions,
  type ObjectList,
  type ObjectStore,
  type Preconditions,
  StoreError,
  type StoreErrorCode,
  type WatchEvent,
  type WatchOptions,
} from "../../ports/object-store.ts";

export interface FaultyCall {
  /** Counts the calls of the store, from 1. */
  readonly number: number;
  readonly verb: "get" | "list" | "create" | "update" | "delete" | "watch";
  readonly kind: KindName;
  /** Undefined for list and watch. */
  readonly name: string | undefined;
}

export type CallFate =
  /** Nothing is done, and the caller is told this. */
  | { readonly fail: StoreErrorCode }
  /** What was asked is done, but the caller hears `Unavailable`: a crash after the write. */
  | { readonly loseAnswer: true }
  /** No answer before the call's signal fires; nothing is done. */
  | { readonly hang: true };

/** "late" comes after the next event of that watch. */
export type EventFate = "deliver" | "lose" | "twice" | "late";

/** What goes wrong with a store; a test or a simulation turns the knobs while it runs. */
export class StoreFaults {
  /** Asked before each call; undefined: nothing goes wrong. */
  onCall: (call: FaultyCall) => CallFate | undefined = () => undefined;
  /** Asked for each event of each watch, bookmarks left out. */
  onEvent: (event: WatchEvent<AnyObject>) => EventFate = () => "deliver";
  /** How long each call takes. */
  delayMs = 0;
  /** How long each write takes besides. */
  writeDelayMs = 0;
  /** How stale each event is when it comes. */
  eventDelayMs = 0;
  /** While true every call fails. */
  unavailable = false;
  /** Calls that hang, until the caller gives them up; `sinceMs` on the store's clock. */
  readonly hung = new Set<{ readonly what: string; readonly sinceMs: number }>();
  readonly #watches = new Set<(code: StoreErrorCode) => void>();
  /** Watches made up to this count say nothing any more. */
  #silencedUpTo = 0;
  #watchCount = 0;

  /** Every watch that goes on says nothing from now on, bookmarks included, and does not end. */
  silenceWatches(): void {
    this.#silencedUpTo = this.#watchCount;
  }

  /** For the store: the number of a watch that begins. */
  numberWatch(): number {
    this.#watchCount += 1;
    return this.#watchCount;
  }

  isSilent(watch: number): boolean {
    return watch <= this.#silencedUpTo;
  }

  /** Ends every watch that goes on, with `Unavailable` or `Expired`. */
  breakWatches(code: StoreErrorCode): void {
    for (const end of this.#watches) end(code);
  }

  /** For the store: `end` is called when the watch is to break. */
  joinWatches(end: (code: StoreErrorCode) => void): () => void {
    this.#watches.add(end);
    return () => this.#watches.delete(end);
  }
}

/** A store in which things go wrong as `faults` says; otherwise the store it is made of. */
export class FaultyObjectStore implements ObjectStore {
  readonly #inner: ObjectStore;
  readonly #faults: StoreFaults;
  readonly #clock: Clock;
  #calls = 0;

  constructor(inner: ObjectStore, faults: StoreFaults, clock: Clock) {
    this.#inner = inner;
    this.#faults = faults;
    this.#clock = clock;
  }

  get<K extends KindName>(ref: ObjectRef<K>, call: Call): Promise<ObjectOf<K> | undefined> {
    return this.#meet({ verb: "get", ...ref }, call, () => this.#inner.get(ref, call));
  }
  list<K extends KindName>(kind: K, where: ListOptions, call: Call): Promise<ObjectList<K>> {
    return this.#meet({ verb: "list", kind }, call, () => this.#inner.list(kind, where, call));
  }
  create<T extends AnyObject>(object: T, call: Call): Promise<ObjectOf<T["kind"]>> {
    const ref = { kind: object.kind, ...keyOf(object) };
    return this.#meet({ verb: "create", ...ref }, call, () => this.#inner.create(object, call));
  }
  update<T extends AnyObject>(
    object: T,
    part: "main" | "status",
    call: Call,
  ): Promise<ObjectOf<T["kind"]>> {
    const ref = { kind: object.kind, ...keyOf(object) };
    const work = () => this.#inner.update(object, part, call);
    return this.#meet({ verb: "update", ...ref }, call, work);
  }
  delete(ref: ObjectRef, preconditions: Preconditions, call: Call): Promise<void> {
    const work = () => this.#inner.delete(ref, preconditions, call);
    return this.#meet({ verb: "delete", ...ref }, call, work);
  }

  async *watch<K extends KindName>(
    kind: K,
    from: WatchOptions,
    call: Call,
  ): AsyncIterable<WatchEvent<ObjectOf<K>>> {
    await this.#meet({ verb: "watch", kind }, call, async () => undefined);
    const number = this.#faults.numberWatch();
    const stop = new AbortController();
    let broken: StoreErrorCode | undefined;
    const leave = this.#faults.joinWatches((code) => {
      broken ??= code;
      stop.abort();
    });
    const end = () => stop.abort();
    call.signal.addEventListener("abort", end);
    try {
      const events = this.#inner.watch(kind, from, { signal: stop.signal });
      for await (const event of this.#spoil(events, stop.signal)) {
        if (stop.signal.aborted) break;
        if (!this.#faults.isSilent(number)) yield event;
      }
      if (broken !== undefined) throw faultOf(broken, `Watching ${kind}`);
    } finally {
      leave();
      call.signal.removeEventListener("abort", end);
    }
  }

  async *#spoil<T extends AnyObject>(
    events: AsyncIterable<WatchEvent<T>>,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>> {
    let held: WatchEvent<T>[] = [];
    for await (const event of events) {
      if (this.#faults.eventDelayMs > 0) {
        await this.#clock.sleep(this.#faults.eventDelayMs, signal);
      }
      const fate = event.type === "BOOKMARK" ? "deliver" : this.#faults.onEvent(event);
      if (fate === "lose") continue;
      if (fate === "late") {
        held.push(event);
        continue;
      }
      const copies = fate === "twice" ? [event, structuredClone(event)] : [event];
      yield* [...copies, ...held];
      held = [];
    }
  }

  async #meet<T>(
    asked: { verb: FaultyCall["verb"]; kind: KindName; namespace?: string; name?: string },
    call: Call,
    work: () => Promise<T>,
  ): Promise<T> {
    const { verb, kind, name, namespace = "" } = asked;
    this.#calls += 1;
    const what = name === undefined ? `${verb} ${kind}` : describeRef({ kind, namespace, name });
    const fate = this.#faults.onCall({ number: this.#calls, verb, kind, name });
    const isWrite = verb === "create" || verb === "update" || verb === "delete";
    const delayMs = this.#faults.delayMs + (isWrite ? this.#faults.writeDelayMs : 0);
    if (delayMs > 0) await this.#clock.sleep(delayMs, call.signal);
    if (this.#faults.unavailable) throw faultOf("Unavailable", what);
    if (fate === undefined) return work();
    if ("fail" in fate) throw faultOf(fate.fail, what);
    if ("loseAnswer" in fate) await work();
    else await this.#hang(what, call.signal);
    throw faultOf("Unavailable", what, call.signal.reason);
  }

  async #hang(what: string, signal: AbortSignal): Promise<void> {
    const hung = { what, sinceMs: this.#clock.monotonic() };
    this.#faults.hung.add(hung);
    await fired(signal);
    this.#faults.hung.delete(hung);
  }
}

function faultOf(code: StoreErrorCode, what: string, cause?: unknown): StoreError {
  return new StoreError(code, `${what}: ${code} (injected)`, { cause });
}

function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
