import { describe, expect, test } from "vitest";
import type { ConfigMap } from "../../api/core.ts";
import type { ObjectStore } from "../../ports/object-store.ts";
import { objectStoreContract } from "../../testing/contracts/object-store.ts";
import { seededRandom, settle, VirtualClock } from "../../testing/fakes/clock.ts";
import { type EventFate, StoreFaults } from "./faults.ts";
import { memoryObjectStore } from "./object-store.ts";

function open() {
  const clock = new VirtualClock();
  const faults = new StoreFaults();
  const keep = { count: 20, bytes: 1_000_000 };
  const store = memoryObjectStore({ clock, random: seededRandom(1), faults, keep });
  return { clock, faults, store };
}

describe("the contract", () => {
  objectStoreContract(async () => {
    const options = { clock: new VirtualClock(), random: seededRandom(1) };
    return { store: memoryObjectStore(options), close: async () => undefined };
  });
});
describe("the contract, with faults that do nothing", () => {
  objectStoreContract(async () => ({ store: open().store, close: async () => undefined }));
});

const call = () => ({ signal: AbortSignal.timeout(10_000) });
function map(name: string): ConfigMap {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" } };
}
const refTo = (name: string) => ({ kind: "ConfigMap", namespace: "default", name }) as const;
/** What a watch says from now on, as short lines; ends with the error's code. */
function listen(store: ObjectStore, resourceVersion = "0", signal = new AbortController().signal) {
  const lines: string[] = [];
  void (async () => {
    try {
      for await (const event of store.watch("ConfigMap", { resourceVersion }, { signal })) {
        const what = event.type === "BOOKMARK" ? event.resourceVersion : event.object.metadata.name;
        lines.push(`${event.type} ${what}`);
      }
      lines.push("end");
    } catch (error) {
      lines.push((error as { code: string }).code);
    }
  })();
  return lines;
}

test("a bookmark comes every 30 s, however quiet or busy it is", async () => {
  const { clock, store } = open();
  const lines = listen(store);
  await clock.advance(30_000);
  expect(lines).toEqual(["BOOKMARK 0"]);
  for (let i = 0; i < 9; i++) {
    await clock.advance(5_000);
    await store.create(map(`a-${i}`), call());
    await settle();
  }
  expect(lines.filter((line) => line.startsWith("BOOKMARK"))).toEqual(["BOOKMARK 0", "BOOKMARK 5"]);
  expect(lines).toHaveLength(11);
});

test("a watch from a version no longer kept, or of another store, is told so", async () => {
  const { store } = open();
  for (let i = 0; i < 64; i++) await store.create(map(`a-${i}`), call());
  for (const version of ["0", "43", "65"]) {
    const lines = listen(store, version);
    await settle();
    expect(lines, version).toEqual(["Expired"]);
  }
  const lines = listen(store, "44");
  await settle();
  expect(lines).toHaveLength(20);
  const wrong = listen(store, "abc");
  await settle();
  expect(wrong).toEqual(["Invalid"]);
});

test("a watcher so slow that its place is forgotten is told so", async () => {
  const { store } = open();
  const watch = store.watch("ConfigMap", { resourceVersion: "0" }, call())[Symbol.asyncIterator]();
  await store.create(map("first"), call());
  expect((await watch.next()).value).toMatchObject({ type: "ADDED" });
  for (let i = 0; i < 64; i++) await store.create(map(`a-${i}`), call());
  await expect(watch.next()).rejects.toMatchObject({ code: "Expired" });
});

describe("faults", () => {
  test("the third call fails and does nothing; the others pass", async () => {
    const { faults, store } = open();
    faults.onCall = ({ number }) => (number === 3 ? { fail: "Conflict" } : undefined);
    await store.create(map("a"), call());
    await store.create(map("b"), call());
    await expect(store.create(map("c"), call())).rejects.toMatchObject({ code: "Conflict" });
    expect(await store.get(refTo("c"), call())).toBe(undefined);
  });

  test("a lost answer: the write is done, the caller does not know", async () => {
    const { faults, store } = open();
    faults.onCall = ({ verb }) => (verb === "create" ? { loseAnswer: true } : undefined);
    await expect(store.create(map("a"), call())).rejects.toMatchObject({ code: "Unavailable" });
    expect((await store.get(refTo("a"), call()))?.metadata.name).toBe("a");
  });

  test("a call that hangs ends with its signal and did nothing", async () => {
    const { clock, faults, store } = open();
    faults.onCall = ({ verb }) => (verb === "create" ? { hang: true } : undefined);
    let outcome: unknown;
    const signal = clock.deadline("Creating", 10_000);
    const ended = store.create(map("a"), { signal }).catch((error: unknown) => {
      outcome = error;
    });
    await clock.advance(9_000);
    expect(outcome).toBe(undefined);
    await clock.advance(1_000);
    await ended;
    expect(outcome).toMatchObject({ code: "Unavailable", cause: signal.reason });
    faults.onCall = () => undefined;
    expect(await store.get(refTo("a"), call())).toBe(undefined);
  });

  test("while unavailable nothing works; watches break when told to", async () => {
    const { faults, store } = open();
    const lines = listen(store);
    await settle();
    faults.unavailable = true;
    faults.breakWatches("Unavailable");
    await expect(store.get(refTo("a"), call())).rejects.toMatchObject({ code: "Unavailable" });
    const second = listen(store);
    await settle();
    expect([...lines, ...second]).toEqual(["Unavailable", "Unavailable"]);
    faults.unavailable = false;
    await store.create(map("a"), call());
    const third = listen(store);
    await settle();
    faults.breakWatches("Expired");
    await settle();
    expect(third).toEqual(["ADDED a", "Expired"]);
  });

  test("a slow store answers after its delay", async () => {
    const { clock, faults, store } = open();
    faults.delayMs = 2_000;
    let done = false;
    const made = store.create(map("a"), call()).then(() => {
      done = true;
    });
    await clock.advance(1_999);
    expect(done).toBe(false);
    await clock.advance(1);
    await made;
  });

  const fates: Record<string, { fates: EventFate[]; seen: string }> = {
    "lost events do not come": { fates: ["deliver", "lose"], seen: "a c d" },
    "doubled events come twice": { fates: ["twice"], seen: "a a b c d" },
    "late events come after the next": { fates: ["late"], seen: "b a c d" },
    "several may be late": { fates: ["late", "late"], seen: "c a b d" },
  };
  test.each(Object.entries(fates))("%s", async (_, { fates, seen }) => {
    const { faults, store } = open();
    const left = [...fates];
    faults.onEvent = () => left.shift() ?? "deliver";
    const lines = listen(store);
    for (const name of ["a", "b", "c", "d"]) await store.create(map(name), call());
    await settle();
    expect(lines.map((line) => line.replace("ADDED ", "")).join(" ")).toBe(seen);
  });

  test("stale events come when they are old", async () => {
    const { clock, faults, store } = open();
    faults.eventDelayMs = 1_000;
    const lines = listen(store);
    await store.create(map("a"), call());
    await clock.advance(999);
    expect(lines).toEqual([]);
    await clock.advance(1);
    expect(lines).toEqual(["ADDED a"]);
  });

  test("a watch ends quietly with its call, faults or not", async () => {
    const { store } = open();
    const controller = new AbortController();
    const lines = listen(store, "0", controller.signal);
    await settle();
    controller.abort();
    await settle();
    expect(lines).toEqual(["end"]);
  });
});
