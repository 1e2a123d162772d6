import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";

export interface Import {
  /** File that imports, relative to the root, with forward slashes. */
  readonly from: string;
  /** What the import statement says. */
  readonly specifier: string;
  /** Target file relative to the root, for relative imports. */
  readonly target: string | undefined;
  /** `import type`: vanishes before anything runs. */
  readonly typeOnly: boolean;
}

/** Every .ts file below `folder` of the tree at `root`, relative to `root`, sorted. */
export function sourceFiles(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .filter((path) => !path.includes("/generated/"))
    .sort();
}

const STATIC = /(?:^|\n)\s*(?:import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?["']([^"'\n]+)["']/g;
const DYNAMIC = /\bimport\(\s*["']([^"'\n]+)["']\s*\)/g;
/** A program that is started as a thread of its own. */
const THREAD = /\bnew URL\(\s*"([^"\n]+\.ts)",\s*import\.meta\.url\s*\)/g;

/** The imports of one file, static and dynamic. A string that looks like one counts too. */
export function importsOf(root: string, from: string): Import[] {
  const text = readFileSync(join(root, from), "utf8");
  const found = [
    ...[...text.matchAll(STATIC)].map((match) => ({ type: match[1], specifier: match[2] ?? "" })),
    ...[...text.matchAll(DYNAMIC)].map((match) => ({ type: undefined, specifier: match[1] ?? "" })),
    ...[...text.matchAll(THREAD)].map((match) => ({ type: undefined, specifier: match[1] ?? "" })),
  ];
  return found.map(({ type, specifier }) => ({
    from,
    specifier,
    typeOnly: type !== undefined,
    target: specifier.startsWith(".")
      ? normalize(join(dirname(from), specifier)).replaceAll("\\", "/")
      : undefined,
  }));
}
