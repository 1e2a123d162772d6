import { chmodSync, mkdirSync, statSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";

import { CliError, EXIT } from "../cli/world.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The data directory: the flag, NIGARI_DATA_DIR, or the user's own place for state. */
export function dataDirOf(flag: string | undefined, env: Environment): string {
  const named = flag ?? env.NIGARI_DATA_DIR;
  if (named !== undefined && named !== "") return resolve(named);
  const base = absolute(env.XDG_STATE_HOME) ?? join(home(env), ".local/state");
  return join(base, "nigari");
}

/** A variable that is empty, or names a place that depends on where one stands, names none. */
function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

function home(env: Environment): string {
  // homedir() itself believes HOME, also an empty one.
  const found = absolute(env.HOME) ?? absolute(homedir()) ?? absolute(userInfo().homedir);
  if (found !== undefined) return found;
  throw new CliError(EXIT.usage, "HOME is not set; name a data directory with --data-dir");
}

/** Makes the folder, for its owner alone, and sees that it stays so. Fails with CliError. */
export function makePrivate(folder: string): void {
  try {
    makeFolder(folder);
    if ((statSync(folder).mode & 0o777) !== 0o700) chmodSync(folder, 0o700);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const why = unusable[code] ?? (error instanceof Error ? error.message : String(error));
    const mend = "choose another with --data-dir";
    throw new CliError(EXIT.unreachable, `Data directory ${folder} ${why}; ${mend}`, {
      cause: error,
    });
  }
}

/**
 * Makes it and what lacks above it. Node's own recursion never ends where a folder cannot be made
 * in one that exists (/proc, automounted homes), and hides why on a read-only file system.
 */
function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  const parent = dirname(folder);
  if (statSync(parent, { throwIfNoEntry: false }) === undefined) makeFolder(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another engine may have made it in the same moment.
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

const unusable: { readonly [code: string]: string } = {
  EACCES: "belongs to somebody else",
  EPERM: "belongs to somebody else",
  EEXIST: "is a file",
  ENOENT: "cannot be made there",
  ENOTDIR: "lies below a file",
  EROFS: "lies on a read-only file system",
  ENOSPC: "cannot be made, for the disk is full",
};
