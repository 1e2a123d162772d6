import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { MemoryShelf } from "../adapters/memory/shelf.ts";
import { openDatabase } from "../adapters/sqlite/database.ts";
import { SqliteShelf } from "../adapters/sqlite/shelf.ts";
import type { ConfigMap } from "../api/core.ts";
import type { ObjectRef } from "../api/kinds.ts";
import { type ObjectStore, StoreError } from "../ports/object-store.ts";
import { seededRandom, VirtualClock } from "../testing/fakes/clock.ts";
import { objectStore } from "./store.ts";

const folder = mkdtempSync(join(tmpdir(), "nigari-shelf-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** One thing done to the store; numbers choose among few objects, so that they meet. */
const step = fc.record({
  verb: fc.constantFrom("create", "update", "finalize", "delete", "list", "stale"),
  object: fc.nat({ max: 4 }),
  owner: fc.option(fc.nat({ max: 4 })),
  value: fc.nat({ max: 2 }),
  held: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const call = { signal: new AbortController().signal };
function refOf(object: number): ObjectRef<"ConfigMap"> {
  return { kind: "ConfigMap", namespace: object % 2 === 0 ? "even" : "odd", name: `n${object}` };
}

async function take(store: ObjectStore, { verb, object, owner, value, held }: Step) {
  const { namespace, name } = refOf(object);
  const data = { value: String(value) };
  const finalizers = held ? ["a.test/x"] : [];
  const stored = await store.get(refOf(object), call);
  if (verb === "list") return await store.list("ConfigMap", {}, call);
  if (verb === "delete") return await store.delete(refOf(object), {}, call);
  if (verb === "create") {
    const by = owner === null ? undefined : await store.get(refOf(owner), call);
    const metadata: ConfigMap["metadata"] = { name, namespace, finalizers };
    if (by !== undefined) {
      const { apiVersion, kind } = by;
      const { uid = "" } = by.metadata;
      metadata.ownerReferences = [{ apiVersion, kind, name: by.metadata.name, uid }];
    }
    return await store.create({ apiVersion: "v1", kind: "ConfigMap", metadata, data }, call);
  }
  if (stored === undefined) return undefined;
  if (verb === "finalize") stored.metadata.finalizers = finalizers;
  if (verb === "stale") stored.metadata.resourceVersion = String(value);
  return await store.update({ ...stored, data }, "main", call);
}

/** Everything the store says to these steps, and in the end to a watch from each version. */
async function answers(store: ObjectStore, steps: readonly Step[]): Promise<unknown[]> {
  const said: unknown[] = [];
  for (const each of steps) {
    const answer = take(store, each).catch((error: unknown) => {
      if (error instanceof StoreError) return `${error.code}: ${error.message}`;
      throw error;
    });
    said.push(await answer);
  }
  const { resourceVersion } = await store.list("ConfigMap", {}, call);
  for (let version = 0; version < Number(resourceVersion); version++) {
    for (const namespace of ["even", "odd"]) {
      said.push(await eventsFrom(store, { namespace, resourceVersion: String(version) }));
    }
  }
  return said;
}

async function eventsFrom(
  store: ObjectStore,
  from: { namespace: string; resourceVersion: string },
): Promise<unknown> {
  const events: unknown[] = [];
  const stop = new AbortController();
  // What is there already comes before anything else has a turn.
  setImmediate(() => stop.abort());
  try {
    for await (const event of store.watch("ConfigMap", from, stop)) events.push(event);
  } catch (error) {
    return error instanceof StoreError ? error.code : error;
  }
  return events;
}

test("memory and SQLite give the same answers to whatever is done", async () => {
  let run = 0;
  const property = fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
    const database = openDatabase(join(folder, `${++run}.db`));
    // A commit need not wait for the disk here: nothing is unplugged.
    database.exec("PRAGMA synchronous = OFF");
    const [inMemory, inSqlite] = await Promise.all(
      [new MemoryShelf(), new SqliteShelf(database)].map((shelf) => {
        const parts = { clock: new VirtualClock(), random: seededRandom(1) };
        return answers(objectStore(shelf, { ...parts, keep: { count: 10, bytes: 10_000 } }), steps);
      }),
    );
    database.close();
    expect(inSqlite).toEqual(inMemory);
  });
  await fc.assert(property, { numRuns: 40 });
});
