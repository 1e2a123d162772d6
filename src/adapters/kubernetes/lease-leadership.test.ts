import { beforeEach, describe, expect, test } from "vitest";
import type { Lease } from "../../api/core.ts";
import type { Call } from "../../ports/call.ts";
import type { Lead } from "../../ports/leadership.ts";
import { type ObjectStore, StoreError } from "../../ports/object-store.ts";
import { seededRandom, VirtualClock } from "../../testing/fakes/clock.ts";
import { memoryObjectStore } from "../memory/object-store.ts";
import { createLeaseLeadership } from "./lease-leadership.ts";

let clock: VirtualClock;
let store: ObjectStore;
let fault: "none" | "refuses" | "hangs";
const never = new AbortController().signal;
const ref = { kind: "Lease", namespace: "flux-system", name: "nigari" } as const;

beforeEach(() => {
  clock = new VirtualClock();
  const real = memoryObjectStore({ clock, random: seededRandom(1) });
  fault = "none";
  store = new Proxy(real, {
    get: (target, name: "get" | "create" | "update" | "delete") => {
      const method = target[name].bind(target) as (...args: unknown[]) => unknown;
      return async (...args: unknown[]) => {
        if (fault === "refuses") throw new StoreError("Unavailable", "no answer");
        if (fault === "hangs") await silence((args.at(-1) as Call).signal);
        return await method(...args);
      };
    },
  });
});

function silence(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new StoreError("Unavailable", "cancelled")));
  });
}

function candidate(identity: string) {
  const ports = { store, clock, random: seededRandom(identity.length) };
  return createLeaseLeadership({ ...ref, identity }, ports);
}
const lead = (identity: string, signal = never) => candidate(identity).acquire({ signal });
async function lease(): Promise<Lease> {
  const found = await store.get(ref, { signal: never });
  if (found === undefined) throw new Error("There is no Lease");
  return found;
}
/** Waits on the virtual clock for at most so long. */
async function within(ms: number, waiting: Promise<Lead>): Promise<Lead | undefined> {
  const late = clock.deadline("this test", ms);
  const never = new Promise<undefined>((resolve) => {
    late.addEventListener("abort", () => resolve(undefined));
  });
  const first = Promise.race([waiting, never]);
  await clock.advance(ms);
  return await first;
}

test("the first takes it at once, and the Lease says so as other tools expect", async () => {
  const first = await lead("one");
  const { spec, metadata } = await lease();
  expect(spec).toEqual({
    holderIdentity: "one",
    leaseDurationSeconds: 15,
    acquireTime: "2026-01-01T00:00:00.000000Z",
    renewTime: "2026-01-01T00:00:00.000000Z",
    leaseTransitions: 0,
  });
  expect(metadata.annotations?.["nigari.dev/epoch"]).toBe(String(first.epoch));
  await first.release();
});

test("who leads goes on leading, and is renewed", async () => {
  const first = await lead("one");
  await clock.advance(3_600_000);
  expect(first.lost.aborted).toBe(false);
  expect((await lease()).spec?.renewTime).toMatch(/T(00:59:5|01:00:0)/);
  await first.release();
});

test("a second waits, and is told by whom it is held", async () => {
  const first = await lead("one");
  const patience = clock.deadline("patience", 60_000);
  const second = lead("two", patience).catch((error: unknown) => error);
  await clock.advance(61_000);
  expect(String(await second)).toMatch(
    /NotLeader: Lease flux-system\/nigari is held by one, renewed at 2026-01-01T00:0/,
  );
  await first.release();
});

test("after a release the next leads within its pause, under a higher epoch", async () => {
  const first = await lead("one");
  const waiting = lead("two");
  await clock.advance(10_000);
  await first.release();
  const second = await within(3_000, waiting);
  expect(second?.epoch).toBeGreaterThan(first.epoch);
  expect((await lease()).spec?.leaseTransitions).toBe(1);
  await second?.release();
});

