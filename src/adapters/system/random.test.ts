import { expect, test } from "vitest";
import { systemRandom } from "./random.ts";

test("gives numbers in [0, 1) and hex of the length asked for, never twice the same", () => {
  const numbers = Array.from({ length: 100 }, () => systemRandom.next());
  expect(numbers.every((each) => each >= 0 && each < 1)).toBe(true);
  expect(new Set(numbers).size).toBeGreaterThan(90);
  expect(systemRandom.hex(8)).toMatch(/^[0-9a-f]{16}$/);
  expect(systemRandom.hex(8)).not.toBe(systemRandom.hex(8));
});
