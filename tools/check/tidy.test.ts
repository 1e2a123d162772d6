import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { roomOf } from "./fence.ts";
import { importsOf, sourceFiles } from "./imports.ts";

const root = join(import.meta.dirname, "../..");
const all = ["src", "tools", "test"].flatMap((folder) => sourceFiles(root, folder));
const product = all.filter((path) => path.startsWith("src/") && !path.endsWith(".test.ts"));

/** Calls that have one home, what to use instead, and the rooms that are that home. */
const banned: { call: RegExp; instead: string; home: (room: string) => boolean }[] = [
  {
    call: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(/,
    instead: "the Clock port",
    home: (room) => ["adapters/system", "main", "testing", "runner", "processes"].includes(room),
  },
  {
    call: /\bMath\.random\(/,
    instead: "the Random port (seeded in simulation)",
    home: (room) => ["adapters/system", "testing"].includes(room),
  },
  {
    call: /\bprocess\.env\b/,
    instead: "a value that main hands in",
    home: (room) => ["main", "testing"].includes(room),
  },
  {
    call: /\bsetTimeout\(|\bsetInterval\(|node:timers/,
    instead: "Clock.sleep, which has a cancel",
    home: (room) => /^(adapters|main|testing|runner|processes|protocol)/.test(room),
  },
  {
    call: /from "node:child_process"/,
    instead: "src/processes",
    home: (room) => ["processes", "main", "testing"].includes(room),
  },
];

describe("house rules", () => {
  test("no line is longer than 100 columns", () => {
    const long = all.flatMap((path) =>
      readFileSync(join(root, path), "utf8")
        .split("\n")
        .flatMap((line, index) =>
          [...line].length > 100 && !line.includes("http") ? [`${path}:${index + 1}`] : [],
        ),
    );
    expect(long).toEqual([]);
  });

  test("no work is left as a note in the code", () => {
    const marks = new RegExp(
      `\\b(${["FIX", "ME"].join("")}|${["TO", "DO"].join("")}|${["X", "XX"].join("")})\\b`,
    );
    const left = all.filter((path) => marks.test(readFileSync(join(root, path), "utf8")));
    expect(left).toEqual([]);
  });

  test.each(banned)("$instead stands in for $call", ({ call, instead, home }) => {
    const found = product.filter(
      (path) => !home(roomOf(path) ?? "") && call.test(readFileSync(join(root, path), "utf8")),
    );
    expect(found, `use ${instead}`).toEqual([]);
  });

  test("a suppression gives its reason", () => {
    const bare = all.filter(
      (path) =>
        /biome-ignore [\w/]+\s*(:\s*)?$|@ts-ignore|@ts-nocheck|@ts-expect-error\s*$/m.test(
          readFileSync(join(root, path), "utf8").replace(/^.*biome-ignore \[.*$/gm, ""),
        ) && !path.endsWith("tidy.test.ts"),
    );
    expect(bare).toEqual([]);
  });

  test("no file is dead: each is imported, a test, or an entry point", () => {
    const imported = new Set(
      all.flatMap((path) => importsOf(root, path).flatMap((each) => each.target ?? [])),
    );
    // Kinds, contracts and pure facts are imported for their types alone by what comes later.
    const types = /^src\/(api|ports|protocol|domain|evidence|recognizers)\//;
    const entry = (path: string) =>
      types.test(path) || /\.test\.ts$|^src\/main\/|^tools\/(?!check\/)|^test\//.test(path);
    expect(product.filter((path) => !entry(path) && !imported.has(path))).toEqual([]);
  });
});
