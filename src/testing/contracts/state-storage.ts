import { createHash } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { HISTORY_VERSIONS_MAX } from "../../domain/state-guards.ts";
import type { Call } from "../../ports/call.ts";
import {
  EpochOver,
  type StateAdmin,
  type StateId,
  type StateLock,
  StateRefused,
  type StateStorage,
  type StateWritten,
} from "../../ports/state.ts";
import { VirtualClock } from "../fakes/clock.ts";

export type StatesUnderTest = StateStorage & StateAdmin;

const call = { signal: new AbortController().signal };
const home: StateId = { namespace: "team", name: "net", workspace: "default" };
const hash = (text: string) => createHash("sha256").update(text).digest();

/** A state file of this serial; what differs in `mark` is other content. */
export function stateText(serial: number, mark = "", lineage = "L"): string {
  return JSON.stringify({ version: 4, terraform_version: "1.12.6", serial, lineage, mark });
}
const stateBytes = (...of: Parameters<typeof stateText>) =>
  new TextEncoder().encode(stateText(...of));

export function lockOf(runId: string, id: string, state = home): StateLock {
  return {
    state,
    runId,
    id,
    operation: "OperationTypeApply",
    info: "",
    who: "me@here",
    version: "1.12.6",
    created: "2026-01-01T00:00:00.123456789Z",
    path: "",
  };
}

