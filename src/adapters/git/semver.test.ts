import { describe, expect, test } from "vitest";
import { compareVersions, highest, inRange, parseRange, parseVersion } from "./semver.ts";

function accepts(range: string, version: string): boolean {
  const parsed = parseRange(range);
  const candidate = parseVersion(version);
  if (parsed === undefined || candidate === undefined) throw new Error(`${range} / ${version}`);
  return inRange(candidate, parsed);
}

const ranges: Record<string, { range: string; yes: string[]; no: string[] }> = {
  "a whole version is itself": { range: "1.2.3", yes: ["1.2.3", "v1.2.3"], no: ["1.2.4", "1.2.2"] },
  "a shortened version is a wildcard": { range: "1.2", yes: ["1.2.0", "1.2.9"], no: ["1.3.0"] },
  "x, X and * are wildcards": { range: "1.x", yes: ["1.0.0", "1.9.9"], no: ["2.0.0", "0.9.0"] },
  "a star takes every release": { range: "*", yes: ["0.0.1", "9.9.9"], no: ["1.0.0-rc.1"] },
  "caret keeps the major number": {
    range: "^1.2.3",
    yes: ["1.2.3", "1.9.0"],
    no: ["1.2.2", "2.0.0"],
  },
  "caret below 1 keeps the minor number": { range: "^0.2.3", yes: ["0.2.9"], no: ["0.3.0"] },
  "caret below 0.1 keeps the patch number": { range: "^0.0.3", yes: ["0.0.3"], no: ["0.0.4"] },
  "caret of 0.0 keeps both": { range: "^0.0", yes: ["0.0.9"], no: ["0.1.0"] },
  "caret of 0 keeps the zero": { range: "^0", yes: ["0.9.0"], no: ["1.0.0"] },
  "tilde keeps the minor number": { range: "~1.2.3", yes: ["1.2.3", "1.2.9"], no: ["1.3.0"] },
  "tilde of a major keeps it": { range: "~1", yes: ["1.9.9"], no: ["2.0.0"] },
  "both bounds hold, with a space between": {
    range: ">=1.0.0 <2.0.0",
    yes: ["1.0.0", "1.9.9"],
    no: ["0.9.9", "2.0.0"],
  },
  "both bounds hold, with a comma and loose spaces": {
    range: ">= 1.0 , < 2",
    yes: ["1.5.0"],
    no: ["2.0.0", "0.1.0"],
  },
  "either range will do": { range: "<1.0.0 || >=3.0.0", yes: ["0.5.0", "3.0.0"], no: ["2.0.0"] },
  "a hyphen includes both ends": { range: "1.2 - 2.3", yes: ["1.2.0", "2.3.9"], no: ["2.4.0"] },
  "greater than a shortened version leaves all of it behind": {
    range: ">11",
    yes: ["12.0.0"],
    no: ["11.9.9", "11.0.0"],
  },
  "at most a shortened version takes all of it": { range: "<=11", yes: ["11.9.9"], no: ["12.0.0"] },
  "not equal": { range: "!=1.5.x", yes: ["1.4.9", "1.6.0"], no: ["1.5.3"] },
  "a pre-release needs a bound that names one": {
    range: ">=1.0.0-0",
    yes: ["1.0.0-alpha", "1.0.0", "1.1.0-rc.1"],
    no: ["0.9.0"],
  },
  "a pre-release of the excluded bound is no release before it": {
    range: ">=1.0.0-0 <2.0.0",
    yes: ["1.5.0"],
    no: ["2.0.0", "2.0.0-rc.1"],
  },
  "build metadata counts for nothing": { range: "1.2.3", yes: ["1.2.3+build.7"], no: [] },
};
describe("ranges", () => {
  test.each(Object.entries(ranges))("%s", (_, { range, yes, no }) => {
    expect(yes.filter((version) => !accepts(range, version))).toEqual([]);
    expect(no.filter((version) => accepts(range, version))).toEqual([]);
  });

  test.each(["", "latest", "1.2.3.4", ">=", "^", "1.2.3 ||"])("%j is none", (text) => {
    expect(parseRange(text)).toBeUndefined();
  });
});

test("versions are ordered as the specification of semantic versions orders its example", () => {
  const ordered = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2"]
    .concat(["1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.10.0", "2.0.0"])
    .map((text) => parseVersion(text));
  const mixed = ordered.toReversed().filter((version) => version !== undefined);
  expect(mixed.sort(compareVersions)).toEqual(ordered);
});

test("the highest tag of a range wins, whatever else is tagged", () => {
  const tags = ["v1.9.0", "v1.10.0", "1.2.0", "v2.0.0", "nightly", "v1.11", "v1.12.0-rc.1"];
  expect(highest(tags, parseRange("1.x") ?? [])).toBe("v1.10.0");
  expect(highest(tags, parseRange(">=3") ?? [])).toBeUndefined();
});
