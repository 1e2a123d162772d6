import { type ObjectStoreOptions, objectStore } from "../../objects/store.ts";
import type { ObjectStore } from "../../ports/object-store.ts";
import { FaultyObjectStore, type StoreFaults } from "./faults.ts";
import { MemoryShelf } from "./shelf.ts";

export interface MemoryStoreOptions extends ObjectStoreOptions {
  /** What goes wrong; nothing by default. */
  readonly faults?: StoreFaults;
}

/** Objects in memory, for tests and simulation: the store keeps what an engine "killed" leaves. */
export function memoryObjectStore(options: MemoryStoreOptions): ObjectStore {
  const store = objectStore(new MemoryShelf(), options);
  const { faults, clock } = options;
  return faults === undefined ? store : new FaultyObjectStore(store, faults, clock);
}
