import { describe, expect, test } from "vitest";
import { HISTORY_BYTES_MAX, HISTORY_VERSIONS_MAX, isCoveredBy } from "./state-guards.ts";
import {
  beyondHistory,
  type Incoming,
  judgePush,
  judgeRescue,
  judgeWrite,
  type KeptState,
  type KeptVersion,
} from "./state-rules.ts";

const current: KeptVersion = { order: 3, serial: 5, lineage: "L", digest: "c5", runId: "before" };
const incoming: Incoming = {
  head: { serial: 6, lineage: "L" },
  digest: "c6",
  runId: "me",
  revoked: false,
};
const mine = { id: "l1", runId: "me" };
const theirs = { id: "l2", runId: "other" };
type Row = [change: Partial<Incoming>, kept: Partial<KeptState>, verdict: string];

describe("a write", () => {
  const rows: Record<string, Row> = {
    "by the holder of the lock, on the current state": [{}, {}, "current"],
    "the first ever, of whatever lineage and serial": [
      { head: { serial: 0, lineage: "X" } },
      { current: undefined },
      "current",
    ],
    "sent again, because the answer was lost": [{ digest: "c5" }, {}, "repeated"],
    "sent again by a run that was revoked in between: nothing is left to judge": [
      { digest: "c5", revoked: true },
      { lock: undefined },
      "repeated",
    ],
    "by a revoked run that still holds the lock": [
      { revoked: true },
      {},
      "the run was revoked before",
    ],
    "without the lock": [{}, { lock: undefined }, "the run does not hold the lock"],
    "while another holds the lock": [{}, { lock: theirs }, "the run does not hold the lock"],
    "of the first state, but without the lock": [
      {},
      { current: undefined, lock: undefined },
      "the run does not hold the lock",
    ],
    "by the holder, who names an older lock of his": [
      {},
      { lock: { id: "l0", runId: "me" } },
      "the write names another lock than the run holds",
    ],
    "of another lineage": [
      { head: { serial: 9, lineage: "X" } },
      {},
      "its lineage is X, that of the current state L",
    ],
    "of no lineage, as after a first apply without a backend": [
      { head: { serial: 9, lineage: "" } },
      {},
      "its lineage is empty, that of the current state L",
    ],
    "of no lineage, on a state of none": [
      { head: { serial: 9, lineage: "" } },
      { current: { ...current, lineage: "" } },
      "current",
    ],
    "with a lower serial": [
      { head: { serial: 4, lineage: "L" } },
      {},
      "its serial 4 is not above 5, the current one",
    ],
    "with the same serial and other content": [
      { head: { serial: 5, lineage: "L" } },
      {},
      "its serial 5 is not above 5, the current one",
    ],
  };
  test.each(Object.entries(rows))("%s", (_why, [change, kept, expected]) => {
    const verdict = judgeWrite({ ...incoming, ...change }, "l1", { current, lock: mine, ...kept });
    expect("why" in verdict ? verdict.why : verdict.become).toBe(expected);
  });
});

describe("a rescued state", () => {
  const rows: Record<string, [...Row, granted?: number | "never"]> = {
    "whose run holds the lock": [{}, { lock: mine }, "current"],
    "whose lock is free, and nobody wrote since the run began": [{}, {}, "current"],
    "whose lock is free, and the run itself wrote last": [
      {},
      { current: { ...current, order: 9, runId: "me" } },
      "current",
    ],
    "whose run holds the lock since somebody else wrote": [
      {},
      { lock: mine, current: { ...current, order: 9 } },
      "current",
    ],
    "of a serial above what another run wrote meanwhile, on which it does not build": [
      { head: { serial: 9, lineage: "L" } },
      { current: { ...current, order: 9, serial: 7 } },
      "the state was changed after the run was given access",
    ],
    "likewise, and a person did it": [
      { head: { serial: 9, lineage: "L" } },
      { current: { ...current, order: 9, serial: 7, runId: undefined } },
      "the state was changed after the run was given access",
    ],
    "while another run holds the lock": [{}, { lock: theirs }, "run other holds the lock"],
    "of a revoked run": [{ revoked: true }, {}, "the run was revoked before"],
    "that is current already": [{ digest: "c5" }, {}, "repeated"],
    "of another lineage": [
      { head: { serial: 9, lineage: "X" } },
      {},
      "its lineage is X, that of the current state L",
    ],
    "of a run that nobody knows": [{}, {}, "the run was never given access to this state", "never"],
  };
  test.each(Object.entries(rows))("%s", (_why, [change, kept, expected, granted = 3]) => {
    const verdict = judgeRescue(
      { ...incoming, ...change },
      granted === "never" ? undefined : granted,
      { current, lock: undefined, ...kept },
    );
    expect("why" in verdict ? verdict.why : verdict.become).toBe(expected);
  });
});

