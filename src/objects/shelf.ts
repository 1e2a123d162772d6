import type { KindName, ObjectRef } from "../api/kinds.ts";
import type { KubeObject } from "../api/meta.ts";

/**
 * Where objects lie. A shelf keeps and finds, synchronously; it knows nothing of what an object
 * means. `objectStore` makes an ObjectStore of it. Trouble is a StoreError `Unavailable`.
 */
export interface Shelf {
  /**
   * Runs `work` with nobody else writing meanwhile. If it throws, nothing has changed; if it
   * returns, everything is kept for good. Never nested.
   */
  write<T>(work: () => T): T;
  /** Runs `work` with every read in it seeing the same moment. Never nested. */
  read<T>(work: () => T): T;

  revision(): Revision;
  get(ref: ObjectRef): Stored | undefined;
  /** Sorted by namespace, then name. Undefined: all namespaces. */
  list(kind: KindName, namespace: string | undefined): Stored[];
  has(uid: string, namespace: string): boolean;
  /** Objects of the namespace with this uid among their owners. */
  dependants(ownerUid: string, namespace: string): Stored[];
  /** At most `limit` changes after `version`, oldest first. */
  changes(after: ChangesAfter, limit: number): Change[];

  /** Inside `write` only: records the change, and with it the revision and the object itself. */
  record(change: Change): void;
  /** Inside `write` only: forgets the oldest changes beyond these bounds. */
  compact(keep: KeptChanges): void;

  /** How often to look for changes of other processes; undefined: there are none. */
  readonly pollMs: number | undefined;
}

/** An object as plain JSON; fields beyond `metadata` by name. */
export type Stored = KubeObject & { kind: KindName; [field: string]: unknown };

export interface Revision {
  /** Version of the last change. */
  readonly current: number;
  /** The last version whose change was forgotten. */
  readonly compacted: number;
}

export interface Change {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  /** The object after the change; for DELETED, its last state. */
  readonly object: Stored;
}

export interface ChangesAfter {
  readonly kind: KindName;
  readonly namespace: string | undefined;
  readonly version: number;
}

export interface KeptChanges {
  readonly count: number;
  readonly bytes: number;
}
