import { chmodSync, closeSync, existsSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { type Migration, migrations } from "./migrations.ts";

/** "Tofu" in ASCII: tells our files from any other SQLite file. */
const APPLICATION_ID = 0x546f6675;

/** The database cannot be used, or not now. The message names the file and the mend. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
  readonly code: DatabaseErrorCode;
  constructor(code: DatabaseErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
export type DatabaseErrorCode = "busy" | "corrupt" | "foreign" | "full" | "newer" | "unusable";

export interface DatabaseOptions {
  /** How long a statement waits for another process's transaction. 5 s by default. */
  readonly busyTimeoutMs?: number;
  /** Reads every page first and refuses a damaged file. For the one that is about to write. */
  readonly check?: boolean;
  /** Another schema; for tests. */
  readonly migrations?: readonly Migration[];
}

/**
 * Opens the database of a data directory, makes it if it lacks, and brings its schema up to date.
 * Every commit is on the disk when it returns (WAL, synchronous=FULL). The file and its companions
 * are for the owner alone. Errors are `DatabaseError`.
 */
export function openDatabase(path: string, options: DatabaseOptions = {}): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    keepPrivate(path);
    database = new DatabaseSync(path, {
      timeout: options.busyTimeoutMs ?? 5_000,
      enableForeignKeyConstraints: true,
    });
    refuseForeign(database, path);
    switchToWal(database, path);
    database.exec("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON");
    if (options.check === true) checkPages(database, path);
    migrate(database, path, options.migrations ?? migrations);
    return database;
  } catch (error) {
    database?.close();
    throw databaseError(error, path);
  }
}

/**
 * Runs `work` in one transaction that takes the write lock at once, so that what it reads still
 * holds when it writes. Rolls back if it throws. Cannot be nested.
 */
export function transaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/** What SQLite said, as a `DatabaseError` that names the file and the mend; others unchanged. */
export function databaseError(error: unknown, path: string): unknown {
  const code = sqliteCode(error) ?? fileCode(error);
  const why = code === undefined ? undefined : troubles[code];
  if (why === undefined) return error;
  return new DatabaseError(why.code, `Database ${path}: ${why.text}`, { cause: error });
}

interface Trouble {
  readonly code: DatabaseErrorCode;
  readonly text: string;
}
const DAMAGED: Trouble = {
  code: "corrupt",
  text: "the file is damaged or no SQLite database; move it away or restore it from a backup",
};
const NO_ACCESS: Trouble = {
  code: "unusable",
  text: "cannot be opened for writing; check that its folder exists and belongs to you",
};
const BUSY: Trouble = {
  code: "busy",
  text: "another process holds it for too long; end that process or try again",
};
/** By SQLite's primary result code, or by the file system's. */
const troubles: Readonly<Record<string, Trouble>> = {
  3: NO_ACCESS,
  5: BUSY,
  6: BUSY,
  8: NO_ACCESS,
  10: { code: "unusable", text: "the disk gave an error; see the system's log" },
  11: DAMAGED,
  13: { code: "full", text: "the disk is full; make room" },
  14: NO_ACCESS,
  26: DAMAGED,
  EACCES: NO_ACCESS,
  EISDIR: { code: "unusable", text: "is a folder; a file is needed" },
  ENOENT: NO_ACCESS,
  ENOTDIR: NO_ACCESS,
  EPERM: NO_ACCESS,
  EROFS: { code: "unusable", text: "lies on a read-only file system; choose another place" },
};

function sqliteCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? String(error.errcode & 0xff) : undefined;
}
function fileCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** SQLite gives -wal and -shm the mode of the main file, so the main file comes first. */
function keepPrivate(path: string): void {
  closeSync(openSync(path, "a", 0o600));
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    if (existsSync(file)) chmodSync(file, 0o600);
  }
}

function refuseForeign(database: DatabaseSync, path: string): void {
  const tables = Number(single(database, "SELECT count(*) FROM sqlite_schema"));
  if (tables === 0 || single(database, "PRAGMA application_id") === APPLICATION_ID) return;
  throw new DatabaseError(
    "foreign",
    `Database ${path}: belongs to another program; choose another data directory`,
  );
}

/**
 * Two processes that open a new file at once may meet here, where SQLite answers "locked" without
 * waiting; the mode stays in the file, so the second try finds it set.
 */
function switchToWal(database: DatabaseSync, path: string): void {
  for (let tries = 1; ; tries++) {
    try {
      if (single(database, "PRAGMA journal_mode = WAL") === "wal") return;
      throw new DatabaseError(
        "unusable",
        `Database ${path}: its file system cannot share memory; use a folder on a local disk`,
      );
    } catch (error) {
      if (sqliteCode(error) !== "5" || tries === 50) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

function checkPages(database: DatabaseSync, path: string): void {
  const found = single(database, "PRAGMA quick_check(1)");
  if (found === "ok") return;
  const message = `Database ${path}: ${DAMAGED.text}`;
  throw new DatabaseError("corrupt", message, { cause: new Error(String(found)) });
}

function migrate(database: DatabaseSync, path: string, steps: readonly Migration[]): void {
  const known = steps.at(-1)?.version ?? 0;
  if (Number(single(database, "PRAGMA user_version")) === known) return;
  transaction(database, () => {
    // Read again under the lock: another process may have migrated meanwhile.
    const found = Number(single(database, "PRAGMA user_version"));
    if (found > known) {
      throw new DatabaseError(
        "newer",
        `Database ${path}: has schema ${found}, but this program knows only ${known}; ` +
          "use the newer nigari that wrote it",
      );
    }
    for (const step of steps.filter(({ version }) => version > found)) {
      database.exec(step.sql);
      database.exec(`PRAGMA user_version = ${step.version}`);
    }
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  });
}

/** First column of the first row. */
function single(database: DatabaseSync, sql: string): unknown {
  const row = database.prepare(sql).get();
  return row === undefined ? undefined : Object.values(row)[0];
}
