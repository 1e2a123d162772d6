import type { KindName, ObjectRef } from "../../api/kinds.ts";
import type {
  Change,
  ChangesAfter,
  KeptChanges,
  Revision,
  Shelf,
  Stored,
} from "../../objects/shelf.ts";

/** Objects in memory: gone with the process. */
export class MemoryShelf implements Shelf {
  readonly pollMs = undefined;
  #objects = new Map<string, Stored>();
  #changes: Change[] = [];
  #revision: Revision = { current: 0, compacted: 0 };

  write<T>(work: () => T): T {
    const before = { objects: new Map(this.#objects), changes: [...this.#changes] };
    const revision = this.#revision;
    try {
      return work();
    } catch (error) {
      this.#objects = before.objects;
      this.#changes = before.changes;
      this.#revision = revision;
      throw error;
    }
  }

  read<T>(work: () => T): T {
    return work();
  }

  revision(): Revision {
    return this.#revision;
  }

  get({ kind, namespace, name }: ObjectRef): Stored | undefined {
    return this.#objects.get(keyFor(kind, namespace, name));
  }

  list(kind: KindName, namespace: string | undefined): Stored[] {
    return [...this.#objects.entries()]
      .filter(([, each]) => each.kind === kind && isIn(each, namespace))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, each]) => each);
  }

  has(uid: string, namespace: string): boolean {
    return this.#objects
      .values()
      .some((each) => each.metadata.uid === uid && isIn(each, namespace));
  }

  dependants(ownerUid: string, namespace: string): Stored[] {
    return [...this.#objects.values()].filter(
      (each) =>
        isIn(each, namespace) &&
        (each.metadata.ownerReferences ?? []).some(({ uid }) => uid === ownerUid),
    );
  }

  changes({ kind, namespace, version }: ChangesAfter, limit: number): Change[] {
    return this.#changes
      .filter((each) => each.version > version)
      .filter(({ object }) => object.kind === kind && isIn(object, namespace))
      .slice(0, limit);
  }

  record(change: Change): void {
    const { kind, metadata } = change.object;
    const key = keyFor(kind, metadata.namespace ?? "default", metadata.name);
    if (change.type === "DELETED") this.#objects.delete(key);
    else this.#objects.set(key, change.object);
    this.#changes.push(change);
    this.#revision = { ...this.#revision, current: change.version };
  }

  compact({ count, bytes }: KeptChanges): void {
    let kept = 0;
    let keptBytes = 0;
    for (const { object } of this.#changes.toReversed()) {
      keptBytes += JSON.stringify(object).length;
      if (kept === count || keptBytes > bytes) break;
      kept++;
    }
    const gone = this.#changes.splice(0, this.#changes.length - kept).at(-1);
    if (gone !== undefined) this.#revision = { ...this.#revision, compacted: gone.version };
  }
}

/** NUL sorts before every character of a name, so that keys sort as namespace, then name. */
function keyFor(kind: KindName, namespace: string, name: string): string {
  return `${kind}\0${namespace}\0${name}`;
}

function isIn({ metadata }: Stored, namespace: string | undefined): boolean {
  return namespace === undefined || metadata.namespace === namespace;
}
