import { beforeEach, describe, expect, test } from "vitest";
import { memoryObjectStore } from "../adapters/memory/object-store.ts";
import type { Terraform } from "../api/terraform.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import type { PlatformFact, RunnerPlatform } from "../ports/runner.ts";
import { seededRandom, VirtualClock } from "../testing/fakes/clock.ts";
import { FakeStateDoor } from "../testing/fakes/state-door.ts";
import { terraformOf } from "../testing/one-object.ts";
import { unlockState } from "./unlock.ts";

const call = { signal: new AbortController().signal };
const state = { namespace: "default", name: "app", workspace: "default" };
const lock = {
  ...{ id: "l-1", operation: "OperationTypeApply", who: "me@here", created: "2026" },
  runId: "1-a" as string | undefined,
};
const dead: PlatformFact = {
  runner: "gone",
  proof: "killed by signal 9",
  workersAlive: 0,
  goneAt: undefined,
};
let door: FakeStateDoor;
let store: ObjectStore;
let fact: PlatformFact;
beforeEach(() => {
  door = new FakeStateDoor();
  door.locks.set("default/app/default", lock);
  store = memoryObjectStore({ clock: new VirtualClock(), random: seededRandom(1) });
  fact = dead;
});

/** Nothing else is asked of the platform. */
const platform = { inspect: async () => fact } as Partial<RunnerPlatform> as RunnerPlatform;
const unlock = (lockId?: string) => unlockState(state, lockId, { store, platform, door }, call);

describe("a lock whose run", () => {
  const deaths: [string, PlatformFact][] = [
    ["was seen to die", dead],
    ["has left nothing where runs are", { ...dead, runner: "unknown", proof: undefined }],
  ];
  test.each(deaths)(
    "%s is released, and what comes of it later is kept aside",
    async (_, found) => {
      fact = found;
      expect(await unlock("l-1")).toEqual(lock);
      expect(door.released).toEqual(["l-1"]);
      expect(door.revoked).toEqual(new Set(["1-a"]));
    },
  );

  const lives: [string, Partial<PlatformFact>, RegExp][] = [
    ["has a living runner", { runner: "running" }, /me@here since 2026.*run 1-a lives/],
    ["has a runner that comes up", { runner: "starting" }, /run 1-a lives/],
    ["has left a tofu that works on", { workersAlive: 1 }, /run 1-a lives/],
    ["cannot be counted", { workersAlive: undefined }, /whether run 1-a lives cannot be known/],
  ];
  test.each(lives)("%s is named and not broken", async (_, change, says) => {
    fact = { ...dead, ...change };
    await expect(unlock()).rejects.toThrow(says);
    expect(door.released).toEqual([]);
    expect(door.revoked.size).toBe(0);
  });

  test("is the object's own is the engine's to judge, whatever the platform says", async () => {
    const made = (await store.create(terraformOf(), call)) as Terraform;
    const run = { id: "1-a", operation: "apply", stage: "apply" };
    await store.update({ ...made, status: { run } } as Terraform, "status", call);
    await expect(unlock()).rejects.toThrow('or end it with "nigari end-run default/app"');
    expect(door.released).toEqual([]);
  });
});

test("one that is known to be abandoned is released, though no run of ours took it", async () => {
  const left = { ...lock, runId: undefined, abandoned: "its runner app-tf-runner has ended" };
  door.locks.set("default/app/default", left);
  expect(await unlock("l-1")).toEqual(left);
  expect(door.released).toEqual(["l-1"]);
});

test("another lock than was meant, a stranger's, and none are left as they are", async () => {
  await expect(unlock("l-2")).rejects.toThrow("lock l-1), not by l-2");
  door.locks.set("default/app/default", { ...lock, runId: undefined });
  await expect(unlock()).rejects.toThrow("no run of Nigari's");
  door.locks.clear();
  await expect(unlock()).rejects.toThrow("State default/app (workspace default) is not locked");
  expect(door.released).toEqual([]);
});
