import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/**
 * Whether a test that is named as `file: title` exists. The title is the beginning of that of a
 * test, of a group, or of a row in a table of tests.
 */
export function findTest(named: string): "found" | string {
  const [file = "", ...rest] = named.split(": ");
  const title = rest.join(": ");
  if (title === "") return `"${named}" names no title`;
  const path = join(root, file);
  if (!existsSync(path)) return `there is no file ${file}`;
  return titlesIn(readFileSync(path, "utf8")).some((each) => each.startsWith(title))
    ? "found"
    : `${file} has no test that begins with "${title}"`;
}

/** Titles of tests and groups, and the keys of their tables, which become titles. */
export function titlesIn(text: string): string[] {
  const called =
    /\b(?:test|describe|it)(?:\.\w+(?:\([^"`]*?\))?)*\(\s*(?:"((?:[^"\\]|\\.)*)"|`([^`]*)`)/gs;
  const keyed = /^\s+(?:"((?:[^"\\]|\\.)*)"|([a-z]\w*)):\s/gm;
  return [...text.matchAll(called), ...text.matchAll(keyed)].map(
    ([, one, two]) => one ?? two ?? "",
  );
}
