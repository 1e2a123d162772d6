import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Runs a command with the rights of root. Fails where neither we nor sudo without a word may. */
export function asRoot(...command: string[]): void {
  const [program = "", ...args] = process.getuid?.() === 0 ? command : ["sudo", "-n", ...command];
  execFileSync(program, args, { stdio: "pipe" });
}

/** A file system in memory, of our own user. */
export function mountMemory(folder: string, mib: number): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, gid } = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const options = `size=${mib}m,mode=0700,uid=${uid},gid=${gid}`;
  asRoot("mount", "-t", "tmpfs", "-o", options, "nigari-faults", folder);
}

/** Whether a file system can be mounted here. */
export function canMount(): boolean {
  if (process.platform !== "linux") return false;
  const folder = join("/tmp", `nigari-mount-${process.pid}`);
  try {
    mountMemory(folder, 1);
    asRoot("umount", folder);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
