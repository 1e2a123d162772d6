import { expect, test } from "vitest";
import { fieldRules } from "../../domain/fields.ts";
import { specOfSeed, trySpec } from "./specs.ts";

const seeds = Array.from({ length: 160 }, (_, index) => index + 1);

test("whatever a spec says, its object says how it stands", async () => {
  const results = [];
  for (const seed of seeds) results.push(await trySpec(seed));
  const failed = results.filter(({ violations }) => violations.length > 0);
  expect(failed).toEqual([]);
  const ends = new Set(results.map(({ ready }) => ready.split(":")[0]));
  // Otherwise the specs are all of one kind, and the test shows little.
  expect(ends.size).toBeGreaterThan(5);
}, 120_000);

test("every field is written in some spec", () => {
  const used = new Set(seeds.flatMap((seed) => Object.keys(specOfSeed(seed))));
  expect(Object.keys(fieldRules).filter((name) => !used.has(name))).toEqual([]);
});
