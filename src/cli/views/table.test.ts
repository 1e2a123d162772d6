import { expect, test } from "vitest";
import { table } from "./table.ts";

const heads = ["NAME", "MESSAGE", "AGE"];
const rows = [
  ["app", "a message that is longer than any screen is wide", "5m"],
  ["database", "short", "10m"],
];
const widthOf = (text: string) => Math.max(...text.split("\n").map((line) => line.length));

test("where there is room nothing is cut", () => {
  const text = table(heads, rows, { head: "MESSAGE", columns: Number.POSITIVE_INFINITY });
  expect(text).toContain("than any screen is wide   5m");
  expect(table(heads, rows)).toBe(text);
});

test("on a screen the elastic column takes what the others leave", () => {
  const text = table(heads, rows, { head: "MESSAGE", columns: 50 });
  expect(widthOf(text)).toBe(50);
  expect(text).toContain("a message that is longer than an…   5m");
});

test("but some of it is always to be seen", () => {
  expect(table(heads, rows, { head: "MESSAGE", columns: 10 })).toContain("a message that is l…");
});
