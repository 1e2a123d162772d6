import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openDatabase } from "../../src/adapters/sqlite/database.ts";
import { sqliteObjectStore } from "../../src/adapters/sqlite/object-store.ts";
import { createClock } from "../../src/adapters/system/clock.ts";
import { systemRandom } from "../../src/adapters/system/random.ts";

const writer = join(import.meta.dirname, "support/store-writer.ts");
const clock = createClock();
let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nigari-store-"));
  path = join(folder, "nigari.db");
});
afterEach(() => rmSync(folder, { recursive: true }));

const call = () => ({ signal: AbortSignal.timeout(60_000) });
function open() {
  const database = openDatabase(path, { check: true });
  return { database, store: sqliteObjectStore(database, { clock, random: systemRandom }) };
}
function write(name: string, count?: number) {
  const rounds = count === undefined ? [] : [String(count)];
  const child = spawn(process.execPath, [writer, path, name, ...rounds], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return { child, said: text(child.stdout), ended: once(child, "exit") };
}

test("a writer killed at any moment: what it was told is there, nothing is half done", async () => {
  for (const afterMs of [5, 20, 35, 50, 80, 130, 210, 340]) {
    const { child, said, ended } = write("a");
    await Promise.race([once(child.stdout, "data"), ended]);
    await clock.sleep(afterMs, call().signal);
    child.kill("SIGKILL");
    await ended;
    const lines = (await said).trim().split("\n");
    const [, count, version] = lines.at(-1)?.split(" ") ?? [];

    const { database, store } = open();
    const { items, resourceVersion } = await store.list("ConfigMap", {}, call());
    const byName = new Map(items.map((each) => [each.metadata.name, each]));
    const counter = byName.get("a");
    expect(Number(counter?.data?.value)).toBeGreaterThanOrEqual(Number(count));
    expect(Number(resourceVersion)).toBeGreaterThanOrEqual(Number(version));
    // An owner goes with what it owns in one step: neither outlives the other.
    for (const each of items) {
      for (const owner of each.metadata.ownerReferences ?? []) {
        expect(byName.get(owner.name)?.metadata.uid, each.metadata.name).toBe(owner.uid);
      }
    }
    const row = database
      .prepare("SELECT count(*) AS n, min(version) AS first, max(version) AS last FROM changes")
      .get();
    expect(row?.last).toBe(Number(resourceVersion));
    expect(Number(row?.n)).toBe(Number(row?.last) - Number(row?.first) + 1);
    database.close();
  }
});

test("two processes write at once: nothing is lost, a third sees all of it in order", async () => {
  const { database, store } = open();
  const { resourceVersion } = await store.list("ConfigMap", {}, call());
  const stop = new AbortController();
  const versions: number[] = [];
  const counted = { a: 0, b: 0 };
  const watching = (async () => {
    for await (const event of store.watch("ConfigMap", { resourceVersion }, stop)) {
      if (event.type === "BOOKMARK") continue;
      const { name, resourceVersion: version } = event.object.metadata;
      versions.push(Number(version));
      if (name !== "a" && name !== "b") continue;
      // Each count is seen, since each was a change.
      const value = Number(event.object.data?.value ?? 0);
      expect(value).toBe(event.type === "ADDED" ? 0 : counted[name] + 1);
      counted[name] = value;
    }
  })();
  const writers = [write("a", 40), write("b", 40)];
  for (const { ended } of writers) expect(await ended).toEqual([0, null]);
  const endedMs = clock.monotonic();
  while (counted.a < 40 || counted.b < 40) {
    expect(clock.monotonic() - endedMs).toBeLessThan(1_000);
    await clock.sleep(10, call().signal);
  }
  await clock.sleep(300, call().signal);
  stop.abort();
  await watching;
  // 40 rounds of two creations and a count, 39 deletions of two, and the counter itself; twice.
  const changes = 2 * (1 + 40 * 3 + 39 * 2);
  expect(versions).toEqual(Array.from({ length: changes }, (_, index) => index + 1));
  database.close();
});
