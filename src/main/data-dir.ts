import { chmodSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** The data directory: the flag, NIGARI_DATA_DIR, or the user's own place for state. */
export function dataDirOf(flag: string | undefined, env: Environment): string {
  const named = flag ?? env.NIGARI_DATA_DIR;
  if (named !== undefined && named !== "") return resolve(named);
  const base = env.XDG_STATE_HOME ?? join(env.HOME ?? homedir(), ".local/state");
  return join(base, "nigari");
}

/** Makes the folder, for its owner alone, and sees that it stays so. */
export function makePrivate(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
}
