import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import { run } from "./commands.ts";

type Item = Readonly<Record<string, unknown>>;

/**
 * Takes the definitions of Flux' source kinds out of the very module that the program which serves
 * them is built from, once for each of its versions.
 */
export function takeDefinitions(bin: string, root: string, version: string): void {
  const folder = folderOf(bin);
  if (versionIn(folder) === version) return;
  const module = "github.com/fluxcd/source-controller";
  const at = join(root, "tools/cluster/source-controller");
  run("go", "-C", at, "mod", "download", module);
  const source = run("go", "-C", at, "list", "-m", "-f", "{{.Dir}}", module).trim();
  const making = `${folder}.making-${process.pid}`;
  mkdirSync(dirname(folder), { recursive: true });
  cpSync(join(source, "config/crd/bases"), making, { recursive: true });
  writeFileSync(join(making, "version"), version);
  rmSync(folder, { recursive: true, force: true });
  renameSync(making, folder);
}

/** The definitions as objects; none if they were not taken yet. */
export function sourceDefinitions(bin: string): Item[] {
  const folder = folderOf(bin);
  if (versionIn(folder) === undefined) return [];
  const files = readdirSync(folder).filter((file) => file.endsWith(".yaml"));
  return files.map((file) => parse(readFileSync(join(folder, file), "utf8")) as Item);
}

function folderOf(bin: string): string {
  return join(bin, "../definitions/source-controller");
}

function versionIn(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, "version"), "utf8");
  } catch {
    return undefined;
  }
}
