import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { StateId } from "../../ports/state.ts";
import { EpochOver, StateDamaged } from "../../ports/state.ts";
import { stateStorageContract, stateText } from "../../testing/contracts/state-storage.ts";
import { VirtualClock } from "../../testing/fakes/clock.ts";
import { openDatabase } from "./database.ts";
import { SqliteStates } from "./state.ts";

const scratch = mkdtempSync(join(tmpdir(), "nigari-states-"));
const closers: (() => void)[] = [];
afterAll(() => {
  for (const close of closers) close();
  rmSync(scratch, { recursive: true });
});

let count = 0;
function open(clock = new VirtualClock(), place = join(scratch, `${++count}`)) {
  const database = openDatabase(`${place}.db`);
  closers.push(() => database.isOpen && database.close());
  const states = new SqliteStates({ database, folder: place, clock });
  return { states, database, place, files: () => readdirSync(place) };
}

describe("states in SQLite", () => {
  stateStorageContract((clock) => open(clock).states);
});

const call = { signal: new AbortController().signal };
const home: StateId = { namespace: "team", name: "net", workspace: "default" };
const push = (states: SqliteStates, text: string) =>
  states.push(home, { from: "content", content: Buffer.from(text), force: false }, call);

test("the newest epoch is remembered by who opens the states again", async () => {
  const first = open();
  expect(first.states.newestEpoch()).toBe(0);
  await first.states.release(home, "none", "A test", { ...call, epoch: 7 });
  first.database.close();
  const { states } = open(undefined, first.place);
  expect(states.newestEpoch()).toBe(7);
  const late = states.release(home, "none", "A test", { ...call, epoch: 6 });
  await expect(late).rejects.toThrow(EpochOver);
});

describe("the files beside the database", () => {
  test("are the owner's alone", async () => {
    const before = process.umask(0);
    const { states, place, files } = open();
    await push(states, stateText(1));
    process.umask(before);
    expect(statSync(place).mode & 0o777).toBe(0o700);
    const [file] = files();
    expect(statSync(join(place, file ?? "")).mode & 0o777).toBe(0o600);
  });

  test("are as many as there are versions, whatever was refused, repeated or dropped", async () => {
    const { states, files } = open();
    await push(states, stateText(1));
    await push(states, stateText(1));
    await push(states, stateText(2));
    await expect(push(states, stateText(1, "x"))).rejects.toThrow("serial");
    await expect(push(states, "{}")).rejects.toThrow("no state file");
    await states.grant(home, "r1", new Uint8Array(32), call);
    const late = { state: home, runId: "r1", lockId: undefined };
    async function* content(text: string): AsyncGenerator<Uint8Array> {
      yield Buffer.from(text);
    }
    for (const serial of [3, 4]) await states.write(late, content(stateText(serial)), call);
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(stateText(5));
      throw new Error("The line is dead");
    }
    await expect(states.write(late, broken(), call)).rejects.toThrow("The line is dead");
    expect(files()).toHaveLength(3);
    const [aside] = await states.rescued(home, call);
    await states.drop(home, aside?.id ?? "", call);
    expect(files()).toHaveLength(2);
    expect(await states.versions(home, call)).toHaveLength(2);
  });

  test("without a row are swept at the next start, once no write can be behind them", async () => {
    const clock = new VirtualClock();
    const first = open(clock);
    await push(first.states, stateText(1));
    first.database.close();
    const [named] = first.files();
    for (const [name, ageMinutes] of Object.entries({ "old.tfstate": 61, "young.tfstate": 1 })) {
      const path = join(first.place, name);
      writeFileSync(path, "{");
      const at = new Date(clock.now() - ageMinutes * 60_000);
      utimesSync(path, at, at);
    }
    utimesSync(join(first.place, named ?? ""), 0, 0);
    const second = open(clock, first.place);
    expect(second.files().toSorted()).toEqual([named, "young.tfstate"].toSorted());
    expect(Buffer.from((await second.states.show(home, undefined, call)) ?? []).toString()).toBe(
      stateText(1),
    );
  });

  const damages: Record<string, (path: string) => void> = {
    "is gone": (path) => rmSync(path),
    "has other content of the same size": (path) =>
      writeFileSync(path, " ".repeat(statSync(path).size)),
    "is cut off": (path) => writeFileSync(path, stateText(1).slice(0, -1)),
  };
  test.each(Object.entries(damages))(
    "a file that %s is never taken for an absent state",
    async (why, spoil) => {
      const { states, files, place } = open();
      await push(states, stateText(1));
      spoil(join(place, files()[0] ?? ""));
      await expect(states.read(home, call)).rejects.toThrow(StateDamaged);
      await expect(states.show(home, undefined, call)).rejects.toThrow(
        "restore it from a backup, or make an earlier version current",
      );
      // What needs no reading to be seen is in the head, so that no run has to fail first.
      const seen = why !== "has other content of the same size";
      const { damage } = (await states.head(home, call)) as { damage?: string };
      expect(damage !== undefined).toBe(seen);
      await push(states, stateText(1));
      const mended = Buffer.from((await states.show(home, undefined, call)) ?? []).toString();
      expect(mended, "pushing the same content mends it").toBe(stateText(1));
      expect(await states.versions(home, call)).toHaveLength(1);
      expect(files()).toHaveLength(1);
    },
  );
});

test("what runs may do survives a new start", async () => {
  const first = open();
  await first.states.grant(home, "r1", Buffer.alloc(32, 1), call);
  await first.states.grant(home, "r2", Buffer.alloc(32, 2), call);
  await first.states.revoke("r2", "killed by signal 9", call);
  const lock = {
    ...{ state: home, runId: "r1", id: "l", operation: "OperationTypeApply", info: "i" },
    ...{ who: "w", version: "1.12.6", created: "2026-01-01T00:00:00Z", path: "p" },
  };
  await first.states.takeLock(lock, call);
  first.database.close();
  const { states } = open(new VirtualClock(), first.place);
  expect(await states.granted("r1", call)).toEqual({
    ...{ runId: "r1", order: 0, state: home, revoked: false },
    passwordHashes: [new Uint8Array(32).fill(1)],
  });
  expect(await states.granted("r2", call)).toMatchObject({ revoked: true });
  await states.grant(home, "r3", Buffer.alloc(32), call);
  const taken = await states.takeLock({ ...lock, runId: "r3", id: "m" }, call);
  expect(taken).toEqual({ taken: false, holder: lock });
});

test("access is forgotten after three months, but not that of a lock's holder", async () => {
  const clock = new VirtualClock();
  const { states } = open(clock);
  for (const runId of ["holder", "past"]) {
    await states.grant(home, runId, Buffer.alloc(32), call);
  }
  const lock = {
    ...{ state: home, runId: "holder", id: "l", operation: "", info: "", who: "" },
    ...{ version: "", created: "", path: "" },
  };
  await states.takeLock(lock, call);
  clock.jump(91 * 24 * 60 * 60 * 1000);
  await states.grant(home, "now", Buffer.alloc(32), call);
  expect(await states.granted("past", call)).toBeUndefined();
  expect(await states.granted("holder", call)).toBeDefined();
});

test("the database holds no content of a state", async () => {
  const { states, database, place } = open();
  await push(states, stateText(1, "a-secret-in-the-state"));
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const stored = readdirSync(scratch)
    .filter((name) => name.startsWith(`${place.split("/").at(-1)}.db`))
    .map((name) => readFileSync(join(scratch, name)).toString("latin1"))
    .join("");
  expect(stored).toContain("team");
  expect(stored).not.toContain("a-secret-in-the-state");
});
