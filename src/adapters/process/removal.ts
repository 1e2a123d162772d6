import { chmodSync, type Dirent, readdirSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { list } from "./record.ts";

/** Folders on their way out; no run has such a name. */
const REMOVING = ".removing-";

/**
 * Removes a run's folder and socket. The folder is renamed first, so that a run is there whole or
 * not at all, also when we die in the middle; `sweep` ends what was begun.
 */
export async function removeTree(
  runsFolder: string,
  runId: string,
  socket: string | undefined,
): Promise<void> {
  if (socket !== undefined) await rm(socket, { force: true });
  const doomed = join(runsFolder, `${REMOVING}${runId}`);
  await removeWhole(doomed);
  await rename(join(runsFolder, runId), doomed);
  await removeWhole(doomed);
}

/** Ends removals that an earlier engine began. */
export async function sweep(runsFolder: string): Promise<void> {
  for (const name of list(runsFolder)) {
    if (name.startsWith(REMOVING)) await removeWhole(join(runsFolder, name));
  }
}

async function removeWhole(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch (error) {
    if (!["EACCES", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    // A provisioner or an artifact left folders that even their owner may not change.
    open(folder);
    await rm(folder, { recursive: true, force: true });
  }
}

function open(folder: string): void {
  chmodSync(folder, 0o700);
  const entries: Dirent[] = readdirSync(folder, { withFileTypes: true });
  for (const entry of entries) if (entry.isDirectory()) open(join(folder, entry.name));
}
