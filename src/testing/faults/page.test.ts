import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { expected, faults, stages } from "./cells.ts";
import { faultsPage } from "./page.ts";

const root = join(import.meta.dirname, "../../..");

test("docs/faults.md is the page that the cells make", () => {
  expect(readFileSync(join(root, "docs/faults.md"), "utf8")).toBe(faultsPage());
});

test("every cell has an end, or a reason why it cannot be", () => {
  for (const stage of stages) {
    for (const fault of faults) {
      const what = expected(stage, fault);
      expect(what.is === "impossible" ? what.why : what.then).not.toBe("");
    }
  }
});
