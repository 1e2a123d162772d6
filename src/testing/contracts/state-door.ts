import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type StateDoor, type StateId, StateRefused } from "../../ports/state.ts";
import { stateText } from "./state-storage.ts";

/** A door to be judged, with hands for what the OpenTofu of a run does behind it. */
export interface StateDoorSubject {
  readonly door: StateDoor;
  /** Makes a namespace where that is an act of its own. */
  readonly makeNamespace?: (name: string) => Promise<void>;
  /** The run takes the lock. */
  takeLock(state: StateId, runId: string, lockId: string): Promise<void>;
  returnLock(state: StateId, runId: string, lockId: string): Promise<void>;
  /** The run writes, and holds the lock. */
  write(state: StateId, runId: string, text: string): Promise<void>;
  /** The engine notes in the object's status what the state is, as it does before each run. */
  note(state: StateId): Promise<void>;
  close(): Promise<void>;
}

const call = { signal: new AbortController().signal };
const bytes = (...of: Parameters<typeof stateText>) => new TextEncoder().encode(stateText(...of));

/** What the engine leans on in any StateDoor, wherever it keeps the states. */
export function stateDoorContract(open: () => Promise<StateDoorSubject>): void {
  const bench = new Bench(open);
  beforeAll(() => bench.open());
  afterAll(() => bench.close());
  describe("looking", () => looking(bench));
  describe("locks", () => locks(bench));
  describe("a state that a run left behind", () => rescues(bench));
}

class Bench {
  readonly #open: () => Promise<StateDoorSubject>;
  #subject: StateDoorSubject | undefined;

  constructor(open: () => Promise<StateDoorSubject>) {
    this.#open = open;
  }

  async open(): Promise<void> {
    this.#subject = await this.#open();
  }

  async close(): Promise<void> {
    await this.#subject?.close();
  }

  /** The subject, and a state that nobody else uses. */
  async arena() {
    const subject = this.#subject;
    if (subject === undefined) throw new Error("The subject was not opened");
    const namespace = `door-${randomBytes(6).toString("hex")}`;
    await subject.makeNamespace?.(namespace);
    const state: StateId = { namespace, name: "net", workspace: "default" };
    const [r0, r1, r2] = ["r0", "r1", "r2"].map((run) => `${run}${namespace.slice(4)}`);
    if (r0 === undefined || r1 === undefined || r2 === undefined) throw new Error("No runs");
    return { subject, door: subject.door, state, r0, r1, r2 };
  }

  /** One whose run `r1` has access and the lock, on a state of serial 5 that `r0` wrote. */
  async begun() {
    const arena = await this.arena();
    const { subject, door, state, r0, r1 } = arena;
    await door.access(state, r0, call);
    await subject.takeLock(state, r0, "l-r0");
    await subject.write(state, r0, stateText(5));
    await subject.returnLock(state, r0, "l-r0");
    await subject.note(state);
    await door.access(state, r1, call);
    await subject.takeLock(state, r1, "l-r1");
    return arena;
  }
}

async function textOf(door: StateDoor, state: StateId): Promise<string | undefined> {
  const content = await door.read(state, call);
  if (content === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of content.chunks) chunks.push(chunk);
  const whole = Buffer.concat(chunks);
  expect(whole.length).toBe(content.sizeBytes);
  return whole.toString();
}

function looking(bench: Bench): void {
  test("nothing is there at first", async () => {
    const { door, state } = await bench.arena();
    expect(await door.head(state, call)).toEqual({ state: "absent", former: undefined });
    expect(await door.lock(state, call)).toBeUndefined();
    expect(await door.read(state, call)).toBeUndefined();
    expect(await door.rescued(state, call)).toEqual([]);
  });

  test("what a run wrote is seen at once, and so is what it writes next", async () => {
    const { door, state, subject, r1 } = await bench.begun();
    expect(await textOf(door, state)).toBe(stateText(5));
    expect(await door.head(state, call)).toMatchObject({
      ...{ state: "present", serial: 5, lineage: "L" },
    });
    const managed = { mode: "managed", type: "a", name: "b", instances: [] };
    const next = JSON.stringify({ ...JSON.parse(stateText(6)), resources: [managed, managed] });
    await subject.write(state, r1, next);
    expect(await door.head(state, call)).toMatchObject({ serial: 6, resources: 2 });
    expect(await textOf(door, state)).toBe(next);
  });

  test("states of other objects and workspaces are apart", async () => {
    const { door, state } = await bench.begun();
    for (const other of [
      { ...state, workspace: "dev" },
      { ...state, name: "default" },
    ]) {
      expect(await door.head(other, call)).toMatchObject({ state: "absent" });
      expect(await door.lock(other, call)).toBeUndefined();
      expect(await door.rescued(other, call)).toEqual([]);
    }
  });
}

