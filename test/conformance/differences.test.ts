import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findTest } from "./titles.ts";

// docs/differences.md says what became of every defect seen in upstream's code, and names the test.

const DEFECTS = 82;
const page = readFileSync(join(import.meta.dirname, "../../docs/differences.md"), "utf8");
const rows = page
  .split("\n")
  .filter((line) => /^\| D\d+ /.test(line))
  .map((line) => {
    const [, number = "", upstream = "", nigari = "", held = ""] = line
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim());
    return { number, upstream, nigari, held };
  });

describe("docs/differences.md", () => {
  test("has a row for every defect, in their order", () => {
    const wanted = Array.from({ length: DEFECTS }, (_, index) => `D${index + 1}`);
    expect(rows.map(({ number }) => number)).toEqual(wanted);
    expect(rows.filter(({ upstream, nigari }) => upstream === "" || nigari === "")).toEqual([]);
  });

  const held = rows.filter((row) => row.nigari !== "No such part");
  test.each(held.map((row) => [row.number, row.held] as const))("%s is held by %s", (_, cell) => {
    expect(findTest(/^`(.+)`$/.exec(cell)?.[1] ?? cell)).toBe("found");
  });

  test("names no test for what is not there", () => {
    const absent = rows.filter((row) => row.nigari === "No such part");
    expect(absent.filter((row) => row.held !== "—")).toEqual([]);
    expect(absent.length).toBeLessThan(15);
  });
});

test("a title is only found where a test begins with it", () => {
  const file = "test/conformance/differences.test.ts";
  expect(findTest(`${file}: a title is only found`)).toBe("found");
  expect(findTest(`${file}: title is only found`)).toMatch(/has no test that begins/);
  expect(findTest("test/none.test.ts: a")).toBe("there is no file test/none.test.ts");
  expect(findTest(file)).toMatch(/names no title/);
});
