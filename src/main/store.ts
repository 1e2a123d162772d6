import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { openDatabase } from "../adapters/sqlite/database.ts";
import { sqliteObjectStore } from "../adapters/sqlite/object-store.ts";
import { SqliteStates } from "../adapters/sqlite/state.ts";
import { systemRandom } from "../adapters/system/random.ts";
import { createRunLogs } from "../adapters/system/run-logs.ts";
import type { Clock } from "../ports/clock.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import type { RunLogs } from "../ports/runs.ts";
import { makePrivate } from "./data-dir.ts";

/** What a data directory keeps: the same for the engine and for a verb without an engine. */
export interface Kept {
  readonly database: DatabaseSync;
  readonly store: ObjectStore;
  readonly states: SqliteStates;
  readonly logs: RunLogs;
}

/**
 * Opens a data directory, made if it is not there. `check` reads every page first. Fails with
 * DatabaseError.
 */
export function openKept(dataDir: string, clock: Clock, check = false): Kept {
  makePrivate(dataDir);
  const database = openDatabase(join(dataDir, "nigari.db"), { check });
  return {
    database,
    store: sqliteObjectStore(database, { clock, random: systemRandom }),
    states: new SqliteStates({ database, folder: join(dataDir, "states"), clock }),
    logs: createRunLogs(join(dataDir, "logs")),
  };
}
