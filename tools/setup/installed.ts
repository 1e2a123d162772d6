import { readFileSync } from "node:fs";
import { join } from "node:path";

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly os?: string | readonly string[];
  readonly cpu?: string | readonly string[];
  readonly libc?: string | readonly string[];
}

/**
 * Packages of package-lock.json that node_modules lacks or has otherwise, as paths below `root`;
 * undefined if npm never installed here. Judged by npm's record and the packages' own versions and
 * not by time stamps: a copied or linked node_modules is as good as a fresh one. The record alone
 * will not do, for "npm install --package-lock-only" writes it without installing.
 */
export function stale(root: string): string[] | undefined {
  const wanted = packages(join(root, "package-lock.json"));
  const installed = packages(join(root, "node_modules/.package-lock.json"));
  if (wanted === undefined || installed === undefined) return undefined;
  return Object.entries(wanted)
    .filter(([path]) => path !== "")
    .filter(([path, want]) => {
      const have = installed[path];
      if (have === undefined) return isNeeded(want);
      const same = have.version === want.version && have.integrity === want.integrity;
      return !same || versionOnDisk(join(root, path)) !== want.version;
    })
    .map(([path]) => path);
}

function packages(file: string): Record<string, Locked> | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")).packages;
  } catch {
    return undefined;
  }
}

function versionOnDisk(folder: string): string | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version;
  } catch {
    return undefined;
  }
}

/** npm leaves out optional packages that are for other machines. */
function isNeeded({ optional, os, cpu, libc }: Locked): boolean {
  if (optional !== true) return true;
  if (os === undefined || cpu === undefined || libc !== undefined) return false;
  return [os].flat().includes(process.platform) && [cpu].flat().includes(process.arch);
}