function locks(bench: Bench): void {
  test("tells who holds it: the run of ours, and what for", async () => {
    const { door, state, r1 } = await bench.begun();
    expect(await door.lock(state, call)).toMatchObject({
      ...{ id: "l-r1", runId: r1, operation: "OperationTypeApply" },
      created: "2026-01-01T00:00:00.123456789Z",
    });
  });

  test("is released by its id alone, and once", async () => {
    const { door, state, subject, r2 } = await bench.begun();
    expect(await door.release(state, "l-r0", "A test", call)).toBe(false);
    expect(await door.lock(state, call)).toMatchObject({ id: "l-r1" });
    expect(await door.release(state, "l-r1", "A test", call)).toBe(true);
    expect(await door.lock(state, call)).toBeUndefined();
    expect(await door.release(state, "l-r1", "A test", call)).toBe(false);
    await door.access(state, r2, call);
    await subject.takeLock(state, r2, "l-r2");
    expect(await door.release(state, "l-r1", "A test", call)).toBe(false);
    expect(await door.lock(state, call)).toMatchObject({ id: "l-r2", runId: r2 });
  });

  test("is asked of and released by calls that have not ended", async () => {
    const { door, state } = await bench.begun();
    const over = { signal: AbortSignal.abort(new Error("Too late")) };
    await expect(door.release(state, "l-r1", "A test", over)).rejects.toThrow();
    expect(await door.lock(state, call)).toMatchObject({ id: "l-r1" });
  });
}

function rescues(bench: Bench): void {
  const aside = (runId: string, serial: number) => [
    expect.objectContaining({ runId, serial, id: expect.any(String) }),
  ];

  test("becomes current while its lock is held, which stays; again the same", async () => {
    const { door, state, subject, r1 } = await bench.begun();
    await subject.write(state, r1, stateText(6));
    const answer = await door.rescue(state, r1, bytes(8), call);
    expect(answer.became).toBe("current");
    expect(await textOf(door, state)).toBe(stateText(8));
    expect(await door.rescue(state, r1, bytes(8), call)).toEqual(answer);
    expect(await door.lock(state, call)).toMatchObject({ id: "l-r1", runId: r1 });
    expect(await door.rescued(state, call)).toEqual([]);
  });

  test("becomes current where there was none", async () => {
    const { door, state, subject, r1 } = await bench.arena();
    await subject.note(state);
    await door.access(state, r1, call);
    expect(await door.rescue(state, r1, bytes(1), call)).toMatchObject({ became: "current" });
    expect(await textOf(door, state)).toBe(stateText(1));
  });

  test("becomes current if the lock is free and nobody wrote since; it stays free", async () => {
    const { door, state, subject, r1 } = await bench.begun();
    await subject.returnLock(state, r1, "l-r1");
    expect(await door.rescue(state, r1, bytes(6), call)).toMatchObject({ became: "current" });
    expect(await textOf(door, state)).toBe(stateText(6));
    expect(await door.lock(state, call)).toBeUndefined();
  });

  test("is kept aside if the lock was free and somebody wrote", async () => {
    const { door, state, subject, r1, r2 } = await bench.begun();
    await subject.returnLock(state, r1, "l-r1");
    await door.access(state, r2, call);
    await subject.takeLock(state, r2, "l-r2");
    await subject.write(state, r2, stateText(6, "of r2"));
    await subject.returnLock(state, r2, "l-r2");
    expect(await door.rescue(state, r1, bytes(9), call)).toMatchObject({ became: "aside" });
    expect(await textOf(door, state)).toBe(stateText(6, "of r2"));
    expect(await door.rescued(state, call)).toEqual(aside(r1, 9));
  });

  const misfits: Record<string, Parameters<typeof stateText>> = {
    "of another lineage": [9, "", "X"],
    "of a lower serial": [4],
    "of the same serial with other content": [5, "other"],
  };
  test.each(Object.entries(misfits))("is kept aside: one %s", async (_why, parts) => {
    const { door, state, r1 } = await bench.begun();
    const answer = await door.rescue(state, r1, bytes(...parts), call);
    expect(answer.became).toBe("aside");
    expect(await textOf(door, state)).toBe(stateText(5));
    expect(await door.rescued(state, call)).toEqual(aside(r1, parts[0]));
    expect(await door.rescue(state, r1, bytes(...parts), call)).toEqual(answer);
    expect(await door.rescued(state, call)).toEqual(aside(r1, parts[0]));
  });

  test("is kept aside while another run holds the lock, which stays", async () => {
    const { door, state, r2 } = await bench.begun();
    await door.access(state, r2, call);
    expect(await door.rescue(state, r2, bytes(9), call)).toMatchObject({ became: "aside" });
    expect(await door.lock(state, call)).toMatchObject({ id: "l-r1" });
    expect(await textOf(door, state)).toBe(stateText(5));
  });

  test("is kept aside once the run was revoked", async () => {
    const { door, state, r1 } = await bench.begun();
    await door.revoke(r1, "killed by signal 9", call);
    await door.revoke(r1, "killed by signal 9", call);
    expect(await door.rescue(state, r1, bytes(6), call)).toMatchObject({ became: "aside" });
    expect(await textOf(door, state)).toBe(stateText(5));
    await expect(door.access(state, r1, call)).rejects.toThrow(StateRefused);
  });

  test("of one run that grows, the last alone is kept aside", async () => {
    const { door, state, r1 } = await bench.begun();
    await door.revoke(r1, "killed by signal 9", call);
    await door.rescue(state, r1, bytes(7), call);
    await door.rescue(state, r1, bytes(8), call);
    expect(await door.rescued(state, call)).toEqual(aside(r1, 8));
  });

  test("is refused if it is no state", async () => {
    const { door, state, r1 } = await bench.begun();
    const torn = new TextEncoder().encode('{"version":4,"lineage":"secret');
    const words = /is left as it is, what was given is no state file: it is cut off$/;
    await expect(door.rescue(state, r1, torn, call)).rejects.toThrow(words);
    expect(await door.rescued(state, call)).toEqual([]);
  });
}
