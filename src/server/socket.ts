import { createHash } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { dirname, join, resolve } from "node:path";

/** The kernel takes 104 (macOS) or 108 bytes for the path of a Unix socket. */
const PATH_BYTES_MAX = 100;

/**
 * Where the engine of a data directory listens: in the directory itself, or, if that path is too
 * long for a socket, in a folder of this user for temporary files. Client and server reckon alike.
 */
export function engineSocketPath(dataDir: string, folderForLong: string = tmpdir()): string {
  const path = join(resolve(dataDir), "engine", "socket");
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return path;
  const name = createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 16);
  return join(folderForLong, `nigari-${userInfo().uid}`, `${name}.sock`);
}

/**
 * Makes the socket's folder and sees that it is this user's alone: a folder in /tmp may have been
 * made by somebody else, who would then serve our people.
 */
export function prepareSocketFolder(socket: string): void {
  const folder = dirname(socket);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  refuseForeignFolder(socket);
  chmodSync(folder, 0o700);
}

/** Throws if the socket's folder is there and is not this user's. */
export function refuseForeignFolder(socket: string): void {
  const folder = dirname(socket);
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined || (found.isDirectory() && found.uid === userInfo().uid)) return;
  throw new Error(`Folder ${folder} of the engine's socket is not yours; remove it and try again`);
}
