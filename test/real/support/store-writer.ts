import { writeSync } from "node:fs";
import { openDatabase } from "../../../src/adapters/sqlite/database.ts";
import { sqliteObjectStore } from "../../../src/adapters/sqlite/object-store.ts";
import { createClock } from "../../../src/adapters/system/clock.ts";
import { systemRandom } from "../../../src/adapters/system/random.ts";
import type { ConfigMap } from "../../../src/api/core.ts";

/**
 * Writes without end, or `count` rounds, and says each write that was acknowledged. One round makes
 * an owner and what it owns, counts up a counter, and deletes the owner of the round before.
 */
const [path = "", name = "", count = "Infinity"] = process.argv.slice(2);
const clock = createClock();
const store = sqliteObjectStore(openDatabase(path), { clock, random: systemRandom });
const call = { signal: new AbortController().signal };
const refTo = (each: string) => ({ kind: "ConfigMap", namespace: "default", name: each }) as const;

function map(each: string, owners: ConfigMap[] = []): ConfigMap {
  const ownerReferences = owners.map(({ apiVersion, kind, metadata }) => ({
    apiVersion,
    kind,
    name: metadata.name,
    uid: metadata.uid ?? "",
  }));
  const metadata = { name: each, namespace: "default", ownerReferences };
  return { apiVersion: "v1", kind: "ConfigMap", metadata };
}
// A writer before this one may have been killed in the middle of a round.
const unique = `${name}-${process.pid}`;
const say = (line: string) => writeSync(1, `${line}\n`);

const counter = (await store.get(refTo(name), call)) ?? (await store.create(map(name), call));
const begun = Number(counter.data?.value ?? 0);
let current = counter;
for (let round = begun + 1; round <= begun + Number(count); round++) {
  const owner = await store.create(map(`${unique}-owner-${round}`), call);
  await store.create(map(`${unique}-owned-${round}`, [owner]), call);
  current = await store.update({ ...current, data: { value: String(round) } }, "main", call);
  say(`counted ${round} ${current.metadata.resourceVersion}`);
  if (round > begun + 1) await store.delete(refTo(`${unique}-owner-${round - 1}`), {}, call);
}
clock.close();
