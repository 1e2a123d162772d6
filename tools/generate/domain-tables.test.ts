import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { domainPages } from "./domain-tables.ts";

const root = join(import.meta.dirname, "../..");

test.each(domainPages())("$path says what the tables say", ({ path, text }) => {
  const old = `${path} is old: run "npm run generate" and commit what it writes`;
  expect(readFileSync(join(root, path), "utf8") === text, old).toBe(true);
});
