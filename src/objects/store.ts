import { isDeepStrictEqual } from "node:util";
import {
  type AnyObject,
  type KindName,
  keyOf,
  kindNames,
  type ObjectOf,
  type ObjectRef,
} from "../api/kinds.ts";
import type { Call } from "../ports/call.ts";
import type { Clock, Random } from "../ports/clock.ts";
import {
  describeRef,
  type ListOptions,
  type ObjectList,
  type ObjectStore,
  type Preconditions,
  StoreError,
  type WatchEvent,
  type WatchOptions,
} from "../ports/object-store.ts";
import { admitChange, admitDeletion, admitNew, admitStatus, nameOf, refuseStale } from "./admit.ts";
import type { Change, KeptChanges, Shelf, Stored } from "./shelf.ts";
import { Wakes } from "./wakes.ts";

export interface ObjectStoreOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** How much of the past a watch can still ask for. */
  readonly keep?: KeptChanges;
}

const KEEP: KeptChanges = { count: 10_000, bytes: 64 * 1024 * 1024 };
/** Changes between two looks at what can be forgotten. */
const COMPACT_EVERY = 64;
const CHANGES_AT_ONCE = 256;
const BOOKMARK_MS = 30_000;

/** The semantics of the Kubernetes API on a shelf: see the port for what it promises. */
export function objectStore(shelf: Shelf, options: ObjectStoreOptions): ObjectStore {
  return new ShelfStore(shelf, options);
}

class ShelfStore implements ObjectStore {
  readonly #shelf: Shelf;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #keep: KeptChanges;
  readonly #wakes: Wakes;

  constructor(shelf: Shelf, options: ObjectStoreOptions) {
    this.#shelf = shelf;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#keep = options.keep ?? KEEP;
    this.#wakes = new Wakes(options.clock);
  }

