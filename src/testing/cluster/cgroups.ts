import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { pause, until } from "./commands.ts";

const ROOT = "/sys/fs/cgroup";
const END_LIMIT_MS = 10_000;

/** Folders of the hierarchies that this machine has, each of which a node gets a branch of. */
export function hierarchies(): string[] {
  const known = ["cpu cpuacct cpuset memory devices freezer blkio", "pids systemd hugetlb net_cls"];
  const folders = [...known, "net_prio perf_event"].join(" ").split(" ");
  return folders.map((name) => join(ROOT, name)).filter((folder) => existsSync(folder));
}

/** Makes a group, by its path, in every hierarchy. */
export function makeCgroup(path: string): void {
  for (const hierarchy of hierarchies()) {
    mkdirSync(join(hierarchy, path), { recursive: true });
    if (hierarchy.endsWith("/cpuset")) fillCpuset(hierarchy, path);
  }
}

/** A new cpuset is empty and takes no process until it has what its parent has, top down. */
function fillCpuset(hierarchy: string, path: string): void {
  let folder = hierarchy;
  for (const part of path.split("/")) {
    for (const file of ["cpuset.cpus", "cpuset.mems"]) {
      const own = join(folder, part, file);
      if (readFileSync(own, "utf8").trim() !== "") continue;
      writeFileSync(own, readFileSync(join(folder, file), "utf8"));
    }
    folder = join(folder, part);
  }
}

/** Removes a group and all below it; waits for processes that are just ending. */
export async function removeCgroup(path: string): Promise<void> {
  for (const hierarchy of [...hierarchies(), join(ROOT, "unified")]) {
    await until(`the end of what runs in ${join(hierarchy, path)}`, END_LIMIT_MS, async () => {
      removeTree(join(hierarchy, path));
      return existsSync(join(hierarchy, path)) ? undefined : true;
    });
  }
}

function removeTree(folder: string): void {
  for (const child of childrenOf(folder)) removeTree(child);
  try {
    rmdirSync(folder);
  } catch {
    // Not there, or a process in it has not quite ended.
  }
}

/** Stops every process of a group where it is, or lets them go on. Resolves when it is so. */
export async function setFrozen(path: string, frozen: boolean): Promise<void> {
  const file = join(ROOT, "freezer", path, "freezer.state");
  const wanted = frozen ? "FROZEN" : "THAWED";
  await until(`${path} to be ${wanted.toLowerCase()}`, END_LIMIT_MS, async () => {
    // A process that is being started meanwhile may need the order twice.
    writeFileSync(file, wanted);
    if (readFileSync(file, "utf8").trim() === wanted) return true;
    await pause(20);
    return undefined;
  });
}

/** Thaws a group and all groups below it, for what is frozen does not even die. */
export function thawTree(path: string): void {
  const thaw = (folder: string) => {
    try {
      writeFileSync(join(folder, "freezer.state"), "THAWED");
    } catch {
      return;
    }
    for (const child of childrenOf(folder)) thaw(child);
  };
  thaw(join(ROOT, "freezer", path));
}

/** Pids, as the host counts, of a group and of all below it. */
export function processesOf(path: string): number[] {
  const pids = (folder: string): number[] => {
    const own = pidsIn(join(folder, "cgroup.procs"));
    return [...own, ...childrenOf(folder).flatMap(pids)];
  };
  return pids(join(ROOT, "freezer", path));
}

/** Path of the group with this name somewhere below another. */
export function findCgroup(below: string, name: string): string | undefined {
  for (const child of childrenOf(join(ROOT, "freezer", below))) {
    const path = join(below, child.slice(child.lastIndexOf("/") + 1));
    if (path.endsWith(`/${name}`)) return path;
    const found = findCgroup(path, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function childrenOf(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((each) => each.isDirectory()).map(({ name }) => join(folder, name));
  } catch {
    return [];
  }
}

function pidsIn(file: string): number[] {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
