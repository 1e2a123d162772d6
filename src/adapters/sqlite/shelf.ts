import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { KindName, ObjectRef } from "../../api/kinds.ts";
import type {
  Change,
  ChangesAfter,
  KeptChanges,
  Revision,
  Shelf,
  Stored,
} from "../../objects/shelf.ts";
import { StoreError } from "../../ports/object-store.ts";
import { DatabaseError, databaseError, transaction } from "./database.ts";

/** How soon a change made by another process is seen: half of what people notice. */
const POLL_MS = 200;

/** Objects in the tables of migration 1. */
export class SqliteShelf implements Shelf {
  readonly pollMs = POLL_MS;
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #statements: Statements;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#path = database.location() ?? "in memory";
    this.#statements = prepare(database);
  }

  write<T>(work: () => T): T {
    return this.#tell(() => transaction(this.#database, work));
  }

  read<T>(work: () => T): T {
    return this.#tell(() => {
      this.#database.exec("BEGIN");
      try {
        return work();
      } finally {
        if (this.#database.isTransaction) this.#database.exec("COMMIT");
      }
    });
  }

  revision(): Revision {
    return this.#tell(() => {
      const row = this.#statements.revision.get() ?? {};
      return { current: Number(row.current), compacted: Number(row.compacted) };
    });
  }

  get({ kind, namespace, name }: ObjectRef): Stored | undefined {
    return this.#tell(() => bodyOf(this.#statements.get.get(kind, namespace, name)));
  }

  list(kind: KindName, namespace: string | undefined): Stored[] {
    const { list, listAll } = this.#statements;
    return this.#tell(() =>
      namespace === undefined ? listAll.all(kind) : list.all(kind, namespace),
    ).map(storedOf);
  }

  has(uid: string, namespace: string): boolean {
    return this.#tell(() => this.#statements.has.get(uid, namespace) !== undefined);
  }

  dependants(ownerUid: string, namespace: string): Stored[] {
    return this.#tell(() => this.#statements.dependants.all(ownerUid, namespace)).map(storedOf);
  }

  changes({ kind, namespace, version }: ChangesAfter, limit: number): Change[] {
    const { changes } = this.#statements;
    return this.#tell(() => changes.all(kind, version, namespace ?? null, limit)).map((row) => ({
      version: Number(row.version),
      type: row.type as Change["type"],
      object: storedOf(row),
    }));
  }

  record({ version, type, object }: Change): void {
    const { kind, metadata } = object;
    const { namespace = "default", name, uid = "", ownerReferences = [] } = metadata;
    const body = JSON.stringify(object);
    const statements = this.#statements;
    if (type === "DELETED") statements.remove.run(uid);
    else {
      statements.put.run(kind, namespace, name, uid, version, body);
      statements.forgetOwners.run(uid);
      for (const owner of ownerReferences) statements.addOwner.run(uid, owner.uid);
    }
    statements.addChange.run(version, type, kind, namespace, Buffer.byteLength(body), body);
    statements.advance.run(version);
  }

  compact({ count, bytes }: KeptChanges): void {
    const row = this.#statements.excess.get(bytes, count) ?? {};
    const last = row.version;
    if (typeof last !== "number") return;
    this.#statements.forgetChanges.run(last);
    this.#statements.compacted.run(last);
  }

  /** SQLite's trouble in the port's words. */
  #tell<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      const told = databaseError(error, this.#path);
      if (!(told instanceof DatabaseError)) throw error;
      throw new StoreError("Unavailable", told.message, { cause: error });
    }
  }
}

type Row = Record<string, SQLOutputValue>;

function bodyOf(row: Row | undefined): Stored | undefined {
  return row === undefined ? undefined : storedOf(row);
}
function storedOf(row: Row): Stored {
  return JSON.parse(String(row.body)) as Stored;
}

type Statements = Readonly<Record<keyof typeof SQL, StatementSync>>;

function prepare(database: DatabaseSync): Statements {
  const entries = Object.entries(SQL).map(([name, sql]) => [name, database.prepare(sql)]);
  return Object.fromEntries(entries) as Statements;
}

const SQL = {
  revision: "SELECT current, compacted FROM revision",
  advance: "UPDATE revision SET current = ?",
  compacted: "UPDATE revision SET compacted = ?",
  get: "SELECT body FROM objects WHERE kind = ? AND namespace = ? AND name = ?",
  list: "SELECT body FROM objects WHERE kind = ? AND namespace = ? ORDER BY name",
  listAll: "SELECT body FROM objects WHERE kind = ? ORDER BY namespace, name",
  has: "SELECT 1 FROM objects WHERE uid = ? AND namespace = ?",
  dependants: `SELECT body FROM owners JOIN objects USING (uid)
    WHERE owner_uid = ? AND namespace = ? ORDER BY kind, name`,
  put: `INSERT INTO objects (kind, namespace, name, uid, version, body) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (uid) DO UPDATE SET version = excluded.version, body = excluded.body`,
  remove: "DELETE FROM objects WHERE uid = ?",
  forgetOwners: "DELETE FROM owners WHERE uid = ?",
  addOwner: "INSERT OR IGNORE INTO owners (uid, owner_uid) VALUES (?, ?)",
  changes: `SELECT version, type, body FROM changes
    WHERE kind = ?1 AND version > ?2 AND (?3 IS NULL OR namespace = ?3)
    ORDER BY version LIMIT ?4`,
  addChange: `INSERT INTO changes (version, type, kind, namespace, size_bytes, body)
    VALUES (?, ?, ?, ?, ?, ?)`,
  // The youngest change that is too many, or with which the sum grows too large.
  excess: `SELECT max(version) AS version FROM (
      SELECT version,
        sum(size_bytes) OVER (ORDER BY version DESC) AS bytes,
        row_number() OVER (ORDER BY version DESC) AS number
      FROM changes
    ) WHERE bytes > ? OR number > ?`,
  forgetChanges: "DELETE FROM changes WHERE version <= ?",
} as const;
