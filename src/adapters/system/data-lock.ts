import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../ports/clock.ts";
import { type Lead, type Leadership, NotLeader } from "../../ports/leadership.ts";

/**
 * One engine per data directory. The right to act is an exclusive SQLite lock on `lock.db`, kept
 * as long as the process lives: the kernel frees it when the process ends, however it ends, so no
 * stale lock can ever keep an engine out. The epoch lies in the same file and is raised in the very
 * transaction that takes the lock. `engine.json` says to people and to the CLI who holds it; it is
 * never believed to *be* the lock.
 */
export interface DataLockOptions {
  readonly dataDir: string;
  /** How the engine was started, for the one who is turned away. */
  readonly command: string;
  readonly version: string;
}

/** Contents of engine.json. */
export interface EngineHolder {
  readonly pid: number;
  readonly host: string;
  /** RFC 3339. */
  readonly since: string;
  readonly command: string;
  readonly version: string;
  readonly epoch: number;
}

const LOCK_FILE = "lock.db";
const HOLDER_FILE = "engine.json";
const RETRY_MS = 200;
/** How often the holder looks whether the lock file is still the one it locked. */
const CHECK_MS = 5_000;
const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

export function createDataLock(options: DataLockOptions, clock: Clock): Leadership {
  return {
    async acquire(call) {
      await mkdir(options.dataDir, { recursive: true, mode: 0o700 });
      // At least one try, so that a short call still gets an answer.
      for (;;) {
        const lock = await tryLock(options.dataDir);
        if (lock !== undefined) return await lead(options, lock, clock);
        await clock.sleep(RETRY_MS, call.signal);
        if (call.signal.aborted) throw await turnedAway(options.dataDir, call.signal.reason);
      }
    },
  };
}

/** Who holds the data directory, as far as its file says; undefined if it says nothing. */
export async function readHolder(dataDir: string): Promise<EngineHolder | undefined> {
  try {
    return JSON.parse(await readFile(join(dataDir, HOLDER_FILE), "utf8")) as EngineHolder;
  } catch {
    return undefined;
  }
}

interface Lock {
  readonly database: DatabaseSync;
  readonly epoch: number;
}

async function tryLock(dataDir: string): Promise<Lock | undefined> {
  const path = join(dataDir, LOCK_FILE);
  const last = (await readHolder(dataDir))?.epoch ?? 0;
  try {
    return lockAndCount(path, last);
  } catch (error) {
    const code = (error as { errcode?: number }).errcode ?? 0;
    if (code === SQLITE_BUSY) return undefined;
    if (code !== SQLITE_NOTADB && code !== SQLITE_CORRUPT) throw error;
    // A damaged lock file must not keep every engine out for ever. Nobody holds it: whoever did
    // could not have read it either. engine.json remembers the epoch.
    await rename(path, `${path}.damaged`);
    return lockAndCount(path, last);
  }
}

function lockAndCount(path: string, lastEpoch: number): Lock {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // With this mode the file lock of the first write stays until the database is closed.
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; BEGIN EXCLUSIVE");
    database.exec("CREATE TABLE IF NOT EXISTS lead (one INTEGER PRIMARY KEY, epoch INTEGER)");
    const row = database
      .prepare(
        "INSERT INTO lead VALUES (1, ? + 1) " +
          "ON CONFLICT DO UPDATE SET epoch = max(epoch + 1, excluded.epoch) RETURNING epoch",
      )
      .get(lastEpoch);
    database.exec("COMMIT");
    return { database, epoch: Number(row?.epoch) };
  } catch (error) {
    database.close();
    throw error;
  }
}

async function lead(options: DataLockOptions, lock: Lock, clock: Clock): Promise<Lead> {
  const { dataDir, command, version } = options;
  const lost = new AbortController();
  const path = join(dataDir, LOCK_FILE);
  const holder: EngineHolder = {
    pid: process.pid,
    host: hostname(),
    since: new Date(clock.now()).toISOString(),
    command,
    version,
    epoch: lock.epoch,
  };
  await writeHolder(dataDir, holder);
  const inode = (await stat(path)).ino;
  void watchFile();

  /** A directory deleted or replaced below a living engine is no longer the one it leads. */
  async function watchFile(): Promise<void> {
    while (!lost.signal.aborted) {
      await clock.sleep(CHECK_MS, lost.signal);
      const now = await stat(path).catch(() => undefined);
      if (now?.ino === inode || lost.signal.aborted) continue;
      lost.abort(new NotLeader(`Lock file ${path} was removed or replaced; start the engine anew`));
    }
  }
  return {
    epoch: lock.epoch,
    lost: lost.signal,
    async release() {
      if (!lost.signal.aborted) {
        lost.abort(new NotLeader("This engine gave up the lead"));
        await rm(join(dataDir, HOLDER_FILE), { force: true });
      }
      if (lock.database.isOpen) lock.database.close();
    },
  };
}

async function writeHolder(dataDir: string, holder: EngineHolder): Promise<void> {
  const path = join(dataDir, HOLDER_FILE);
  await writeFile(`${path}.new`, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

async function turnedAway(dataDir: string, cause: unknown): Promise<NotLeader> {
  const holder = await readHolder(dataDir);
  const who =
    holder === undefined
      ? "which has not said who it is yet"
      : `pid ${holder.pid} on ${holder.host} since ${holder.since}, started as "${holder.command}"`;
  return new NotLeader(
    `Another engine holds the data directory ${dataDir}: ${who}; ` +
      "stop it first, or give this one a data directory of its own",
    { cause },
  );
}
