import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Writes a file so that it is there whole, or not at all, also after a power cut: written beside,
 * synced, renamed, and the folder synced.
 */
export async function writeDurably(path: string, content: string | Uint8Array): Promise<void> {
  const beside = `${path}.tmp`;
  const file = await open(beside, "w", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await moveDurably(beside, path);
}

/** Renames a file that is synced already, and syncs the folder. */
export async function moveDurably(from: string, to: string): Promise<void> {
  await rename(from, to);
  const folder = await open(dirname(to), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