describe.each(["refuses", "hangs"] as const)("where the store %s", (kind) => {
  test("a leader gives up before anybody else may lead", async () => {
    const first = await lead("one");
    await clock.advance(5_000);
    fault = kind;
    await clock.advance(8_000);
    expect(first.lost.aborted).toBe(false);
    await clock.advance(4_500);
    expect(first.lost.aborted).toBe(true);
    expect(String(first.lost.reason)).toContain("could not be renewed in time");
  });

  test("a leader to whom it answers again in time has lost nothing", async () => {
    const first = await lead("one");
    fault = kind;
    await clock.advance(4_000);
    fault = "none";
    await clock.advance(60_000);
    expect(first.lost.aborted).toBe(false);
    await first.release();
  });

  test("who waits is told that the Lease cannot be taken", async () => {
    fault = kind;
    const patience = clock.deadline("patience", 20_000);
    const waiting = lead("two", patience).catch((error: unknown) => error);
    await clock.advance(21_000);
    expect(String(await waiting)).toMatch(/NotLeader: Lease flux-system\/nigari cannot be taken/);
  });
});

test("a dead leader is followed once its Lease has stood still as long as it says", async () => {
  const spec = { holderIdentity: "dead", leaseDurationSeconds: 15, leaseTransitions: 4 };
  const metadata = { name: ref.name, namespace: ref.namespace };
  const dead = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec } as const;
  await store.create(dead, { signal: never });
  const waiting = lead("two");
  expect(await within(14_900, waiting)).toBe(undefined);
  const second = await within(4_000, waiting);
  expect(second).toBeDefined();
  expect((await lease()).spec?.leaseTransitions).toBe(5);
  await second?.release();
});

test("a holder whose own clock is wrong is not followed while it renews", async () => {
  const past = { holderIdentity: "slow", renewTime: "2001-01-01T00:00:00.000000Z" };
  const metadata = { name: ref.name, namespace: ref.namespace };
  const made = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata,
    spec: past,
  } as const;
  let slow: Lease = await store.create(made, { signal: never });
  const waiting = lead("two", clock.deadline("patience", 200_000)).catch(() => undefined);
  for (let round = 1; round <= 10; round += 1) {
    await clock.advance(10_000);
    const spec = { ...past, renewTime: `2001-01-01T00:00:${10 + round}.000000Z` };
    slow = await store.update({ ...slow, spec }, "main", { signal: never });
  }
  expect((await lease()).spec?.holderIdentity).toBe("slow");
  await clock.advance(30_000);
  expect((await lease()).spec?.holderIdentity).toBe("two");
  await (await waiting)?.release();
});

const changes: Record<string, [change: (lease: Lease) => Lease | undefined, lost: boolean]> = {
  "a person labels the Lease: the leader goes on": [
    (old) => ({ ...old, metadata: { ...old.metadata, labels: { team: "a" } } }),
    false,
  ],
  "another holder took it: the right is lost at once": [
    (old) => ({ ...old, spec: { ...old.spec, holderIdentity: "two" } }),
    true,
  ],
  "a process of the same name took it: the epoch tells them apart": [
    (old) => ({ ...old, metadata: { ...old.metadata, annotations: { "nigari.dev/epoch": "9" } } }),
    true,
  ],
  "a person deleted it: somebody else may lead, so this one does not": [() => undefined, true],
};
test.each(Object.entries(changes))("%s", async (_, [change, lost]) => {
  const first = await lead("one");
  const next = change(await lease());
  if (next === undefined) await store.delete(ref, {}, { signal: never });
  else await store.update(next, "main", { signal: never });
  await clock.advance(2_500);
  expect(first.lost.aborted).toBe(lost);
  await clock.advance(60_000);
  expect(first.lost.aborted).toBe(lost);
  await first.release();
});

test("an epoch is higher than any before, also if the Lease was deleted in between", async () => {
  const epochs: number[] = [];
  for (const act of ["release", "delete", "release", "delete"]) {
    const each = await lead("one");
    epochs.push(each.epoch);
    await clock.advance(2_000);
    await each.release();
    if (act === "delete") await store.delete(ref, {}, { signal: never });
  }
  expect(epochs).toEqual([...new Set(epochs)].sort((a, b) => a - b));
});

test("of many who come at once one leads", async () => {
  const patience = clock.deadline("patience", 30_000);
  const all = ["a", "bb", "ccc", "dddd"].map((name) => lead(name, patience).catch(() => undefined));
  await clock.advance(31_000);
  const leaders = (await Promise.all(all)).filter((each) => each !== undefined);
  expect(leaders).toHaveLength(1);
  await leaders[0]?.release();
});
