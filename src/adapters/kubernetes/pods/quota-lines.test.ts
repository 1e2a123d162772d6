import { beforeEach, expect, test } from "vitest";
import { QuotaLines } from "./quota-lines.ts";

let nowMs = 0;
let lines: QuotaLines;
beforeEach(() => {
  nowMs = 0;
  lines = new QuotaLines({ monotonic: () => nowMs });
});
const turn = (runId: string, urgent = false) => lines.turn("team", runId, urgent);

test("where the quota has room there is no line", () => {
  expect(turn("a")).toBeUndefined();
  expect(turn("b")).toBeUndefined();
});

test("where it has none they wait in the order they came, and one asks for all", () => {
  lines.refused("team", "a", false);
  expect([turn("a"), turn("b"), turn("c")]).toEqual([
    { place: 1, of: 1 },
    { place: 2, of: 2 },
    { place: 3, of: 3 },
  ]);
  nowMs = 5_000;
  expect(turn("b")).toMatchObject({ place: 2 });
  expect(turn("a")).toBeUndefined();
  expect(lines.turn("other", "x", false)).toBeUndefined();
});

test("deletions and what people ask for go first", () => {
  lines.refused("team", "a", false);
  turn("b");
  expect(turn("c", true)).toEqual({ place: 1, of: 3 });
  expect(turn("a")).toEqual({ place: 2, of: 3 });
});

test("whoever is served lets the next ask at once, as does a pod that goes", () => {
  lines.refused("team", "a", false);
  turn("b");
  lines.freed("team");
  expect(turn("a")).toBeUndefined();
  lines.served("team", "a");
  expect(turn("b")).toBeUndefined();
  lines.served("team", "b");
  expect(turn("z")).toBeUndefined();
});

test("one that has given up holds nobody up", () => {
  lines.refused("team", "a", false);
  turn("b");
  nowMs = 30_001;
  expect(turn("b")).toBeUndefined();
});
