import { beforeEach, expect, test } from "vitest";
import { FaultyObjectStore, StoreFaults } from "../adapters/memory/faults.ts";
import { memoryObjectStore } from "../adapters/memory/object-store.ts";
import type { ConfigMap } from "../api/core.ts";
import { noLog } from "../ports/log.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import { seededRandom, VirtualClock } from "../testing/fakes/clock.ts";
import { configMapOf } from "../testing/simulation/objects.ts";
import { Informer } from "./informer.ts";

const call = { signal: new AbortController().signal };

let clock: VirtualClock;
let faults: StoreFaults;
let store: ObjectStore;
let heard: string[];

beforeEach(() => {
  clock = new VirtualClock();
  faults = new StoreFaults();
  // So few changes are kept that a watch which is away for a while comes too late.
  const keep = { count: 8, bytes: 1_000_000 };
  store = memoryObjectStore({ clock, random: seededRandom(1), keep });
  heard = [];
});

async function start() {
  const faulty = new FaultyObjectStore(store, faults, clock);
  const ports = { store: faulty, clock, random: seededRandom(2), log: noLog };
  const value = (object: ConfigMap) => object.data?.value ?? "";
  const informer = new Informer("ConfigMap", ports, {
    changed(after, before) {
      const from = before === undefined ? "new" : value(before);
      heard.push(`${after.metadata.name}: ${from} to ${value(after)}`);
    },
    removed: (object) => heard.push(`${object.metadata.name}: gone`),
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  await clock.advance(1_000);
  return { informer, stop, running };
}
async function set(name: string, value: string): Promise<void> {
  const ref = { kind: "ConfigMap", namespace: "default", name } as const;
  const stored = await store.get(ref, call);
  if (stored === undefined) await store.create(configMapOf(name, { value }), call);
  else await store.update({ ...stored, data: { value } }, "main", call);
}
const remove = (name: string) =>
  store.delete({ kind: "ConfigMap", namespace: "default", name }, {}, call);

test("tells what there is and then every change, once", async () => {
  await set("a", "1");
  await start();
  await set("a", "2");
  await set("b", "1");
  await remove("a");
  await clock.advance(1_000);
  expect(heard).toEqual(["a: new to 1", "a: 1 to 2", "b: new to 1", "a: gone"]);
});

test("keeps of an object no more than its listener wants, such as no values", async () => {
  await set("a", "secret");
  const ports = { store, clock, random: seededRandom(2), log: noLog };
  const informer = new Informer("ConfigMap", ports, {
    changed: (after) => heard.push(after.data?.value ?? ""),
    removed: () => {},
    keep: ({ apiVersion, kind, metadata }) => ({ apiVersion, kind, metadata }),
  });
  const running = informer.run(AbortSignal.timeout(60_000));
  running.catch(() => {});
  await clock.advance(1_000);
  expect(heard).toEqual(["secret"]);
  const [kept, ...more] = [...informer.objects()];
  expect(kept).not.toHaveProperty("data");
  expect(kept?.metadata.name).toBe("a");
  expect(more).toEqual([]);
});

test("after coming too late tells the differences, also of an object made anew", async () => {
  for (const name of ["stays", "changes", "goes", "anew"]) await set(name, "1");
  await start();
  heard.length = 0;
  faults.unavailable = true;
  faults.breakWatches("Unavailable");
  await set("changes", "2");
  await remove("goes");
  await remove("anew");
  await set("anew", "2");
  for (let count = 0; count < 80; count++) await set("noise", String(count));
  await clock.advance(10_000);
  expect(heard).toEqual([]);
  faults.unavailable = false;
  await clock.advance(60_000);
  expect(heard.sort()).toEqual([
    "anew: gone",
    "anew: new to 2",
    "changes: 1 to 2",
    "goes: gone",
    "noise: new to 79",
  ]);
});

test("a watch that says nothing any more, not even a bookmark, is made again", async () => {
  await start();
  let watches = 0;
  const inner = store.watch.bind(store);
  store.watch = (kind, from, given) => {
    watches += 1;
    return watches === 1 ? silent() : inner(kind, from, given);
  };
  faults.breakWatches("Unavailable");
  await clock.advance(10_000);
  expect(watches).toBe(1);
  await set("a", "1");
  await clock.advance(60_000);
  expect(heard).toEqual([]);
  await clock.advance(60_000);
  expect(heard).toEqual(["a: new to 1"]);
});

test("trouble that lasts is met more and more rarely", async () => {
  faults.unavailable = true;
  let calls = 0;
  faults.onCall = () => {
    calls += 1;
    return undefined;
  };
  await start();
  await clock.advance(600_000);
  expect(calls).toBeGreaterThan(20);
  expect(calls).toBeLessThan(150);
});

test("ends with its signal", async () => {
  const { stop, running } = await start();
  stop.abort();
  await running;
});

/** A stream that neither speaks nor keeps to its signal. */
async function* silent(): AsyncIterable<never> {
  await new Promise(() => {});
}

test("finds within ten minutes what no watch has told of", async () => {
  await set("a", "1");
  await start();
  faults.onEvent = () => "lose";
  await set("a", "2");
  await clock.advance(60_000);
  faults.onEvent = () => "deliver";
  expect(heard).toEqual(["a: new to 1"]);
  await clock.advance(660_000);
  expect(heard).toEqual(["a: new to 1", "a: 1 to 2"]);
});
