import { expect, test } from "vitest";
import { isNewerVersion } from "./tofu-version.ts";

const cases: [string, string, boolean][] = [
  ["1.12.6", "1.12.6", false],
  ["1.12.7", "1.12.6", true],
  ["1.12.10", "1.12.9", true],
  ["1.9.0", "1.12.6", false],
  ["1.13.0-alpha1", "1.12.6", true],
  ["2.0", "1.99.9", true],
  ["1.12", "1.12.6", false],
  ["1.12.6.1", "1.12.6", true],
  ["", "1.12.6", false],
  ["whatever", "1.12.6", false],
];
test.each(cases)("%s is newer than %s: %s", (version, than, newer) => {
  expect(isNewerVersion(version, than)).toBe(newer);
});
