import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Folder of Nigari's package.json, in a checkout and in the installed package alike: bundling
 * moves code to files of its own choosing, so the folder is looked for and not counted off.
 */
export function packageRoot(): string {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    if (readManifest(folder)?.name === "nigari") return folder;
    if (folder === dirname(folder)) {
      throw new Error(`No package.json of Nigari above ${import.meta.dirname}`);
    }
  }
}

/** The version in package.json: "0.1.0". */
export function packageVersion(): string {
  return readManifest(packageRoot())?.version ?? "0.0.0";
}

/** File to hand to Node to start one of Nigari's programs: a source in a checkout, or a bundle. */
export function programFile(name: "cli" | "runner"): string {
  const folder = packageRoot();
  return import.meta.filename.endsWith(".ts")
    ? join(folder, "src/main", `${name}.ts`)
    : join(folder, "dist", `${name}.js`);
}

function readManifest(folder: string): { name?: string; version?: string } | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  } catch {
    return undefined;
  }
}
