import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Fields, mergeThreeWay } from "./three-way.ts";

interface Row {
  base: Fields;
  live: Fields;
  manifest: Fields;
  merged: Fields;
}
const rows: Record<string, Row> = {
  "what the manifest says anew is so": {
    base: { path: "a" },
    live: { path: "a" },
    manifest: { path: "b" },
    merged: { path: "b" },
  },
  "what a person changed stays while the manifest says what it always said": {
    base: { suspend: false, path: "a" },
    live: { suspend: true, path: "a" },
    manifest: { suspend: false, path: "b" },
    merged: { suspend: true, path: "b" },
  },
  "what both changed is the manifest's": {
    base: { approvePlan: "" },
    live: { approvePlan: "plan-main-1" },
    manifest: { approvePlan: "auto" },
    merged: { approvePlan: "auto" },
  },
  "what a person added stays": {
    base: {},
    live: { approvePlan: "plan-main-1" },
    manifest: {},
    merged: { approvePlan: "plan-main-1" },
  },
  "what a person removed stays away until the manifest says something new": {
    base: { suspend: true },
    live: {},
    manifest: { suspend: true },
    merged: {},
  },
  "what the manifest dropped goes": {
    base: { destroy: true, path: "a" },
    live: { destroy: true, path: "a" },
    manifest: { path: "a" },
    merged: { path: "a" },
  },
  "of an object that the manifest dropped, what others put there stays": {
    base: { labels: { team: "a" } },
    live: { labels: { team: "a", mine: "x" } },
    manifest: {},
    merged: { labels: { mine: "x" } },
  },
  "inside an object each field is judged by itself": {
    base: { ref: { branch: "main", tag: "" } },
    live: { ref: { branch: "mine", tag: "", name: "n" } },
    manifest: { ref: { branch: "main", tag: "v1" } },
    merged: { ref: { branch: "mine", tag: "v1", name: "n" } },
  },
  "a list is one value": {
    base: { vars: [{ name: "a" }] },
    live: { vars: [{ name: "a" }, { name: "mine" }] },
    manifest: { vars: [{ name: "b" }] },
    merged: { vars: [{ name: "b" }] },
  },
  "without a base the manifest wins wherever it speaks": {
    base: {},
    live: { path: "x", other: 1 },
    manifest: { path: "a" },
    merged: { path: "a", other: 1 },
  },
  "an object in place of a plain value": {
    base: { ref: "main" },
    live: { ref: "main" },
    manifest: { ref: { branch: "main" } },
    merged: { ref: { branch: "main" } },
  },
};
describe("mergeThreeWay", () => {
  test.each(Object.entries(rows))("%s", (_, { base, live, manifest, merged }) => {
    expect(mergeThreeWay(base, live, manifest)).toEqual(merged);
  });

  const tree = fc.letrec((tie) => ({
    fields: fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value"), { maxKeys: 3 }),
    value: fc.oneof({ depthSize: "small" }, fc.integer({ max: 2 }), fc.boolean(), tie("fields")),
  })).fields as fc.Arbitrary<Fields>;

  test("a manifest on what it made itself changes nothing", () => {
    fc.assert(
      fc.property(tree, (manifest) => {
        const plain = structuredClone(manifest);
        expect(mergeThreeWay(manifest, manifest, manifest)).toEqual(plain);
      }),
    );
  });

  test("applied once more it changes nothing more, whatever was there", () => {
    fc.assert(
      fc.property(tree, tree, tree, (base, live, manifest) => {
        const once = mergeThreeWay(base, live, manifest);
        expect(mergeThreeWay(manifest, once, manifest)).toEqual(once);
      }),
    );
  });
});