  async get<K extends KindName>(ref: ObjectRef<K>, call: Call): Promise<ObjectOf<K> | undefined> {
    refuseCancelled(call, `Reading ${describeRef(ref)}`);
    return handOut<K>(this.#shelf.get(ref));
  }

  async list<K extends KindName>(kind: K, where: ListOptions, call: Call): Promise<ObjectList<K>> {
    refuseCancelled(call, `Listing ${kind}`);
    const wanted = Object.entries(where.labels ?? {});
    const { found, revision } = this.#shelf.read(() => ({
      found: this.#shelf.list(kind, where.namespace),
      revision: this.#shelf.revision(),
    }));
    const items = found.filter(({ metadata }) =>
      wanted.every(([label, value]) => metadata.labels?.[label] === value),
    );
    return {
      resourceVersion: String(revision.current),
      items: items.map((each) => handOut<K>(each)),
    };
  }

  async create<T extends AnyObject>(object: T, call: Call): Promise<ObjectOf<T["kind"]>> {
    const input = takeIn(object);
    refuseCancelled(call, `Creating ${nameOf(input)}`);
    const birth = { uid: uuid(this.#random.hex(16)), nowMs: this.#clock.now() };
    const made = this.#write(() => {
      const admitted = admitNew(input, birth);
      if (this.#shelf.get(refOf(admitted)) !== undefined) {
        throw new StoreError("AlreadyExists", `${nameOf(admitted)}: exists already`);
      }
      return this.#keepOrCollect("ADDED", admitted);
    });
    return handOut<T["kind"]>(made);
  }

  async update<T extends AnyObject>(
    object: T,
    part: "main" | "status",
    call: Call,
  ): Promise<ObjectOf<T["kind"]>> {
    const input = takeIn(object);
    refuseCancelled(call, `Changing ${nameOf(input)}`);
    const kept = this.#write(() => {
      const stored = this.#existing(refOf(input));
      const { uid, resourceVersion } = input.metadata;
      refuseStale(stored, { uid, resourceVersion: resourceVersion ?? "none" });
      const next = part === "main" ? admitChange(stored, input) : admitStatus(stored, input);
      if (isDeepStrictEqual(next, stored)) return stored;
      return isReleased(next) ? this.#remove(next) : this.#keepOrCollect("MODIFIED", next);
    });
    return handOut<T["kind"]>(kept);
  }

  async delete(ref: ObjectRef, preconditions: Preconditions, call: Call): Promise<void> {
    refuseCancelled(call, `Deleting ${describeRef(ref)}`);
    this.#write(() => {
      const stored = this.#existing(ref);
      refuseStale(stored, preconditions);
      this.#end(stored);
    });
  }

  async *watch<K extends KindName>(
    kind: K,
    from: WatchOptions,
    call: Call,
  ): AsyncIterable<WatchEvent<ObjectOf<K>>> {
    let version = versionOf(from.resourceVersion);
    let bookmarkAt = this.#clock.monotonic() + BOOKMARK_MS;
    while (!call.signal.aborted) {
      const { changes, current } = this.#changes(kind, from.namespace, version);
      for (const { type, object, version: at } of changes) {
        if (call.signal.aborted) return;
        version = at;
        yield { type, object: handOut<K>(object) };
      }
      if (changes.length === CHANGES_AT_ONCE) continue;
      version = current;
      const left = bookmarkAt - this.#clock.monotonic();
      if (left > 0) {
        // Nothing is awaited since the look at the shelf, so no wake can have been missed,
        // unless a consumer was busy with events: then there may be more.
        if (changes.length > 0) continue;
        await this.#wakes.next(Math.min(left, this.#shelf.pollMs ?? left), call.signal);
      } else {
        bookmarkAt += BOOKMARK_MS - left;
        yield { type: "BOOKMARK", resourceVersion: String(version) };
      }
    }
  }

  #changes(kind: KindName, namespace: string | undefined, version: number) {
    return this.#shelf.read(() => {
      const { current, compacted } = this.#shelf.revision();
      if (version < compacted || version > current) {
        throw new StoreError(
          "Expired",
          `${kind}: changes after version ${version} are not kept (kept: ${compacted} to ` +
            `${current}); list again`,
        );
      }
      const changes = this.#shelf.changes({ kind, namespace, version }, CHANGES_AT_ONCE);
      return { changes, current };
    });
  }

  #write<T>(work: () => T): T {
    const result = this.#shelf.write(work);
    this.#wakes.all();
    return result;
  }

  #existing(ref: ObjectRef): Stored {
    const stored = this.#shelf.get(ref);
    if (stored === undefined) throw new StoreError("NotFound", `${describeRef(ref)}: not found`);
    return stored;
  }

  /** Keeps the object, unless all its owners are gone already: then it goes as well. */
  #keepOrCollect(type: "ADDED" | "MODIFIED", object: Stored): Stored {
    const kept = this.#record(type, object);
    if (this.#isOrphan(kept)) this.#end(kept);
    return kept;
  }

  /** Deletes the object at once, or marks it while finalizers hold it. */
  #end(stored: Stored): void {
    const { finalizers = [], deletionTimestamp } = stored.metadata;
    if (finalizers.length === 0) this.#remove(stored);
    else if (deletionTimestamp === undefined) {
      this.#record("MODIFIED", admitDeletion(stored, this.#clock.now()));
    }
  }

  #remove(last: Stored): Stored {
    const gone = this.#record("DELETED", last);
    const { uid = "", namespace = "default" } = gone.metadata;
    for (const dependant of this.#shelf.dependants(uid, namespace)) {
      if (this.#isOrphan(dependant)) this.#end(dependant);
    }
    return gone;
  }

  /**
   * An owner of a kind that is not kept here (a Pod, say) cannot be looked up, so it counts as
   * living: nothing is deleted for want of knowledge.
   */
  #isOrphan({ metadata }: Stored): boolean {
    const { ownerReferences: owners = [], namespace = "default" } = metadata;
    const lives = (owner: { kind: string; uid: string }) =>
      !isKindName(owner.kind) || this.#shelf.has(owner.uid, namespace);
    return owners.length > 0 && !owners.some(lives);
  }

  #record(type: Change["type"], object: Stored): Stored {
    const version = this.#shelf.revision().current + 1;
    const metadata = { ...object.metadata, resourceVersion: String(version) };
    const stored = { ...object, metadata };
    this.#shelf.record({ version, type, object: stored });
    if (version % COMPACT_EVERY === 0) this.#shelf.compact(this.#keep);
    return stored;
  }
}

/** A copy without undefined fields: what callers hand in stays theirs. */
function takeIn(object: unknown): Stored {
  return JSON.parse(JSON.stringify(object)) as Stored;
}

/** A copy: what callers get is theirs. */
function handOut<K extends KindName>(stored: Stored): ObjectOf<K>;
function handOut<K extends KindName>(stored: Stored | undefined): ObjectOf<K> | undefined;
function handOut<K extends KindName>(stored: Stored | undefined): ObjectOf<K> | undefined {
  return stored === undefined ? undefined : (structuredClone(stored) as unknown as ObjectOf<K>);
}

function refOf(object: Stored): ObjectRef {
  return { kind: object.kind, ...keyOf(object) };
}

/** Marked for deletion, and no finalizer holds it any more. */
function isReleased({ metadata }: Stored): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
}

function isKindName(kind: string): kind is KindName {
  return (kindNames as string[]).includes(kind);
}

function versionOf(resourceVersion: string): number {
  if (/^\d{1,15}$/.test(resourceVersion)) return Number(resourceVersion);
  const shown = JSON.stringify(resourceVersion);
  throw new StoreError("Invalid", `${shown} is no resourceVersion of this store; list again`);
}

function refuseCancelled({ signal }: Call, what: string): void {
  if (!signal.aborted) return;
  throw new StoreError("Unavailable", `${what} was cancelled`, { cause: signal.reason });
}

/** A random UUID (version 4) of 32 hexadecimal digits. */
function uuid(hex: string): string {
  const variant = "89ab"[Number.parseInt(hex[16] ?? "0", 16) % 4];
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return parts.join("-");
}
