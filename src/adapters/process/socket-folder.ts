import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, type Stats, statSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, join, resolve } from "node:path";

/** What a Unix socket's address can hold on every system is 104 bytes with its end. */
const PATH_BYTES_MAX = 100;

/** The folder cannot be trusted with a socket. */
export class UnsafeFolder extends Error {
  override readonly name = "UnsafeFolder";
}

/**
 * A short private folder for the sockets of one data directory: sockets lie apart from the run
 * folders because their paths have a limit. It lies in /tmp, and in `runtimeFolder`
 * (XDG_RUNTIME_DIR) only where /tmp will not do: that one vanishes when its user logs out, and a
 * run must not. Made if it is not there, and refused if anybody else could have a hand in it.
 * Returns its path.
 */
export function socketFolder(
  dataFolder: string,
  runtimeFolder: string | undefined,
  temporaryFolder = "/tmp",
): string {
  const { uid } = userInfo();
  const hash = shortHash(resolve(dataFolder));
  const candidates = [
    join(temporaryFolder, `nigari-${uid}-${hash}`),
    ...(runtimeFolder === undefined ? [] : [join(runtimeFolder, `nigari-${hash}`)]),
  ];
  let refused: unknown;
  for (const folder of candidates) {
    try {
      if (Buffer.byteLength(socketPath(folder, "")) > PATH_BYTES_MAX) {
        throw new UnsafeFolder(`Folder ${folder} has too long a name for sockets`);
      }
      return madeSafe(folder, uid);
    } catch (error) {
      refused ??= error;
    }
  }
  throw refused;
}

/** Path of a run's socket. */
export function socketPath(folder: string, runId: string): string {
  return join(folder, `${shortHash(runId)}.sock`);
}

function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

function madeSafe(folder: string, uid: number): string {
  // Followed if it is a link, as /tmp is on macOS: where it leads is what counts.
  const parent = statSync(dirname(folder));
  // In a folder that others may write, only the sticky bit keeps them from renaming ours away.
  const othersMayRename = (parent.mode & 0o022) !== 0 && (parent.mode & 0o1000) === 0;
  if (!parent.isDirectory() || othersMayRename || ![0, uid].includes(parent.uid)) {
    throw new UnsafeFolder(`Folder ${dirname(folder)} is not safe to make a socket folder in`);
  }
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  // Looked at without following links: what is there may be somebody's trap.
  assertPrivate(folder, lstatSync(folder), uid);
  return folder;
}

/** Fails unless this is a folder, not a link to one, of this user and closed to all others. */
export function assertPrivate(folder: string, stats: Stats, uid: number): void {
  const why = !stats.isDirectory()
    ? "is no folder"
    : stats.uid !== uid
      ? `belongs to user ${stats.uid}`
      : (stats.mode & 0o077) !== 0
        ? "is open to others"
        : undefined;
  if (why !== undefined) {
    throw new UnsafeFolder(`Folder ${folder} ${why}; remove it, it is made anew`);
  }
}
