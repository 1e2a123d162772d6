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

/** One hierarchy for all controllers (cgroup v2), or one for each (v1). */
const unified = existsSync(join(ROOT, "cgroup.controllers"));
/** The one in which processes are found and stopped. */
const FREEZER = unified ? ROOT : join(ROOT, "freezer");

/** Folders of the hierarchies that this machine has, each of which a node gets a branch of. */
export function hierarchies(): string[] {
  if (unified) return [ROOT];
  const known = ["cpu cpuacct cpuset memory devices freezer blkio", "pids systemd hugetlb net_cls"];
  const folders = [...known, "net_prio perf_event"].join(" ").split(" ");
  return folders.map((name) => join(ROOT, name)).filter((folder) => existsSync(folder));
}

/** Makes a group, by its path, in every hierarchy. */
export function makeCgroup(path: string): void {
  for (const hierarchy of hierarchies()) {
    mkdirSync(join(hierarchy, path), { recursive: true });
    if (unified) handDown(path);
    if (hierarchy.endsWith("/cpuset")) fillCpuset(hierarchy, path);
  }
}

/** With v2 a group has the controllers that each one above it hands down. */
function handDown(path: string): void {
  let folder = ROOT;
  for (const part of path.split("/")) {
    const controllers = readFileSync(join(folder, "cgroup.controllers"), "utf8").trim().split(" ");
    const wanted = controllers.map((name) => `+${name}`).join(" ");
    writeFileSync(join(folder, "cgroup.subtree_control"), wanted);
    folder = join(folder, part);
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
  // A machine with v1 often has v2 beside it, without controllers, and runc makes groups there too.
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
  const folder = join(FREEZER, path);
  await until(`${path} to be ${frozen ? "frozen" : "thawed"}`, END_LIMIT_MS, async () => {
    // A process that is being started meanwhile may need the order twice.
    orderFrozen(folder, frozen);
    if (isFrozen(folder) === frozen) return true;
    await pause(20);
    return undefined;
  });
}

function orderFrozen(folder: string, frozen: boolean): void {
  if (unified) writeFileSync(join(folder, "cgroup.freeze"), frozen ? "1" : "0");
  else writeFileSync(join(folder, "freezer.state"), frozen ? "FROZEN" : "THAWED");
}

/** Undefined on the way. */
function isFrozen(folder: string): boolean | undefined {
  if (unified) return readFileSync(join(folder, "cgroup.events"), "utf8").includes("frozen 1");
  const state = readFileSync(join(folder, "freezer.state"), "utf8").trim();
  return state === "FREEZING" ? undefined : state === "FROZEN";
}

/** Thaws a group and all groups below it, for what is frozen does not even die. */
export function thawTree(path: string): void {
  const thaw = (folder: string) => {
    try {
      orderFrozen(folder, false);
    } catch {
      return;
    }
    for (const child of childrenOf(folder)) thaw(child);
  };
  thaw(join(FREEZER, path));
}

/** Pids, as the host counts, of a group and of all below it. */
export function processesOf(path: string): number[] {
  const pids = (folder: string): number[] => {
    const own = pidsIn(join(folder, "cgroup.procs"));
    return [...own, ...childrenOf(folder).flatMap(pids)];
  };
  return pids(join(FREEZER, path));
}

/** Path of the group with this name somewhere below another. */
export function findCgroup(below: string, name: string): string | undefined {
  for (const child of childrenOf(join(FREEZER, below))) {
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
