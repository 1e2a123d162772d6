import { type Import, importsOf, sourceFiles } from "./imports.ts";
import { type Room, rooms } from "./rooms.ts";

/** The room a file below src/ belongs to: the longest row that its path begins with. */
export function roomOf(path: string): string | undefined {
  const inner = path.replace(/^src\//, "");
  return Object.keys(rooms)
    .filter((room) => inner.startsWith(`${room}/`))
    .sort((a, b) => b.length - a.length)[0];
}

/** Why this import may not be, or undefined if it may. */
export function offence(found: Import, room: string, row: Room): string | undefined {
  const where = `${found.from} imports "${found.specifier}"`;
  if (found.target !== undefined) {
    const other = roomOf(found.target);
    if (!found.target.startsWith("src/")) return `${where}: outside src/`;
    if (other === undefined) return `${where}: in no room`;
    if (other === room || row.rooms.includes(other)) return undefined;
    return `${where}: room "${room}" may not import from "${other}"`;
  }
  if (found.specifier.startsWith("node:")) {
    const allowed = row.builtins.includes("*") || row.builtins.includes(found.specifier);
    return allowed || found.typeOnly ? undefined : `${where}: no such built-in for "${room}"`;
  }
  const name = found.specifier.startsWith("@")
    ? found.specifier.split("/").slice(0, 2).join("/")
    : found.specifier.split("/")[0];
  if (row.packages.includes(name ?? "")) return undefined;
  return `${where}: room "${room}" may not use package "${name}"`;
}

/** Every import below src/ of the tree at `root` that breaks the table; tests may import more. */
export function offences(root: string): string[] {
  const found: string[] = [];
  for (const path of sourceFiles(root, "src")) {
    const room = roomOf(path);
    const row = room === undefined ? undefined : rooms[room];
    if (room === undefined || row === undefined) {
      found.push(`${path}: lies in no room; add it to tools/check/rooms.ts`);
      continue;
    }
    if (path.endsWith(".test.ts")) continue;
    for (const each of importsOf(root, path)) {
      const why = offence(each, room, row);
      if (why !== undefined) found.push(why);
    }
  }
  return found;
}
