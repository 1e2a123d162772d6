import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { offences } from "./fence.ts";
import { sourceFiles } from "./imports.ts";

const root = join(import.meta.dirname, "../..");

test("no import crosses a fence", () => {
  expect(offences(root)).toEqual([]);
});

test("there are sources to judge", () => {
  expect(sourceFiles(root, "src").length).toBeGreaterThan(10);
});

describe("the fence itself", () => {
  const scratch = mkdtempSync(join(tmpdir(), "nigari-rooms-"));
  afterAll(() => rmSync(scratch, { recursive: true }));

  const cases: Record<string, { path: string; text: string; offends: boolean }> = {
    "domain may use api": {
      path: "src/domain/a.ts",
      text: 'import type { X } from "../api/x.ts";',
      offends: false,
    },
    "domain must not reach a port, not even for a type": {
      path: "src/domain/a.ts",
      text: 'import type { X } from "../ports/x.ts";',
      offends: true,
    },
    "domain must not read files": {
      path: "src/domain/a.ts",
      text: 'import { readFileSync } from "node:fs";',
      offends: true,
    },
    "the engine must not know an adapter, also when it is loaded late": {
      path: "src/engine/a.ts",
      text: 'const x = await import("../adapters/sqlite/store.ts");',
      offends: true,
    },
    "the runner must not know the engine": {
      path: "src/runner/a.ts",
      text: 'import {\n  x,\n} from "../engine/x.ts";',
      offends: true,
    },
    "one adapter must not lean on another": {
      path: "src/adapters/git/a.ts",
      text: 'export { x } from "../sqlite/x.ts";',
      offends: true,
    },
    "a package must be on the room's list": {
      path: "src/engine/a.ts",
      text: 'import { Hono } from "hono";',
      offends: true,
    },
    "main is imported by nobody": {
      path: "src/cli/a.ts",
      text: 'import "../main/cli.ts";',
      offends: true,
    },
    "a folder that is no room is named": {
      path: "src/helpers/a.ts",
      text: "export const x = 1;",
      offends: true,
    },
  };
  test.each(Object.entries(cases))("%s", (name, { path, text, offends }) => {
    const tree = join(scratch, name.replaceAll(/\W/g, "-"));
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), `${text}\n`);
    expect(existsSync(join(tree, path))).toBe(true);
    expect(offences(tree).length > 0).toBe(offends);
  });
});
