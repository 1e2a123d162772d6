import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { writeDurably } from "../protocol/durable.ts";

/** Room for the last word of a run: its outcome with all that it names. */
const RESERVE_BYTES = 64 << 10;
const AGAIN_MS = 1_000;

/** Takes room on the run's disk while there is some. Fails if there is none. */
export async function takeReserve(path: string): Promise<void> {
  await writeDurably(path, Buffer.alloc(RESERVE_BYTES, "."));
}

/**
 * Writes what must be told, in the room that was kept for it if the disk is full; where even that
 * does not do, again and again until somebody makes room. Fails with any other error.
 */
export async function writeLast(reserve: string, write: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
    await rm(reserve, { force: true });
    try {
      return await write();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
    await sleep(AGAIN_MS);
  }
}

export function isDiskFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT";
}
