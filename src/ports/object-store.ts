import type { AnyObject, KindName, ObjectKey, ObjectOf, ObjectRef } from "../api/kinds.ts";
import type { Call } from "./call.ts";

/**
 * Objects with the semantics of the Kubernetes API that the engine leans on:
 *
 * - `resourceVersion` changes with every write and grows over the whole store; it is opaque to
 *   callers but comparable for equality.
 * - `generation` counts changes of anything but metadata and status, starting at 1; kinds without
 *   a status have none.
 * - `update` is refused with `Conflict` unless the object carries the stored resourceVersion. One
 *   that changes nothing is no write: same version, no event.
 * - `update(…, "status")` changes status alone; `update(…, "main")` changes all but status. A
 *   created object has the status `{observedGeneration: -1}`, if its kind has one.
 * - Deleting an object with finalizers sets deletionTimestamp (and counts the generation up, as
 *   Kubernetes does); it goes when the last is removed.
 *   No finalizer can be added then (`Invalid`).
 * - An object whose owners (ownerReferences) are all gone is collected.
 * - A watch from a resourceVersion yields every later change once, in order. From one that is no
 *   longer kept it fails with `Expired`: list again. Bookmarks come at least once a minute.
 *
 * Errors are `StoreError`. The same contract suite runs on every implementation
 * (`src/testing/contracts/object-store.ts`).
 */
export interface ObjectStore {
  get<K extends KindName>(ref: ObjectRef<K>, call: Call): Promise<ObjectOf<K> | undefined>;
  list<K extends KindName>(kind: K, where: ListOptions, call: Call): Promise<ObjectList<K>>;
  /** Fails with AlreadyExists. Assigns uid, resourceVersion, generation, creationTimestamp. */
  create<T extends AnyObject>(object: T, call: Call): Promise<ObjectOf<T["kind"]>>;
  update<T extends AnyObject>(
    object: T,
    part: "main" | "status",
    call: Call,
  ): Promise<ObjectOf<T["kind"]>>;
  /** Fails with NotFound; with Conflict if a precondition does not hold. */
  delete(ref: ObjectRef, preconditions: Preconditions, call: Call): Promise<void>;
  /** Ends (without an error) when the call's signal fires. */
  watch<K extends KindName>(
    kind: K,
    from: WatchOptions,
    call: Call,
  ): AsyncIterable<WatchEvent<ObjectOf<K>>>;
}

export interface ListOptions {
  /** Undefined: all namespaces. */
  readonly namespace?: string;
  /** Every label must be equal. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Metadata is enough: a store may leave out the rest, and a remote one does. */
  readonly metadataOnly?: boolean;
}
export interface ObjectList<K extends KindName> {
  readonly resourceVersion: string;
  readonly items: ObjectOf<K>[];
}
export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}
export interface WatchOptions {
  readonly namespace?: string;
  /** Changes after this version. */
  readonly resourceVersion: string;
  /** As in `ListOptions`. */
  readonly metadataOnly?: boolean;
}

export type WatchEvent<T> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string };

export type StoreErrorCode =
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Invalid"
  | "Expired"
  | "Forbidden"
  /** The store does not know the kind at all, such as a cluster without its definition. */
  | "NoSuchKind"
  | "Unavailable";

/** Trouble with the store. `Unavailable` may pass; the others are answers. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;
  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Whether this is a StoreError of that code. */
export function isStoreError(error: unknown, code: StoreErrorCode): error is StoreError {
  return error instanceof StoreError && error.code === code;
}

export function describeRef(ref: { kind: string } & ObjectKey): string {
  return `${ref.kind}/${ref.namespace}/${ref.name}`;
}
