import { describe, expect, test } from "vitest";
import { stages } from "../api/terraform.ts";
import { stageLimitMs } from "../domain/limits.ts";
import { causesOf, type HealthFacts, type RunUnderWatch } from "./health.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const well: HealthFacts = {
  lagMs: 0,
  readyMs: undefined,
  passesMs: [],
  workers: 8,
  sweptMs: 1_000,
  store: undefined,
  runs: [],
};
const run: RunUnderWatch = {
  namespace: "default",
  name: "app",
  runId: "r1",
  stage: "plan",
  stageMs: 0,
  isOver: false,
  isLeft: false,
};
const busy = [80_000, 80_000, 1, 1, 1, 1, 1, 1];

const healthy: Record<string, Partial<HealthFacts>> = {
  "one with nothing to do": {},
  "one that was a little late": { lagMs: 4_900 },
  "keys that wait while every worker is at work": { readyMs: HOUR, passesMs: busy },
  "a key that has just become ready": { readyMs: 59_000 },
  "passes about to be given up": { passesMs: [89_000] },
  "a store that has just begun to fail": {
    store: { way: "write", forMs: 59_000, lastMs: 10, message: "database is locked" },
  },
  "a store that failed once, long ago, and was not asked since": {
    store: { way: "write", forMs: HOUR, lastMs: HOUR, message: "disk is full" },
  },
  "an apply of a day": { runs: [{ ...run, stage: "apply", stageMs: 24 * HOUR }] },
  "a plan within its limit": { runs: [{ ...run, stageMs: stageLimitMs("plan") ?? 0 }] },
  "a plan past its limit that a pass is about to end": {
    runs: [{ ...run, stageMs: (stageLimitMs("plan") ?? 0) + 60_000 }],
  },
  "a run that is over and waits for its pass": {
    runs: [{ ...run, stageMs: 100 * HOUR, isOver: true }],
  },
};
describe("is well:", () => {
  test.each(Object.entries(healthy))("%s", (_, facts) => {
    expect(causesOf({ ...well, ...facts })).toEqual([]);
  });

  test.each(stages)("a run that is in stage %s for as long as it may be", (stage) => {
    const stageMs = stageLimitMs(stage) ?? 1_000 * HOUR;
    expect(causesOf({ ...well, runs: [{ ...run, stage, stageMs }] })).toEqual([]);
  });
});

const stuck: Record<string, { facts: Partial<HealthFacts>; cause: string; says: string }> = {
  "one that comes late": {
    facts: { lagMs: 9_000 },
    cause: "event-loop",
    says: "The event loop was 9 s late",
  },
  "a key that nobody takes although workers are free": {
    facts: { readyMs: 2 * MINUTE, passesMs: [1, 2] },
    cause: "queue",
    says: "An object has waited 120 s for a pass, with 6 workers free",
  },
  "passes that do not end": {
    facts: { passesMs: [1, 200_000, 100_000] },
    cause: "pass",
    says: "2 passes did not end; the oldest is 200 s old",
  },
  "a sweep that does not come": {
    facts: { sweptMs: 61_000 },
    cause: "sweep",
    says: "Nobody has looked for objects that are due for 61 s",
  },
  "a store that fails": {
    facts: { store: { way: "write", forMs: 61_000, lastMs: 2_000, message: "disk is full" } },
    cause: "store",
    says: "The store has done no write for 61 s: disk is full",
  },
  "a run whose step is long over": {
    facts: { runs: [{ ...run, stageMs: (stageLimitMs("plan") ?? 0) + 200_000 }] },
    cause: "run",
    says: "Run r1 of default/app is 170 s past the limit of stage plan",
  },
  "a run that nobody follows": {
    facts: { runs: [{ ...run, stage: "apply", isLeft: true }] },
    cause: "run",
    says: "Run r1 of default/app is followed by nobody",
  },
};
test.each(Object.entries(stuck))("is stuck: %s", (_, { facts, cause, says }) => {
  const causes = causesOf({ ...well, ...facts });
  expect(causes.map((each) => each.cause)).toEqual([cause]);
  expect(causes[0]?.text).toContain(says);
});

test("every cause is told at once", () => {
  const facts = Object.assign({ ...well }, ...Object.values(stuck).map((each) => each.facts));
  expect(causesOf(facts).length).toBeGreaterThanOrEqual(5);
});
