import { expect, test } from "vitest";
import { isAtLeast } from "./version.ts";

const cases: Record<string, { have: string; least: string; holds: boolean }> = {
  equal: { have: "1.5.0", least: "1.5", holds: true },
  "numbers are no letters: 10 is more than 9": { have: "1.10.1", least: "1.9.8", holds: true },
  "one patch short": { have: "1.26.5", least: "1.26.6", holds: false },
  "a major ahead": { have: "2.0.0", least: "1.26.6", holds: true },
  "a missing number counts as nought": { have: "1.26", least: "1.26.1", holds: false },
  "a pre-release counts as its release": { have: "1.6.0-alpha3", least: "1.6", holds: true },
  "no version at all is below every floor": { have: "devel", least: "1", holds: false },
};

test.each(Object.entries(cases))("%s", (_, { have, least, holds }) => {
  expect(isAtLeast(have, least)).toBe(holds);
});
