import { describe, expect, test } from "vitest";
import { terraformOf } from "../testing/one-object.ts";
import { intervalMs, lostRunPause, retryIntervalMs } from "./backoff.ts";

describe("the pause after lost runs", () => {
  const cases: Record<string, { lost: number; jitter: number; ms: number }> = {
    "after the first it is at most a second": { lost: 1, jitter: 0.999, ms: 999 },
    "the bound doubles": { lost: 4, jitter: 0.5, ms: 4_000 },
    "up to five minutes": { lost: 20, jitter: 0.999, ms: 299_700 },
    "and never overflows": { lost: Number.MAX_SAFE_INTEGER, jitter: 0.999, ms: 299_700 },
    "full jitter may leave nothing of it": { lost: 9, jitter: 0, ms: 0 },
    "a count that makes no sense counts as one": { lost: -3, jitter: 0.5, ms: 500 },
  };
  test.each(Object.entries(cases))("%s", (_name, { lost, jitter, ms }) => {
    expect(lostRunPause(lost, jitter)).toBe(ms);
  });
});

describe("intervals of the spec", () => {
  const of = (spec: Parameters<typeof terraformOf>[0]) => terraformOf(spec).spec;
  test("the retry interval is taken as it is, not jittered", () => {
    expect(retryIntervalMs(of({ retryInterval: "40s" }))).toBe(40_000);
  });
  test("it is 15 s by default", () => {
    expect(retryIntervalMs(of({}))).toBe(15_000);
  });
  test("one that cannot be read falls back, so that no object stops retrying", () => {
    expect(retryIntervalMs(of({ retryInterval: "soon" }))).toBe(15_000);
  });
  test("an interval of nothing is none", () => {
    expect(intervalMs(of({ interval: "0s" }))).toBeUndefined();
    expect(intervalMs(of({ interval: "-1m" }))).toBeUndefined();
    expect(intervalMs(of({ interval: "1m30s" }))).toBe(90_000);
  });
});
