import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { cp, link, lstat, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";

/** What tells whether a file is the one that was looked at before. */
export interface FileMark {
  /** Relative to the tree, with "/". */
  readonly path: string;
  readonly size: number;
  /** Of the last write; a hard link has that of its fellow. */
  readonly mtimeMs: number;
}

/** Every regular file below a folder, sorted. Fails if there is anything but files and folders. */
export async function marksOf(folder: string): Promise<FileMark[]> {
  const marks: FileMark[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) continue;
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile()) throw new Error(`${path} is neither a file nor a folder`);
    const { size, mtimeMs } = await lstat(path);
    marks.push({ path: relative(folder, path).split(sep).join("/"), size, mtimeMs });
  }
  return marks.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Whether a folder still holds exactly these files, untouched. */
export async function holds(folder: string, marks: readonly FileMark[]): Promise<boolean> {
  const now = await marksOf(folder).catch(() => undefined);
  return JSON.stringify(now) === JSON.stringify(marks);
}

/**
 * Makes `to` a tree of the same files, without copying them: whoever removes either tree leaves the
 * other whole. Fails across file systems.
 */
export async function linkTree(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const { path } of await marksOf(from)) {
    await mkdir(dirname(join(to, path)), { recursive: true, mode: 0o700 });
    await link(join(from, path), join(to, path));
  }
}

/** Like linkTree, and copies where no link can be made. */
export async function linkOrCopyTree(from: string, to: string): Promise<void> {
  try {
    await linkTree(from, to);
  } catch {
    await rm(to, { recursive: true, force: true });
    await cp(from, to, { recursive: true, preserveTimestamps: true });
  }
}

/** Writes what is still in memory of a tree to the disk, folders too. */
export async function syncTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  for (const path of [...paths, folder]) {
    const handle = await open(path, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}

/**
 * Puts a finished folder in its place, at once and whole. Who came first stays, unless `replace`.
 */
export async function publish(made: string, place: string, replace: boolean): Promise<void> {
  await mkdir(dirname(place), { recursive: true, mode: 0o700 });
  if (replace) await discard(place);
  try {
    await rename(made, place);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
    await rm(made, { recursive: true, force: true });
  }
}

/** Takes a folder out of sight at once, then removes it: nobody finds half of it. */
export async function discard(folder: string): Promise<void> {
  const aside = join(dirname(folder), `${GARBAGE}${randomUUID()}`);
  try {
    await rename(folder, aside);
  } catch {
    return;
  }
  await rm(aside, { recursive: true, force: true });
}

/** Beginning of the names of what is being made or removed. */
export const GARBAGE = ".garbage-";

export async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

/** The hash that dependency lock files have of an unpacked package ("h1:…"). */
export async function packageHash(folder: string): Promise<string> {
  const whole = createHash("sha256");
  for (const { path } of await marksOf(folder)) {
    const one = createHash("sha256");
    for await (const chunk of createReadStream(join(folder, path))) one.update(chunk);
    whole.update(`${one.digest("hex")}  ${path}\n`);
  }
  return `h1:${whole.digest("base64")}`;
}