/** What every keeper of states must do. */
export function stateStorageContract(make: (clock: VirtualClock) => StatesUnderTest): void {
  let states: StatesUnderTest;
  let clock: VirtualClock;
  beforeEach(() => {
    clock = new VirtualClock();
    states = make(clock);
  });

  /** The run gets access and the lock `l-<run>`. */
  async function begin(runId: string, state = home): Promise<void> {
    await states.grant(state, runId, hash(runId), call);
    expect(await states.takeLock(lockOf(runId, `l-${runId}`, state), call)).toEqual({
      taken: true,
    });
  }
  async function end(runId: string, state = home): Promise<void> {
    expect(await states.returnLock(state, runId, `l-${runId}`, call)).toEqual({ returned: true });
  }
  function write(runId: string, text: string, lockId?: string): Promise<StateWritten> {
    return states.write({ state: home, runId, lockId: lockId ?? `l-${runId}` }, slow(text), call);
  }
  async function written(runId: string, text: string): Promise<void> {
    await begin(runId);
    expect(await write(runId, text)).toMatchObject({ became: "current", repeated: false });
    await end(runId);
  }
  async function read(state = home): Promise<string | undefined> {
    const content = await states.read(state, call);
    if (content === undefined) return undefined;
    const chunks: Uint8Array[] = [];
    for await (const chunk of content.chunks) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    expect(bytes.length).toBe(content.sizeBytes);
    return bytes.toString();
  }
  async function kept(): Promise<string[]> {
    const versions = await states.versions(home, call);
    return versions.map(({ serial, kept, runId }) => `${serial} ${kept} ${runId ?? "a person"}`);
  }
  const grantee = (runId: string) => states.granted(runId, call);

  describe("reading and writing", () => {
    test("nothing is there at first", async () => {
      expect(await read()).toBeUndefined();
      expect(await states.list(call)).toEqual([]);
      expect(await states.versions(home, call)).toEqual([]);
      expect(await states.lock(home, call)).toBeUndefined();
      expect(await states.show(home, undefined, call)).toBeUndefined();
    });

    test("what is written is read, and what was before is history", async () => {
      await begin("r1");
      await write("r1", stateText(1));
      await write("r1", stateText(2));
      expect(await read()).toBe(stateText(2));
      expect(await kept()).toEqual(["2 current r1", "1 history r1"]);
      const [, first] = await states.versions(home, call);
      expect(first).toMatchObject({ lineage: "L", at: "2026-01-01T00:00:00.000Z" });
      const old = await states.show(home, first?.id, call);
      expect(new TextDecoder().decode(old)).toBe(stateText(1));
      expect(await states.show(home, "v999", call)).toBeUndefined();
    });

    test("states of other objects and workspaces are apart", async () => {
      await written("r1", stateText(1));
      for (const other of [
        { ...home, workspace: "dev" },
        { ...home, name: "default" },
        { ...home, namespace: "net" },
      ]) {
        expect(await read(other)).toBeUndefined();
        expect(await states.lock(other, call)).toBeUndefined();
        expect(await states.versions(other, call)).toEqual([]);
      }
    });

    test("the same write again changes nothing: its answer may have been lost", async () => {
      await begin("r1");
      const first = await write("r1", stateText(1));
      expect(await write("r1", stateText(1))).toEqual({ ...first, repeated: true });
      await end("r1");
      expect(await write("r1", stateText(1))).toEqual({ ...first, repeated: true });
      expect(await kept()).toEqual(["1 current r1"]);
    });

    test("what is no state is not kept", async () => {
      await written("r1", stateText(1));
      await begin("r2");
      for (const text of ["", "{", '{"version":4}']) {
        expect(await write("r2", text)).toMatchObject({ became: "nothing" });
      }
      expect(await kept()).toEqual(["1 current r1"]);
    });

    test("a write that breaks off keeps nothing and says why", async () => {
      await begin("r1");
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield stateBytes(1);
        throw new Error("The line is dead");
      }
      const failing = states.write({ state: home, runId: "r1", lockId: "l-r1" }, broken(), call);
      await expect(failing).rejects.toThrow("The line is dead");
      expect(await kept()).toEqual([]);
    });

    test("a bounded number of versions is kept", async () => {
      await begin("r1");
      const last = HISTORY_VERSIONS_MAX + 3;
      for (let serial = 1; serial <= last; serial++) await write("r1", stateText(serial));
      const serials = (await states.versions(home, call)).map(({ serial }) => serial);
      expect(serials).toEqual(Array.from({ length: last - 2 }, (_, i) => last - i));
      expect(await read()).toBe(stateText(last));
    });

    test("a removed state is history, and another may follow", async () => {
      await begin("r1");
      await write("r1", stateText(5));
      expect(await states.remove(home, "r2", call)).toBe("refused");
      expect(await states.remove(home, "r1", call)).toBe("removed");
      expect(await states.remove(home, "r1", call)).toBe("removed");
      expect(await read()).toBeUndefined();
      expect(await kept()).toEqual(["5 history r1"]);
      expect(await write("r1", stateText(1, "", "X"))).toMatchObject({ became: "current" });
      await end("r1");
      expect(await states.remove(home, "r1", call)).toBe("refused");
    });
  });

  describe("what is kept aside", () => {
    const attempts: Record<string, { text: string; lockId?: string; why: RegExp }> = {
      "another lineage": { text: stateText(9, "", "X"), why: /lineage is X/ },
      "a lower serial": { text: stateText(4), why: /serial 4/ },
      "the same serial with other content": { text: stateText(5, "other"), why: /serial 5/ },
      "a write that names a lock of before": {
        text: stateText(6),
        lockId: "l-before",
        why: /another lock/,
      },
    };
    test.each(Object.entries(attempts))("%s", async (_why, { text, lockId, why }) => {
      await written("r1", stateText(5));
      await begin("r2");
      const answer = await write("r2", text, lockId);
      expect(answer).toMatchObject({ became: "aside", why: expect.stringMatching(why) });
      expect(await read()).toBe(stateText(5));
      const id = "id" in answer ? answer.id : "";
      const aside = await states.show(home, id, call);
      expect(new TextDecoder().decode(aside)).toBe(text);
      expect(await states.rescued(home, call)).toEqual([
        { id, runId: "r2", serial: JSON.parse(text).serial, at: "2026-01-01T00:00:00.000Z" },
      ]);
    });

    test("a write without the lock", async () => {
      await states.grant(home, "r1", hash("r1"), call);
      expect(await write("r1", stateText(1))).toMatchObject({ became: "aside" });
      expect(await read()).toBeUndefined();
    });

    test("a write while another run holds the lock", async () => {
      await begin("r1");
      await states.grant(home, "r2", hash("r2"), call);
      expect(await write("r2", stateText(1), "l-r1")).toMatchObject({ became: "aside" });
      expect(await write("r1", stateText(1, "mine"))).toMatchObject({ became: "current" });
    });

    test("of one run's growing state, the last alone", async () => {
      await states.grant(home, "r1", hash("r1"), call);
      await states.grant(home, "r2", hash("r2"), call);
      for (const serial of [1, 2, 3]) await write("r1", stateText(serial));
      const answer = await write("r2", stateText(1, "another run's"));
      await write("r1", stateText(4));
      expect(await kept()).toEqual(["4 aside r1", "1 aside r2"]);
      expect(await write("r2", stateText(1, "another run's"))).toEqual(answer);
      expect(await kept()).toEqual(["4 aside r1", "1 aside r2"]);
    });

    test("it is dropped when a person says so", async () => {
      await written("r1", stateText(5));
      await write("r1", stateText(6));
      const [aside] = await states.rescued(home, call);
      await states.drop(home, aside?.id ?? "", call);
      expect(await kept()).toEqual(["5 current r1"]);
      await expect(states.drop(home, aside?.id ?? "", call)).rejects.toThrow(StateRefused);
    });

    test("neither the current version nor one of history can be dropped", async () => {
      await begin("r1");
      await write("r1", stateText(1));
      await write("r1", stateText(2));
      for (const { id } of await states.versions(home, call)) {
        await expect(states.drop(home, id, call)).rejects.toThrow(
          `State team/net (workspace default) has no version ${id} that was kept aside`,
        );
      }
    });
  });

  describe("locks", () => {
    test("one run at a time; the other is told who", async () => {
      await begin("r1");
      await states.grant(home, "r2", hash("r2"), call);
      const holder = lockOf("r1", "l-r1");
      expect(await states.takeLock(lockOf("r2", "l-r2"), call)).toEqual({ taken: false, holder });
      expect(await states.takeLock(lockOf("r2", "l-r1"), call)).toEqual({ taken: false, holder });
      expect(await states.takeLock(lockOf("r1", "another"), call)).toEqual({
        taken: false,
        holder,
      });
      expect(await states.lock(home, call)).toEqual({
        id: "l-r1",
        operation: "OperationTypeApply",
        who: "me@here",
        created: "2026-01-01T00:00:00.123456789Z",
        runId: "r1",
      });
      await end("r1");
      expect(await states.lock(home, call)).toBeUndefined();
      expect(await states.takeLock(lockOf("r2", "l-r2"), call)).toEqual({ taken: true });
    });

    test("taking and returning it again is fine: the answers may have been lost", async () => {
      await begin("r1");
      expect(await states.takeLock(lockOf("r1", "l-r1"), call)).toEqual({ taken: true });
      await end("r1");
      await end("r1");
      await begin("r2");
      await end("r1");
      expect(await states.lock(home, call)).toMatchObject({ runId: "r2" });
    });

    test("only who took it returns it", async () => {
      await begin("r1");
      const holder = lockOf("r1", "l-r1");
      expect(await states.returnLock(home, "r2", "l-r1", call)).toEqual({
        returned: false,
        holder,
      });
      expect(await states.returnLock(home, "r1", "x", call)).toEqual({ returned: false, holder });
      expect(await states.lock(home, call)).toMatchObject({ id: "l-r1" });
    });

    test("it is released by its id, for whoever has proof", async () => {
      await begin("r1");
      expect(await states.release(home, "x", "A test", call)).toBe(false);
      expect(await states.release(home, "l-r1", "A test", call)).toBe(true);
      expect(await states.release(home, "l-r1", "A test", call)).toBe(false);
      expect(await write("r1", stateText(1))).toMatchObject({ became: "aside" });
      await end("r1");
    });
  });

  describe("access", () => {
    test("a stranger has none", async () => {
      expect(await grantee("r1")).toBeUndefined();
      expect(await states.takeLock(lockOf("r1", "l"), call)).toEqual({
        taken: false,
        holder: undefined,
      });
      expect(await write("r1", stateText(1))).toMatchObject({ became: "aside" });
    });

    test("a launch that is repeated adds a password; the first stays good", async () => {
      await states.grant(home, "r1", hash("a"), call);
      await states.grant(home, "r1", hash("b"), call);
      const grant = await grantee("r1");
      expect(grant).toMatchObject({ state: home, revoked: false });
      const hashes = grant?.passwordHashes.map((each) => Buffer.from(each).toString("hex"));
      expect(hashes?.toSorted()).toEqual(
        [hash("a").toString("hex"), hash("b").toString("hex")].toSorted(),
      );
    });

    test("a run has access to one state", async () => {
      await states.grant(home, "r1", hash("a"), call);
      const other = { ...home, name: "other" };
      await expect(states.grant(other, "r1", hash("a"), call)).rejects.toThrow(StateRefused);
      expect(await grantee("r1")).toMatchObject({ state: home });
    });

    test("a revoked run keeps its access, but its writes are kept aside", async () => {
      await written("r1", stateText(1));
      await begin("r2");
      await write("r2", stateText(2));
      await states.revoke("r2", "killed by signal 9", call);
      expect(await grantee("r2")).toMatchObject({ revoked: true });
      expect(await write("r2", stateText(2))).toMatchObject({ became: "current", repeated: true });
      expect(await write("r2", stateText(3))).toMatchObject({ became: "aside" });
      expect(await states.remove(home, "r2", call)).toBe("refused");
      expect(await read()).toBe(stateText(2));
      await end("r2");
      expect(await states.takeLock(lockOf("r2", "l"), call)).toEqual({
        taken: false,
        holder: undefined,
      });
      await expect(states.grant(home, "r2", hash("x"), call)).rejects.toThrow(
        "Run r2 was revoked; start a new run",
      );
    });

    test("a write that is under way while its run is revoked is kept aside", async () => {
      await begin("r1");
      async function* revokedMeanwhile(): AsyncGenerator<Uint8Array> {
        yield stateBytes(1);
        await states.revoke("r1", "killed by signal 9", call);
      }
      const target = { state: home, runId: "r1", lockId: "l-r1" };
      expect(await states.write(target, revokedMeanwhile(), call)).toMatchObject({
        became: "aside",
      });
    });

    test("to revoke an unknown run, or one twice, is fine", async () => {
      await begin("r1");
      await states.revoke("nobody", "a test", call);
      await states.revoke("r1", "a test", call);
      await states.revoke("r1", "another test", call);
      expect(await grantee("r1")).toMatchObject({ revoked: true });
    });
  });

  describe("the epoch of who asks", () => {
    const by = (epoch: number) => ({ ...call, epoch });
    const asked: Readonly<Record<string, (call: Call) => Promise<unknown>>> = {
      grant: (as) => states.grant(home, "r1", hash("another"), as),
      revoke: (as) => states.revoke("r1", "a test", as),
      release: (as) => states.release(home, "l-r1", "A test", as),
      rescue: (as) => states.rescue(home, "r1", stateBytes(5), as),
    };

    test.each(Object.entries(asked))("to %s is refused to one that is over", async (_, ask) => {
      await begin("r1");
      await states.revoke("nobody", "a test", by(7));
      const failed = await ask(by(6)).catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(EpochOver);
      expect(failed).toMatchObject({
        message: "Epoch 6 is over: an engine of epoch 7 leads; stop this one",
      });
      expect(await states.lock(home, call)).toMatchObject({ id: "l-r1" });
      const grant = await states.granted("r1", call);
      expect(grant?.revoked).toBe(false);
      expect(grant?.passwordHashes).toHaveLength(1);
      expect(await kept()).toEqual([]);
    });

    test.each(Object.entries(asked))("to %s is done for any other", async (_, ask) => {
      await begin("r1");
      await ask(by(7));
      await states.release(home, "none", "A test", by(7));
      await states.release(home, "none", "A test", by(9));
      // Runs and people have none.
      await states.release(home, "none", "A test", call);
      await expect(ask(by(8))).rejects.toThrow(EpochOver);
    });
  });

  describe("a state left behind by a run", () => {
    test("becomes current if the run still holds the lock, again and again", async () => {
      await written("r0", stateText(1));
      await begin("r1");
      const answer = await states.rescue(home, "r1", stateBytes(3), call);
      expect(answer.became).toBe("current");
      expect(await states.rescue(home, "r1", stateBytes(3), call)).toEqual(answer);
      await written2("r1", stateText(4));
      expect(await states.rescue(home, "r1", stateBytes(3), call)).toEqual(answer);
      expect(await kept()).toEqual(["4 current r1", "3 history r1", "1 history r0"]);
    });
    async function written2(runId: string, text: string): Promise<void> {
      expect(await write(runId, text)).toMatchObject({ became: "current" });
    }

    test("becomes current if the lock is free and nobody wrote since", async () => {
      await written("r0", stateText(1));
      await begin("r1");
      await states.release(home, "l-r1", "A test", call);
      expect(await write("r1", stateText(2))).toMatchObject({ became: "aside" });
      expect(await states.rescue(home, "r1", stateBytes(2), call)).toMatchObject({
        became: "current",
      });
      expect(await kept()).toEqual(["2 current r1", "1 history r0"]);
    });

    test("is kept aside if another run wrote since, whatever its serial", async () => {
      await written("r0", stateText(1));
      await begin("r1");
      await states.release(home, "l-r1", "A test", call);
      await written("r2", stateText(2));
      const answer = await states.rescue(home, "r1", stateBytes(9), call);
      expect(answer.became).toBe("aside");
      expect(await states.rescue(home, "r1", stateBytes(9), call)).toEqual(answer);
      expect(await kept()).toEqual(["9 aside r1", "2 current r2", "1 history r0"]);
    });

    test("is kept aside if a person accepted something since, whenever that came", async () => {
      await states.grant(home, "r0", hash("r0"), call);
      await write("r0", stateText(5));
      const [aside] = await states.rescued(home, call);
      await states.grant(home, "r1", hash("r1"), call);
      await states.push(home, { from: "rescued", id: aside?.id ?? "", force: false }, call);
      expect(await states.rescue(home, "r1", stateBytes(9), call)).toMatchObject({
        became: "aside",
      });
    });

    test("is kept aside while another run holds the lock, or if its own was revoked", async () => {
      await begin("r1");
      await states.grant(home, "r2", hash("r2"), call);
      expect(await states.rescue(home, "r2", stateBytes(1), call)).toMatchObject({
        became: "aside",
      });
      await states.revoke("r1", "a test", call);
      expect(await states.rescue(home, "r1", stateBytes(2), call)).toMatchObject({
        became: "aside",
      });
      expect(await read()).toBeUndefined();
    });

    test("is refused if it is no state", async () => {
      await begin("r1");
      const torn = new TextEncoder().encode('{"version":4,');
      await expect(states.rescue(home, "r1", torn, call)).rejects.toThrow(
        "State team/net (workspace default) is left as it is, what was given is no state file: " +
          "it is cut off",
      );
    });
  });

  describe("what a person pushes", () => {
    const push = (text: string, force = false) =>
      states.push(home, { from: "content", content: new TextEncoder().encode(text), force }, call);

    test("becomes current", async () => {
      expect(await push(stateText(1))).toEqual({
        ...home,
        serial: 1,
        lineage: "L",
        sizeBytes: stateText(1).length,
        updatedAt: "2026-01-01T00:00:00.000Z",
        lock: undefined,
        rescued: [],
      });
      await push(stateText(2));
      await push(stateText(2));
      expect(await kept()).toEqual(["2 current a person", "1 history a person"]);
    });

    test("is refused where it would lose something, but for force", async () => {
      await push(stateText(5));
      await expect(push(stateText(5, "x"))).rejects.toThrow(StateRefused);
      await expect(push(stateText(9, "", "X"))).rejects.toThrow(
        "State team/net (workspace default) is not replaced: its lineage is X, " +
          "that of the current state L; look at both, and use --force",
      );
      await expect(push("{}", true)).rejects.toThrow("what was given is no state file");
      expect(await read()).toBe(stateText(5));
      expect(await push(stateText(4), true)).toMatchObject({ serial: 4 });
      expect(await push(stateText(1, "", "X"), true)).toMatchObject({ lineage: "X" });
    });

    test("is refused while a run holds the lock, also with force", async () => {
      await begin("r1");
      await expect(push(stateText(1), true)).rejects.toThrow(
        "State team/net (workspace default) is locked by run r1 (lock l-r1)",
      );
    });

    test("may be what was kept aside, by its id, under the same rules", async () => {
      await written("r1", stateText(1));
      await write("r1", stateText(2));
      await states.grant(home, "r2", hash("r2"), call);
      await write("r2", stateText(9, "", "X"));
      const [other, late] = await states.rescued(home, call);
      const accept = (id: string | undefined, force: boolean) =>
        states.push(home, { from: "rescued", id: id ?? "", force }, call);
      await begin("r3");
      await expect(accept(late?.id, true)).rejects.toThrow("is locked by run r3");
      await end("r3");
      expect(await accept(late?.id, false)).toMatchObject({ serial: 2, rescued: [other] });
      expect(await read()).toBe(stateText(2));
      await expect(accept(late?.id, true)).rejects.toThrow("has no version");
      await expect(accept(other?.id, false)).rejects.toThrow("its lineage is X");
      expect(await accept(other?.id, true)).toMatchObject({ lineage: "X", rescued: [] });
      expect(await read()).toBe(stateText(9, "", "X"));
    });

    test("that is aside and current at once leaves nothing aside", async () => {
      await states.grant(home, "r1", hash("r1"), call);
      await write("r1", stateText(1));
      const [aside] = await states.rescued(home, call);
      await push(stateText(1));
      expect(await states.rescued(home, call)).toEqual([]);
      await expect(
        states.push(home, { from: "rescued", id: aside?.id ?? "", force: false }, call),
      ).rejects.toThrow(StateRefused);
    });
  });

  describe("what the current state is", () => {
    const managed = { mode: "managed", type: "a", name: "b", instances: [] };
    const withResources = (serial: number, count: number) =>
      JSON.stringify({ ...JSON.parse(stateText(serial)), resources: Array(count).fill(managed) });

    test("nothing, before anything was written", async () => {
      expect(await states.head(home, call)).toEqual({ state: "absent", former: undefined });
      await states.grant(home, "r1", hash("r1"), call);
      await write("r1", stateText(7));
      expect(await states.head(home, call), "aside is not current").toEqual({
        state: "absent",
        former: undefined,
      });
    });

    test("its serial, lineage and resources, and whether a run wrote it", async () => {
      await written("r1", withResources(1, 2));
      const head = { state: "present", serial: 1, lineage: "L", resources: 2, runId: "r1" };
      expect(await states.head(home, call)).toEqual(head);
      const content = new TextEncoder().encode(withResources(2, 0));
      await states.push(home, { from: "content", content, force: false }, call);
      const pushed = { ...head, serial: 2, resources: 0, runId: undefined };
      expect(await states.head(home, call)).toEqual(pushed);
      const counts = (await states.versions(home, call)).map(({ resources }) => resources);
      expect(counts).toEqual([0, 2]);
    });

    test("of one that was removed, what it was last", async () => {
      await begin("r1");
      await write("r1", withResources(1, 1));
      await write("r1", withResources(2, 3));
      await states.remove(home, "r1", call);
      expect(await states.head(home, call)).toEqual({
        state: "absent",
        former: { serial: 2, lineage: "L", resources: 3 },
      });
    });
  });

  describe("a rollback", () => {
    const plain = (serial: number, mark = "", lineage = "L") =>
      JSON.stringify({ ...JSON.parse(stateText(serial, mark, lineage)), resources: [] });
    const to = (version: string | undefined, force = false) =>
      states.rollback(home, { version: version ?? "", force }, call);
    const ids = async () => (await states.versions(home, call)).map(({ id }) => id);

    test("makes the old content a new version with a higher serial", async () => {
      await written("r1", plain(1, "old"));
      await written("r2", plain(12, "bad"));
      const [, old] = await ids();
      expect(await to(old)).toMatchObject({ serial: 13, lineage: "L" });
      expect(await read()).toBe(plain(13, "old"));
      expect(await kept()).toEqual(["13 current a person", "12 history r2", "1 history r1"]);
      const [newest] = await ids();
      expect(await ids()).toHaveLength(3);
      await expect(to(newest)).rejects.toThrow("is this very version already");
      await written("r3", plain(14, "on"));
      expect(await read()).toBe(plain(14, "on"));
    });

    test("brings back a state that was removed, above all serials that were", async () => {
      await begin("r1");
      await write("r1", plain(1, "a"));
      await write("r1", plain(8, "b"));
      await states.remove(home, "r1", call);
      await end("r1");
      const [, first] = await ids();
      expect(await to(first)).toMatchObject({ serial: 9 });
      expect(await read()).toBe(plain(9, "a"));
    });

    test("is refused while a run holds the lock, also with force", async () => {
      await written("r1", plain(1, "old"));
      await written("r2", plain(2));
      const [, old] = await ids();
      await begin("r3");
      for (const force of [false, true]) {
        await expect(to(old, force)).rejects.toThrow(
          "State team/net (workspace default) is locked by run r3 (lock l-r3)",
        );
      }
      await end("r3");
      expect(await to(old)).toMatchObject({ serial: 3 });
    });

    test("to another lineage needs force", async () => {
      await written("r1", plain(5, "", "A"));
      const content = new TextEncoder().encode(plain(1, "", "B"));
      await states.push(home, { from: "content", content, force: true }, call);
      const [, former] = await ids();
      await expect(to(former)).rejects.toThrow("has lineage A, the current state B");
      expect(await to(former, true)).toMatchObject({ lineage: "A", serial: 6 });
    });

    test("of an encrypted version is refused with the way round", async () => {
      await written("r1", JSON.stringify({ serial: 1, lineage: "L", encrypted_data: "x" }));
      await written("r2", plain(2));
      const [, old] = await ids();
      await expect(to(old, true)).rejects.toThrow(/is encrypted.*nigari state push --force/);
      expect(await read()).toBe(plain(2));
    });

    test("to what does not exist, or was kept aside, is refused", async () => {
      await written("r1", plain(1));
      await write("r1", plain(9, "late"));
      const [aside] = await states.rescued(home, call);
      for (const id of ["v999", "", aside?.id]) {
        await expect(to(id)).rejects.toThrow(`has no version ${id} to roll back to`);
      }
      expect(await kept()).toEqual(["9 aside r1", "1 current r1"]);
    });
  });

  test("every state is listed that has content, a lock, or something aside", async () => {
    await written("r1", stateText(1));
    await begin("r2", { ...home, workspace: "dev" });
    await states.grant({ ...home, name: "a" }, "r3", hash("r3"), call);
    await states.grant({ ...home, name: "b" }, "r4", hash("r4"), call);
    const late = { state: { ...home, name: "b" }, runId: "r4", lockId: "x" };
    await states.write(late, slow(stateText(1)), call);
    const found = await states.list(call);
    expect(found.map(({ name, workspace, serial }) => `${name} ${workspace} ${serial}`)).toEqual([
      "b default 0",
      "net default 1",
      "net dev 0",
    ]);
    expect(found[0]?.rescued).toHaveLength(1);
    expect(found[2]?.lock?.runId).toBe("r2");
  });

  test("a call that has ended does nothing", async () => {
    await begin("r1");
    const over = { signal: AbortSignal.abort(new Error("Too late")) };
    await expect(states.release(home, "l-r1", "A test", over)).rejects.toThrow("Too late");
    await expect(states.rescue(home, "r1", stateBytes(1), over)).rejects.toThrow("Too late");
    expect(await states.lock(home, call)).toBeDefined();
    expect(await kept()).toEqual([]);
  });
}

/** The text in pieces, as from a line. */
async function* slow(text: string): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += 40) yield bytes.subarray(at, at + 40);
}
