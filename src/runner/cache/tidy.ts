import { readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { packagesIn } from "./providers.ts";
import { discard, GARBAGE, marksOf } from "./tree.ts";

export interface CacheBounds {
  /** Of all packages of providers, and of all prepared folders. */
  readonly bytes: number;
  /** Since the last use. */
  readonly ageMs: number;
}

export const cacheBounds = {
  providers: { bytes: 10 * 2 ** 30, ageMs: 60 * 86_400_000 },
  prepared: { bytes: 2 ** 30, ageMs: 14 * 86_400_000 },
} as const satisfies Record<string, CacheBounds>;

/** What a run left half made when it was killed is nobody's after this. */
const GARBAGE_MS = 3_600_000;

/**
 * Keeps both parts of the cache in their bounds: what was not used for long goes, then what was not
 * used for longest. Whoever uses it has links of its own.
 */
export async function tidyCache(
  folder: string,
  bounds: Record<keyof typeof cacheBounds, CacheBounds> = cacheBounds,
): Promise<void> {
  const providers = join(folder, "providers");
  const prepared = join(folder, "prepared");
  const keys = await readdir(prepared).catch(() => []);
  await keepIn(
    (await packagesIn(providers)).map((name) => join(providers, name)),
    bounds.providers,
  );
  await keepIn(
    keys.filter((key) => !key.startsWith(".")).map((key) => join(prepared, key)),
    bounds.prepared,
  );
  for (const part of [providers, prepared]) await removeGarbage(part);
}

async function keepIn(entries: readonly string[], bounds: CacheBounds): Promise<void> {
  const found: { path: string; usedMs: number; bytes: number }[] = [];
  for (const path of entries) {
    const used = await stat(path).catch(() => undefined);
    const marks = await marksOf(path).catch(() => []);
    const bytes = marks.reduce((sum, { size }) => sum + size, 0);
    found.push({ path, usedMs: used?.mtimeMs ?? 0, bytes });
  }
  found.sort((a, b) => b.usedMs - a.usedMs);
  const oldestMs = Date.now() - bounds.ageMs;
  let bytes = 0;
  for (const entry of found) {
    bytes += entry.bytes;
    if (bytes <= bounds.bytes && entry.usedMs >= oldestMs) continue;
    bytes -= entry.bytes;
    await discard(entry.path);
  }
}

async function removeGarbage(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.name.startsWith(GARBAGE)) continue;
    const path = join(entry.parentPath, entry.name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (mtimeMs < Date.now() - GARBAGE_MS && dirname(path) !== path) {
      await rm(path, { recursive: true, force: true });
    }
  }
}
