import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import type { KindName } from "../../api/kinds.ts";
import type { EngineWorld } from "./engine-world.ts";
import { SECRET } from "./estate.ts";

/** Where the value of a Secret object lies by right: its row, and the states that hold it. */
const RIGHTFUL = /^(nigari\.db(-wal|-shm)?$|states\/)/;
/** A run that goes on is told its secrets; its folder goes with it. */
const UNDER_WAY = /^runs\//;

/**
 * Places where a secret lies that must not: in any file of the data directory, in the engine's
 * log, in any object but Secrets. A password of the state door may lie nowhere at all.
 */
export async function leaksOf(world: EngineWorld): Promise<string[]> {
  const leaks: string[] = [];
  const values = formsOf(SECRET);
  const passwords = world.traces.passwords.flatMap(formsOf);
  for (const path of filesIn(world.dataDir)) {
    const name = relative(world.dataDir, path);
    if (UNDER_WAY.test(name)) continue;
    const content = contentOf(path);
    const forbidden = RIGHTFUL.test(name) ? passwords : [...values, ...passwords];
    if (forbidden.some((value) => content.includes(value))) leaks.push(name);
  }
  if ([...values, ...passwords].some((value) => world.said().includes(value))) {
    leaks.push(`the engine's log: ${basename(world.engineLog)}`);
  }
  const kinds: KindName[] = ["Terraform", "GitRepository", "ConfigMap", "Event", "Lease"];
  for (const kind of kinds) {
    for (const object of (await world.client.store.list(kind, {}, world.call())).items) {
      const text = JSON.stringify(object);
      if (values.some((value) => text.includes(value))) {
        leaks.push(`${kind} ${object.metadata.name}`);
      }
    }
  }
  return leaks;
}

/** Files and folders of the data directory that anybody but their owner may open. */
export function openToOthers(world: EngineWorld): string[] {
  const open: string[] = [];
  for (const path of [world.dataDir, ...entriesIn(world.dataDir)]) {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined || found.isSymbolicLink() || (found.mode & 0o077) === 0) continue;
    open.push(`${relative(world.dataDir, path)} ${(found.mode & 0o777).toString(8)}`);
  }
  return open;
}

/** Empty for a file that went away meanwhile. */
function contentOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0);
  }
}

/** The value, and what base64 makes of it wherever it stands in something longer. */
function formsOf(value: string): string[] {
  const inside = [0, 1, 2].map((before) => {
    const text = Buffer.from(`${" ".repeat(before)}${value}`).toString("base64");
    return text.replace(/=+$/, "").slice(before === 0 ? 0 : 4, -4);
  });
  return [value, ...inside];
}

function entriesIn(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
  return entries.map((entry) => join(entry.parentPath, entry.name));
}

function filesIn(folder: string): string[] {
  return entriesIn(folder).filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isFile());
}
