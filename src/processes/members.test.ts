import { describe, expect, test } from "vitest";
import { bootId, type ProcessStat } from "./identity.ts";
import { isGroupOf, membersOf, readProcessTable, tableOf } from "./members.ts";

interface Row {
  readonly pid: number;
  readonly parent?: number;
  readonly group?: number;
  readonly session?: number;
  readonly started?: string;
  readonly token?: string;
}

function table(rows: readonly Row[]) {
  const stats = rows.map((row): ProcessStat => {
    const { pid, parent = 1, group = pid, session = group, started = "100" } = row;
    return { pid, parent, group, session, state: "S", startTime: started };
  });
  const tokens = new Map(rows.map((row) => [row.pid, row.token]));
  return tableOf(new Map(stats.map((stat) => [stat.pid, stat])), (stat) => tokens.get(stat.pid));
}

const leader = { pid: 50, startTime: "100", bootId: bootId() };

describe("membersOf", () => {
  const cases: Record<string, { rows: Row[]; members: number[] }> = {
    "the leader and its group": {
      rows: [{ pid: 50 }, { pid: 51, group: 50 }, { pid: 52 }],
      members: [50, 51],
    },
    "a process of the session that made a group of its own": {
      rows: [{ pid: 50 }, { pid: 51, group: 51, session: 50 }],
      members: [50, 51],
    },
    "a process that left group and session, by its token": {
      rows: [{ pid: 50 }, { pid: 60, token: "t" }, { pid: 61, token: "another" }],
      members: [50, 60],
    },
    "a child of it that cleared its environment too": {
      rows: [
        { pid: 60, token: "t" },
        { pid: 70, parent: 60 },
        { pid: 80, parent: 70 },
      ],
      members: [60, 70, 80],
    },
    "the group that outlives its leader, when one in it bears the token": {
      rows: [
        { pid: 51, group: 50, token: "t" },
        { pid: 52, group: 50 },
      ],
      members: [51, 52],
    },
    "not a group of that number without the token: the number may be another's by now": {
      rows: [{ pid: 51, group: 50 }],
      members: [],
    },
    "not another process that got the leader's pid, nor its group": {
      rows: [
        { pid: 50, started: "900" },
        { pid: 51, group: 50 },
      ],
      members: [],
    },
  };
  test.each(Object.entries(cases))("%s", (_, { rows, members }) => {
    const found = membersOf({ leaders: [leader], token: "t" }, table(rows));
    expect(found.map((each) => each.pid).sort()).toEqual(members);
  });

  test("nobody is left of an earlier start of the machine", () => {
    const old = { ...leader, bootId: "earlier" };
    expect(membersOf({ leaders: [old], token: "t" }, table([{ pid: 50 }]))).toEqual([]);
    expect(isGroupOf(old, table([{ pid: 50 }]), "t")).toBe(false);
  });
});

test("the real table holds this process and its parent", async () => {
  const now = await readProcessTable();
  expect(now.byPid.get(process.pid)?.parent).toBe(process.ppid);
  expect(now.byPid.has(process.ppid)).toBe(true);
});
