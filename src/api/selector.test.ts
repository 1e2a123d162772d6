import { expect, test } from "vitest";
import { parseSelector, selects } from "./selector.ts";

const labels = { shard: "one", "app.kubernetes.io/name": "x", empty: "" };

test.each<[string, boolean]>([
  ["shard=one", true],
  ["shard==one", true],
  ["shard=two", false],
  ["shard!=two", true],
  ["other!=two", true],
  ["shard in (one, two)", true],
  ["shard notin (one, two)", false],
  ["other notin (one)", true],
  ["shard,app.kubernetes.io/name=x", true],
  ["!shard", false],
  ["!sharding.fluxcd.io/key", true],
  ["empty=", true],
  ["toString", false],
])("%s", (text, fits) => {
  expect(selects(parseSelector(text) ?? [], labels)).toBe(fits);
});

test.each(["", "=x", "a b", "a in (", "a=b=c", "a,,b", "a=b;c"])("%j is none", (text) => {
  expect(parseSelector(text)).toBeUndefined();
});

test("an object without labels has none of them", () => {
  expect(selects(parseSelector("!a,b!=c") ?? [], undefined)).toBe(true);
});
