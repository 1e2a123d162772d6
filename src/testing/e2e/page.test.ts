import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { clusterFaultsPage } from "./page.ts";

test("the page of faults in a cluster is what the table says", () => {
  const path = join(import.meta.dirname, "../../../docs/faults-kubernetes.md");
  expect(readFileSync(path, "utf8"), "npm run e2e:faults writes it").toBe(clusterFaultsPage());
});
