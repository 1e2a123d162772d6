import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fieldRules } from "../../src/domain/fields.ts";
import { controllerUnits, type Held, numbered, others, upstreamNumbers } from "./index.ts";
import { findTest } from "./titles.ts";

const all: Readonly<Record<string, Held>> = { ...numbered, ...controllerUnits, ...others };

describe("upstream's cases", () => {
  test("have each a row in the table, and the table has no others", () => {
    const told = new Set(Object.keys(numbered).map((name) => name.slice(0, 6)));
    expect([...told].sort()).toEqual([...upstreamNumbers].sort());
  });

  const tested = Object.entries(all).flatMap(([name, held]) =>
    "test" in held ? [[name, held.test] as const] : [],
  );
  test.each(tested)("%s is held by %s", (_name, named) => {
    expect(findTest(named)).toBe("found");
  });

  const refused = Object.entries(all).flatMap(([name, held]) =>
    "without" in held && held.without === "not obeyed" ? [[name, held.because] as const] : [],
  );
  test.each(refused)("%s waits for %s, which is refused as yet", (_name, because) => {
    const [, field] = /^spec\.(\w+)/.exec(because) ?? [];
    const rule = (fieldRules as Readonly<Record<string, unknown>>)[field ?? ""];
    expect(rule).toMatchObject({ mend: expect.any(String) });
  });

  test("of a number that stands in a title here are in the table", () => {
    const titles = readdirSync(import.meta.dirname)
      .filter((name) => name.endsWith(".test.ts"))
      .flatMap(
        (name) => readFileSync(join(import.meta.dirname, name), "utf8").match(/\b0\d{5}\b/g) ?? [],
      );
    expect([...new Set(titles)].filter((number) => !upstreamNumbers.includes(number))).toEqual([]);
    const rows = new Set(tested.map(([name]) => name.slice(0, 6)));
    const here = upstreamNumbers.filter((number) => titles.includes(number));
    expect(here.filter((number) => !rows.has(number))).toEqual([]);
  });
});
