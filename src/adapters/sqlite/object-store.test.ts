import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { ConfigMap } from "../../api/core.ts";
import type { ObjectStore } from "../../ports/object-store.ts";
import { objectStoreContract } from "../../testing/contracts/object-store.ts";
import { createClock } from "../system/clock.ts";
import { systemRandom } from "../system/random.ts";
import { openDatabase } from "./database.ts";
import { sqliteObjectStore } from "./object-store.ts";

const folder = mkdtempSync(join(tmpdir(), "nigari-objects-"));
const clock = createClock();
afterAll(() => {
  clock.close();
  rmSync(folder, { recursive: true });
});
let count = 0;
const fresh = () => join(folder, `${++count}.db`);
function open(path: string, keep?: { count: number; bytes: number }) {
  const database = openDatabase(path, { busyTimeoutMs: 100 });
  const options = keep === undefined ? {} : { keep };
  const store = sqliteObjectStore(database, { clock, random: systemRandom, ...options });
  return { store, database, close: async () => database.close() };
}

describe("the contract", () => objectStoreContract(async () => open(fresh())));

const call = () => ({ signal: AbortSignal.timeout(10_000) });
function map(name: string, data: Record<string, string> = {}): ConfigMap {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, data };
}
async function firstEvent(store: ObjectStore, resourceVersion: string) {
  for await (const event of store.watch("ConfigMap", { resourceVersion }, call())) {
    if (event.type !== "BOOKMARK") return event;
  }
  throw new Error("No event came");
}

test("what was written is there after a restart, versions go on, watches take up", async () => {
  const path = fresh();
  const before = open(path);
  const made = await before.store.create(map("a", { x: "1" }), call());
  await before.close();
  const after = open(path);
  expect((await after.store.list("ConfigMap", {}, call())).items).toEqual([made]);
  const later = await after.store.create(map("b"), call());
  expect(Number(later.metadata.resourceVersion)).toBe(Number(made.metadata.resourceVersion) + 1);
  const event = await firstEvent(after.store, made.metadata.resourceVersion ?? "");
  expect(event).toEqual({ type: "ADDED", object: later });
  await after.close();
});

test("an owner deleted after a restart takes along what it owned before", async () => {
  const path = fresh();
  const before = open(path);
  const owner = await before.store.create(map("owner"), call());
  const owned = map("owned");
  const { apiVersion, kind, metadata } = owner;
  const reference = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? "" };
  owned.metadata.ownerReferences = [reference];
  await before.store.create(owned, call());
  await before.close();
  const after = open(path);
  await after.store.delete({ kind, namespace: "default", name: "owner" }, {}, call());
  expect((await after.store.list("ConfigMap", {}, call())).items).toEqual([]);
  await after.close();
});

test("a watch sees what another process writes within a quarter of a second", async () => {
  const path = fresh();
  const here = open(path);
  const elsewhere = open(path);
  const { resourceVersion } = await here.store.list("ConfigMap", {}, call());
  const waiting = firstEvent(here.store, resourceVersion).then((event) => ({
    event,
    atMs: clock.monotonic(),
  }));
  await clock.sleep(300, call().signal);
  const made = await elsewhere.store.create(map("a"), call());
  const writtenMs = clock.monotonic();
  const { event, atMs } = await waiting;
  expect(event).toEqual({ type: "ADDED", object: made });
  expect(atMs - writtenMs).toBeLessThan(250);
  await here.close();
  await elsewhere.close();
});

test("a watch sees what its own process writes at once", async () => {
  const { store, close } = open(fresh());
  const { resourceVersion } = await store.list("ConfigMap", {}, call());
  const waiting = firstEvent(store, resourceVersion).then(() => clock.monotonic());
  await clock.sleep(20, call().signal);
  await store.create(map("a"), call());
  const writtenMs = clock.monotonic();
  expect((await waiting) - writtenMs).toBeLessThan(50);
  await close();
});

test("the log of changes is bounded by number and by bytes", async () => {
  const byNumber = open(fresh(), { count: 10, bytes: 1_000_000 });
  const byBytes = open(fresh(), { count: 1_000, bytes: 50_000 });
  const kept = ({ database }: typeof byNumber) =>
    database.prepare("SELECT count(*) AS n, sum(size_bytes) AS bytes FROM changes").get();
  for (const { store } of [byNumber, byBytes]) {
    for (let i = 0; i < 64; i++) {
      await store.create(map(`a-${i}`, { x: "y".repeat(2_000) }), call());
    }
  }
  expect(kept(byNumber)?.n).toBe(10);
  expect(Number(kept(byBytes)?.bytes)).toBeLessThanOrEqual(50_000);
  expect(Number(kept(byBytes)?.n)).toBeGreaterThan(15);
  const first = byNumber.store.watch("ConfigMap", { resourceVersion: "1" }, call());
  await expect(first[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "Expired" });
  const still = await firstEvent(byNumber.store, "54");
  expect(still.object.metadata.name).toBe("a-54");
  await byNumber.close();
  await byBytes.close();
});

test("a writer that does not let go makes the store unavailable, not wrong", async () => {
  const path = fresh();
  const { store, close } = open(path);
  const holder = openDatabase(path);
  holder.exec("BEGIN IMMEDIATE");
  await expect(store.create(map("a"), call())).rejects.toMatchObject({
    name: "StoreError",
    code: "Unavailable",
    message: expect.stringMatching(/another process holds it for too long/),
  });
  holder.exec("ROLLBACK");
  await store.create(map("a"), call());
  holder.close();
  await close();
});

test("a full disk refuses the write with its mend, and nothing of it is kept", async () => {
  const { store, database, close } = open(fresh());
  const pages = Object.values(database.prepare("PRAGMA page_count").get() ?? {})[0];
  database.exec(`PRAGMA max_page_count = ${Number(pages) + 2}`);
  await expect(store.create(map("a", { x: "y".repeat(50_000) }), call())).rejects.toMatchObject({
    code: "Unavailable",
    message: expect.stringMatching(/: the disk is full; make room$/),
  });
  expect(await store.list("ConfigMap", {}, call())).toEqual({ resourceVersion: "0", items: [] });
  await store.create(map("b"), call());
  await close();
});

test("two processes that write in turn never give one version twice", async () => {
  const path = fresh();
  const [one, two] = [open(path), open(path)];
  const versions: (string | undefined)[] = [];
  for (let i = 0; i < 10; i++) {
    for (const [who, { store }] of [one, two].entries()) {
      const made = await store.create(map(`a-${i}-${who}`), call());
      versions.push(made.metadata.resourceVersion);
    }
  }
  expect(new Set(versions).size).toBe(20);
  expect(versions).toEqual(versions.toSorted((a, b) => Number(a) - Number(b)));
  await one.close();
  await two.close();
});
