import { beforeEach, expect, test } from "vitest";
import { UPSTREAM_LEASE } from "../../api/cluster-names.ts";
import type { Lease } from "../../api/core.ts";
import type { ObjectStore } from "../../ports/object-store.ts";
import { seededRandom, VirtualClock } from "../../testing/fakes/clock.ts";
import { memoryObjectStore } from "../memory/object-store.ts";
import { RivalLease } from "./rival-lease.ts";

const call = { signal: new AbortController().signal };
const ref = { kind: "Lease", namespace: "flux-system", name: UPSTREAM_LEASE } as const;
let clock: VirtualClock;
let store: ObjectStore;
let stop: AbortController;

beforeEach(() => {
  clock = new VirtualClock();
  store = memoryObjectStore({ clock, random: seededRandom(1) });
  stop = new AbortController();
});

function begin(identity = "nigari/a") {
  const ports = { store, clock, random: seededRandom(3) };
  const rival = new RivalLease({ namespace: "flux-system", identity }, ports);
  const changes: (string | undefined)[] = [];
  const running = rival.run(stop.signal);
  void (async () => {
    for await (const _ of rival.changes({ signal: stop.signal })) changes.push(rival.heldBack());
  })();
  return { rival, changes, running };
}

async function heldBy(holderIdentity: string): Promise<void> {
  const stored = await store.get(ref, call);
  const renewTime = new Date(clock.now()).toISOString().replace("Z", "000Z");
  const spec = { holderIdentity, leaseDurationSeconds: 35, renewTime };
  const { kind, namespace, name } = ref;
  const metadata = stored?.metadata ?? { namespace, name };
  const lease: Lease = { apiVersion: "coordination.k8s.io/v1", kind, metadata, spec };
  await (stored === undefined ? store.create(lease, call) : store.update(lease, "main", call));
}
const holder = async () => (await store.get(ref, call))?.spec?.holderIdentity;

test("nothing may be started before it has been looked", () => {
  const ports = { store, clock, random: seededRandom(3) };
  const rival = new RivalLease({ namespace: "flux-system", identity: "nigari/a" }, ports);
  expect(rival.heldBack()).toContain("It is not known yet who holds Lease flux-system/1953de50");
});

test("a Lease that nobody holds is taken, held, and let go of at the end", async () => {
  const { rival, running } = begin();
  await clock.advance(60_000);
  expect(rival.heldBack()).toBeUndefined();
  expect(await holder()).toBe("nigari/a");
  stop.abort();
  await running;
  expect(await holder()).toBe("");
});

test("a live holder is named; once it renews no more, this goes on", async () => {
  await heldBy("tofu-controller-7_x");
  const { rival, changes } = begin();
  for (let count = 0; count < 10; count++) {
    await clock.advance(8_000);
    await heldBy("tofu-controller-7_x");
  }
  expect(rival.heldBack()).toBe(
    `Another controller, tofu-controller-7_x, holds Lease flux-system/${UPSTREAM_LEASE}; ` +
      "nothing is started while it does. Scale tofu-controller to zero, and this goes on by itself",
  );
  await clock.advance(40_000);
  expect(rival.heldBack()).toBeUndefined();
  expect(changes).toEqual([expect.stringContaining("tofu-controller-7_x"), undefined]);
});

test("a holder that lets go is succeeded within seconds", async () => {
  await heldBy("tofu-controller-7_x");
  const { rival } = begin();
  await clock.advance(3_000);
  expect(rival.heldBack()).toBeDefined();
  await heldBy("");
  await clock.advance(4_000);
  expect(rival.heldBack()).toBeUndefined();
});

test("another Nigari holds nobody back", async () => {
  await heldBy("nigari/b");
  const { rival } = begin();
  await clock.advance(3_000);
  expect(rival.heldBack()).toBeUndefined();
});

test("a Lease that somebody else takes away holds back again", async () => {
  const { rival, changes } = begin();
  await clock.advance(10_000);
  await heldBy("tofu-controller-8_x");
  await clock.advance(10_000);
  expect(rival.heldBack()).toContain("tofu-controller-8_x");
  expect(changes.at(-1)).toContain("tofu-controller-8_x");
});
