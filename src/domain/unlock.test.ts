import { describe, expect, test } from "vitest";
import type { TerraformSpec } from "../api/terraform.ts";
import { OneObject } from "../testing/one-object.ts";
import type { LockFact } from "./facts.ts";

const stranger: LockFact = {
  id: "f2ab685b",
  operation: "OperationTypeApply",
  who: "ann@laptop",
  created: "2026-01-01T00:00:00Z",
  runId: undefined,
};
type TfState = NonNullable<TerraformSpec["tfstate"]>;

/** The state of the object is one that Nigari keeps, and its lock can be seen. */
function atTheDoor(tfstate: TfState, lock: LockFact = stranger): OneObject {
  const object = new OneObject({ tfstate });
  object.observed.state = { lock, rescued: [] };
  object.settle();
  return object;
}

/** The state lies elsewhere: a plan has failed by the lock. */
function elsewhere(tfstate: TfState, lock: LockFact = stranger): OneObject {
  const object = new OneObject({ tfstate });
  object.settle();
  object.fails({ message: "Error acquiring the state lock", lock });
  return object;
}

const rows: Record<string, { tfstate: TfState; released: boolean }> = {
  "nothing is said": { tfstate: {}, released: false },
  no: { tfstate: { forceUnlock: "no", lockIdentifier: stranger.id }, released: false },
  "yes, of no lock": { tfstate: { forceUnlock: "yes" }, released: false },
  "yes, of another lock": {
    tfstate: { forceUnlock: "yes", lockIdentifier: "another" },
    released: false,
  },
  "yes, of this very lock": {
    tfstate: { forceUnlock: "yes", lockIdentifier: stranger.id },
    released: true,
  },
  "auto: its holder may be alive": { tfstate: { forceUnlock: "auto" }, released: false },
  "auto, even with its id": {
    tfstate: { forceUnlock: "auto", lockIdentifier: stranger.id },
    released: false,
  },
};

describe("a stranger's lock on a state that Nigari keeps", () => {
  test.each(Object.entries(rows))("%s", (_name, { tfstate, released }) => {
    const object = atTheDoor({});
    expect(object.condition("StateLocked")).toMatchObject({ status: "True", reason: "LockHeld" });
    expect(object.ready).toContain("State is locked by ann@laptop since 2026-01-01T00:00:00Z");
    object.edit({ tfstate });
    expect(object.asked.includes("release-lock")).toBe(released);
    expect(object.status.run !== undefined).toBe(released);
    if (!released) expect(object.status.lock?.pending).toBe(stranger.id);
  });

  test("released as ordered: told, then forgotten with the plan's success", () => {
    const object = atTheDoor({});
    object.edit({ tfstate: { forceUnlock: "yes", lockIdentifier: stranger.id } });
    expect(object.condition("StateLocked")).toMatchObject({
      status: "False",
      reason: "ForceUnlock",
      message: `Terraform Force Unlock with Lock Identifier: ${stranger.id}`,
    });
    expect(object.status.lock).toEqual({ lastApplied: stranger.id });
    expect(object.status.run?.unlock).toBeUndefined();
    object.planned(0);
    expect(object.condition("StateLocked")).toBeUndefined();
    expect(object.status.lock).toBeUndefined();
  });

  test("the message names the way, and why auto is none", () => {
    const auto = atTheDoor({ forceUnlock: "auto" });
    expect(auto.ready).toContain('"auto" releases only locks whose holder is dead on proof');
    expect(auto.ready).toContain(`forceUnlock to "yes" and lockIdentifier to "${stranger.id}"`);
  });
});

test("a lock of a run of ours that is not known to have ended is not for anybody to break", () => {
  const lock = { ...stranger, runId: "1-abc" };
  const object = atTheDoor({}, lock);
  object.edit({ tfstate: { forceUnlock: "yes", lockIdentifier: lock.id } });
  expect(object.asked).not.toContain("release-lock");
  expect(object.ready).toContain("It belongs to run 1-abc of this object");
});

describe("a lock on a state that lies elsewhere", () => {
  test.each(Object.entries(rows))("%s", (_name, { tfstate, released }) => {
    const object = elsewhere({});
    expect(object.condition("StateLocked")).toMatchObject({ status: "True", reason: "LockHeld" });
    object.edit({ tfstate });
    expect(object.status.run).toMatchObject({ operation: "plan" });
    expect(object.status.run?.unlock).toBe(released ? stranger.id : undefined);
    expect(object.asked).not.toContain("release-lock");
  });

  test("the order is given once for each time that the lock is met", () => {
    const object = elsewhere({ forceUnlock: "yes", lockIdentifier: stranger.id });
    object.whenDue();
    expect(object.status.run?.unlock).toBe(stranger.id);
    expect(object.condition("StateLocked")).toMatchObject({ reason: "ForceUnlock" });
    object.planned(0);
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "plan" });
    expect(object.status.run?.unlock).toBeUndefined();
  });

  test("another lock in its place is named, and stays", () => {
    const object = elsewhere({ forceUnlock: "yes", lockIdentifier: stranger.id });
    object.whenDue();
    object.fails({ message: "locked again", lock: { ...stranger, id: "other" } });
    object.whenDue();
    expect(object.status.run?.unlock).toBeUndefined();
    expect(object.status.lock).toEqual({ pending: "other", lastApplied: stranger.id });
  });

  test("an apply releases nothing: the plan before it did, or nobody may", () => {
    const tfstate = { forceUnlock: "yes", lockIdentifier: stranger.id } as const;
    const object = new OneObject({ approvePlan: "auto", tfstate });
    object.settle();
    object.planned(1);
    object.fails({ stage: "init", reason: "TFExecInitFailed", message: "no", lock: stranger });
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "apply" });
    expect(object.status.run?.unlock).toBeUndefined();
  });
});
