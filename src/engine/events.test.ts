import { beforeEach, expect, test } from "vitest";
import { memoryObjectStore } from "../adapters/memory/object-store.ts";
import type { Terraform } from "../api/terraform.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import { seededRandom, VirtualClock } from "../testing/fakes/clock.ts";
import { terraformOf } from "../testing/simulation/objects.ts";
import { Events } from "./events.ts";

const call = { signal: new AbortController().signal };
let clock: VirtualClock;
let store: ObjectStore;
let terraform: Terraform;
beforeEach(async () => {
  clock = new VirtualClock();
  store = memoryObjectStore({ clock, random: seededRandom(1) });
  terraform = await store.create(terraformOf(), call);
});

const eventsOn = (seed = 2) => new Events({ store, clock, random: seededRandom(seed) });
const said = (message: string) => ({ type: "Normal" as const, reason: "Applied", message });
const stored = async () => (await store.list("Event", {}, call)).items;

test("an event names its object, as Kubernetes shows it", async () => {
  await eventsOn().say(terraform, said("done"), [], call);
  expect(await stored()).toMatchObject([
    {
      involvedObject: {
        apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
        kind: "Terraform",
        namespace: "default",
        name: "app",
        uid: terraform.metadata.uid,
      },
      type: "Normal",
      reason: "Applied",
      message: "done",
      count: 1,
      firstTimestamp: "2026-01-01T00:00:00Z",
      source: { component: "tf-controller" },
    },
  ]);
});

test("what is said again is counted, and after a while said anew", async () => {
  const events = eventsOn();
  await events.say(terraform, said("same"), [], call);
  await clock.advance(5_000);
  await events.say(terraform, said("same"), [], call);
  await events.say(terraform, said("other"), [], call);
  expect((await stored()).map(({ message, count }) => [message, count]).sort()).toEqual([
    ["other", 1],
    ["same", 2],
  ]);
  await clock.advance(3_600_000);
  await events.say(terraform, said("same"), [], call);
  expect(await stored()).toHaveLength(3);
});

test("of each object the newest are kept, over restarts too", async () => {
  for (let count = 0; count < 60; count++) {
    const events = eventsOn(count);
    await events.load(call);
    await events.say(terraform, said(`event ${count}`), [], call);
    await clock.advance(1_000);
  }
  const messages = (await stored()).map(({ message }) => message);
  expect(messages).toHaveLength(50);
  expect(messages).toContain("event 59");
  expect(messages).not.toContain("event 9");
});

test("secrets are hidden", async () => {
  await eventsOn().say(terraform, said("the password is hunter2 and 1"), ["hunter2", "1"], call);
  expect((await stored())[0]?.message).toBe("the password is *** and 1");
});

test("an object whose name is as long as names may be has events, too", async () => {
  const long = { ...terraform, metadata: { ...terraform.metadata, name: "n".repeat(253) } };
  await eventsOn().say(long, said("done"), [], call);
  expect((await stored()).map(({ message }) => message)).toEqual(["done"]);
});
