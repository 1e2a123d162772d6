import { expect, test } from "vitest";
import { formatDuration, parseDuration } from "./duration.ts";

const read: Record<string, { text: string; ms: number | undefined }> = {
  "plain seconds": { text: "15s", ms: 15_000 },
  "several units": { text: "1h2m3.5s", ms: 3_723_500 },
  "zero needs no unit": { text: "0", ms: 0 },
  negative: { text: "-1.5s", ms: -1_500 },
  "micro sign in both spellings": { text: "1µs1μs", ms: 0.002 },
  "a number alone is none": { text: "15", ms: undefined },
  "days are not Go's": { text: "1d", ms: undefined },
  "rubbish behind": { text: "1s x", ms: undefined },
  empty: { text: "", ms: undefined },
};
test.each(Object.entries(read))("reads %s", (_, { text, ms }) => {
  expect(parseDuration(text)).toBe(ms);
});

const written: [number, string][] = [
  [0, "0ms"],
  [999, "999ms"],
  [12_000, "12s"],
  [200_000, "3m20s"],
  [3_600_000, "1h"],
  [273_600_000, "3d4h"],
  [-5_000, "-5s"],
];
test.each(written)("writes %d as %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});
