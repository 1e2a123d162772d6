import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeWorld } from "./generate.ts";
import { scoreSeeds, scoreWorld } from "./score.ts";
import { type Thinning, thinned, thinnings } from "./thin.ts";

const folder = import.meta.dirname;

const seeds = Array.from({ length: 60 }, (_, index) => index + 1);

describe("the doctor on clusters that were made up", () => {
  test("says what is true and nothing else, however thin the evidence is", async () => {
    const { precision, recall, mistakes, right, undecided } = await scoreSeeds(seeds, 12);
    expect(mistakes.slice(0, 10)).toEqual([]);
    expect({ precision, recall }).toEqual({ precision: 1, recall: 1 });
    // Most of it can be told for certain, or the score would be easily had.
    expect(right).toBeGreaterThan(1_500);
    expect(undecided).toBeLessThan(right / 20);
  });

  test("is right about a large one", async () => {
    const { mistakes } = await scoreSeeds([7], 2_000);
    expect(mistakes).toEqual([]);
  });
});

describe("a score", () => {
  const world = makeWorld(7, 12);
  const [first, ...others] = world.truths;
  if (first === undefined) throw new Error("This world is well; take another seed");

  test("counts what is true and was not said", async () => {
    const id = first.id === "node/lost" ? "tofu/suspended" : "node/lost";
    const more = { id, object: "Node/none", under: {} };
    const rows = await scoreWorld({ ...world, truths: [...world.truths, more] }, "whole");
    expect(rows.filter((each) => each.is === "missed")).toEqual([
      { id, object: "Node/none", is: "missed" },
    ]);
  });

  test("counts what was said and is not true", async () => {
    const rows = await scoreWorld({ ...world, truths: others }, "whole");
    const { id, object } = first;
    expect(rows.filter((each) => each.is === "wrong")).toEqual([{ id, object, is: "wrong" }]);
  });

  test("takes 'cannot tell' for right only where a needed fact was taken out", async () => {
    const blind = { ...world, dump: { ...world.dump, kinds: [], objects: [] } };
    const rows = await scoreWorld(blind, "whole");
    expect(rows.every((each) => each.is === "missed")).toBe(true);
    const allowed = world.truths.map((each) => ({ ...each, under: { whole: "either" as const } }));
    const lenient = await scoreWorld({ ...blind, truths: allowed }, "whole");
    expect(lenient.every((each) => each.is === "undecided")).toBe(true);
  });
});

describe("a world", () => {
  test("is the same for the same seed", () => {
    expect(makeWorld(11, 50)).toEqual(makeWorld(11, 50));
    expect(makeWorld(11, 50)).not.toEqual(makeWorld(12, 50));
  });

  test("is as large as it should be", () => {
    for (const size of [10, 300, 5_000]) {
      const { length } = makeWorld(5, size).dump.objects;
      expect(length).toBeGreaterThanOrEqual(size);
      expect(length).toBeLessThan(size + 40);
    }
  });

  test("is thinned in every way that is named", () => {
    const world = makeWorld(3, 30);
    const events = { ...world.dump, kinds: [...world.dump.kinds, "Event"] };
    const texts = new Set(thinnings.map((name) => JSON.stringify(thinned(events, name))));
    // Failed pods and goroutines are in some worlds only.
    const absent: Thinning[] = ["failed-pods-gone", "no-goroutines"];
    expect(texts.size).toBeGreaterThanOrEqual(thinnings.length - absent.length);
  });
});

test("what makes the worlds shares no code with what judges them", () => {
  const makers = ["world.ts", "passes.ts", ...readdirSync(join(folder, "faults"))];
  const borrowed = makers.flatMap((name) => {
    const file = join(folder, existsSync(join(folder, name)) ? name : `faults/${name}`);
    const imports = readFileSync(file, "utf8").matchAll(/from "((?:\.\.\/)+[^"]+)"/g);
    return [...imports].map(([, path = ""]) => path.replace(/^(\.\.\/)+/, ""));
  });
  // A scene puts objects into their form and knows no verdict; random numbers are a type.
  const allowed = ["evidence/scene.ts", "ports/clock.ts", "passes.ts", "world.ts"];
  expect([...new Set(borrowed)].filter((path) => !allowed.includes(path))).toEqual([]);
});
