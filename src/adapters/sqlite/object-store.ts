import type { DatabaseSync } from "node:sqlite";
import { type ObjectStoreOptions, objectStore } from "../../objects/store.ts";
import type { ObjectStore } from "../../ports/object-store.ts";
import { SqliteShelf } from "./shelf.ts";

/**
 * Objects in the database of a data directory. Watches see what another process writes within a
 * quarter of a second. The caller closes the database, after its watches have ended.
 */
export function sqliteObjectStore(
  database: DatabaseSync,
  options: ObjectStoreOptions,
): ObjectStore {
  return objectStore(new SqliteShelf(database), options);
}
