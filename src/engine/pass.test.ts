import { expect, test } from "vitest";
import { VirtualClock } from "../testing/fakes/clock.ts";
import { configMapOf, storeWith } from "../testing/simulation/objects.ts";
import { Pass, PassOver, storeOf } from "./pass.ts";

const call = { signal: new AbortController().signal };
const key = { namespace: "default", name: "app" };
const parent = call.signal;

test("a pass that was given up reads, and its late writes are refused", async () => {
  const clock = new VirtualClock();
  const inner = await storeWith(configMapOf("there", { a: "1" }));
  const pass = new Pass(key, clock, { ms: 1_000, parent });
  const store = storeOf(pass, inner);
  const ref = { kind: "ConfigMap", namespace: "default", name: "there" } as const;
  await store.create(configMapOf("in-time", {}), call);
  await clock.advance(1_000);
  const there = await store.get(ref, call);
  if (there === undefined) throw new Error("not there");
  await expect(store.create(configMapOf("late", {}), call)).rejects.toThrow(PassOver);
  await expect(store.update({ ...there, data: {} }, "main", call)).rejects.toThrow(PassOver);
  await expect(store.delete(ref, {}, call)).rejects.toThrow(PassOver);
  const { items } = await inner.list("ConfigMap", {}, call);
  expect(items.map(({ metadata, data }) => [metadata.name, data])).toEqual([
    ["in-time", {}],
    ["there", { a: "1" }],
  ]);
});

test("so are those of an effect that goes on after its pass has ended in order", async () => {
  const pass = new Pass(key, new VirtualClock(), { ms: 1_000, parent });
  pass.check();
  pass.end();
  expect(() => pass.check()).toThrow(PassOver);
});
