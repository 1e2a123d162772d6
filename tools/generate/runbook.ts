import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { recognizers } from "../../src/recognizers/index.ts";
import { putBlock } from "../../src/render/block.ts";
import { PAGE_MARK, pointer, runbookFiles } from "../../src/render/runbook.ts";

const root = join(import.meta.dirname, "../..");
const folder = join(root, "docs/runbook");

/** Writes docs/runbook and the pointer in AGENTS.md from the recognizers. */
export function generateRunbook(): void {
  const files = runbookFiles(recognizers);
  const known = new Set(files.map(({ path }) => join(folder, path)));
  mkdirSync(folder, { recursive: true });
  for (const entry of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const file = join(folder, entry);
    if (!file.endsWith(".md") || known.has(file)) continue;
    if (readFileSync(file, "utf8").startsWith(PAGE_MARK)) rmSync(file);
  }
  for (const { path, text } of files) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const agents = join(root, "AGENTS.md");
  const link = "docs/runbook/troubleshooting.md";
  const now = readFileSync(agents, "utf8");
  writeFileSync(agents, putBlock(now, "pointer", pointer(recognizers, link), ""));
}
