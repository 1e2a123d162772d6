import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";

const ASK_EVERY_MS = 250;

/**
 * Holds the tools folder for one builder, across processes; waits for the other one, calling
 * `onWait` meanwhile. The lock is a file lock that SQLite takes: the kernel drops it with its
 * holder, so that a killed build leaves nothing to clear away. Answers with the release.
 */
export async function lockFolder(
  folder: string,
  clock: Pick<Clock, "sleep">,
  onWait: () => void,
  call: Call,
): Promise<() => void> {
  const database = new DatabaseSync(join(folder, "build.lock"), { timeout: 0 });
  try {
    while (!tryLock(database)) {
      onWait();
      await clock.sleep(ASK_EVERY_MS, call.signal);
      call.signal.throwIfAborted();
    }
  } catch (error) {
    database.close();
    throw error;
  }
  return () => database.close();
}

function tryLock(database: DatabaseSync): boolean {
  try {
    database.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    // SQLITE_BUSY is 5; anything else (a folder one may not write) is trouble of its own.
    if (error instanceof Error && "errcode" in error && error.errcode === 5) return false;
    throw error;
  }
}