describe("a person's push", () => {
  const lockedText = "is locked by run other (lock l2); wait until that run has ended";
  const use = "; look at both, and use --force to replace it anyhow";
  const rows: Record<
    string,
    { serial?: number; lineage?: string; force?: boolean; kept?: Partial<KeptState>; why?: string }
  > = {
    "same lineage, higher serial, no lock": {},
    "nothing there yet": { serial: 0, lineage: "X", kept: { current: undefined } },
    "locked: not even by force": { force: true, kept: { lock: theirs }, why: lockedText },
    "another lineage": {
      lineage: "X",
      why: `is not replaced: its lineage is X, that of the current state L${use}`,
    },
    "another lineage, by force": { lineage: "X", force: true },
    "a lower serial": {
      serial: 4,
      why: `is not replaced: its serial 4 is not above 5, the current one${use}`,
    },
    "a lower serial, by force": { serial: 4, force: true },
  };
  test.each(Object.entries(rows))("%s", (_why, { serial = 6, lineage = "L", ...row }) => {
    const kept = { current, lock: undefined, ...row.kept };
    expect(judgePush({ serial, lineage }, row.force ?? false, kept)).toBe(row.why);
  });
});

describe("history", () => {
  const sized = (...sizes: number[]) => sizes.map((sizeBytes, n) => ({ n, sizeBytes }));

  test("so many versions are kept and no more", () => {
    const history = sized(...Array<number>(HISTORY_VERSIONS_MAX + 2).fill(1));
    expect(beyondHistory(history).map(({ n }) => n)).toEqual([
      HISTORY_VERSIONS_MAX,
      HISTORY_VERSIONS_MAX + 1,
    ]);
    expect(beyondHistory(history.slice(2))).toEqual([]);
  });

  test("large states are fewer, yet the one before the current one always stays", () => {
    const half = HISTORY_BYTES_MAX / 2;
    expect(beyondHistory(sized(half, half, 1, 1)).map(({ n }) => n)).toEqual([2, 3]);
    expect(beyondHistory(sized(3 * half))).toEqual([]);
    expect(beyondHistory(sized(3 * half, 1)).map(({ n }) => n)).toEqual([1]);
  });
});

describe("of what is kept aside, one version covers another", () => {
  const newer = { serial: 6, lineage: "L", runId: "me", digest: "c6" };
  const rows: Record<string, { older: Partial<typeof newer>; covered: boolean }> = {
    "an earlier write of the same run": { older: { serial: 5, digest: "c5" }, covered: true },
    "the same content of another run": { older: { runId: "other" }, covered: true },
    "another run's": { older: { serial: 5, digest: "c5", runId: "other" }, covered: false },
    "another lineage": { older: { serial: 5, digest: "c5", lineage: "X" }, covered: false },
    "the same serial, other content": { older: { digest: "x" }, covered: false },
    "a later write": { older: { serial: 7, digest: "c7" }, covered: false },
  };
  test.each(Object.entries(rows))("%s", (_why, { older, covered }) => {
    expect(isCoveredBy({ ...newer, ...older }, newer)).toBe(covered);
  });

  test("what persons pushed covers nothing but the same", () => {
    const pushed = { serial: 6, lineage: "L", runId: undefined, digest: "c6" };
    expect(isCoveredBy({ ...pushed, serial: 5, digest: "c5" }, pushed)).toBe(false);
  });
});
