import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";

const KEY_BYTES = 32;

/**
 * The key that this data directory's digests of inputs are made with, made if it is not there. One
 * that was lost or is damaged is replaced: all that comes of it is a new plan of each object.
 */
export function keptDigestKey(path: string): Uint8Array {
  try {
    const kept = readFileSync(path);
    if (kept.length === KEY_BYTES) return kept;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
  const key = randomBytes(KEY_BYTES);
  const draft = `${path}.new`;
  writeFileSync(draft, key, { mode: 0o600, flush: true });
  renameSync(draft, path);
  return key;
}
