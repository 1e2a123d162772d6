import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { recognizers } from "../../src/recognizers/index.ts";
import { pointer, runbookFiles } from "../../src/render/runbook.ts";

const root = join(import.meta.dirname, "../..");
const mend = 'run "npm run generate" and commit what it writes';

test("docs/runbook and AGENTS.md say what the recognizers declare", () => {
  for (const { path, text } of runbookFiles(recognizers)) {
    expect(read(join("docs/runbook", path)) === text, `${path} is old: ${mend}`).toBe(true);
  }
  const known = pointer(recognizers, "docs/runbook/troubleshooting.md");
  expect(read("AGENTS.md")?.includes(known), `the pointer in AGENTS.md is old: ${mend}`).toBe(true);
});

function read(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), "utf8");
  } catch {
    return undefined;
  }
}
