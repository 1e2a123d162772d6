import { describe, expect, test } from "vitest";
import { REQUESTED_AT } from "../../api/names.ts";
import { OneObject } from "../../testing/one-object.ts";
import type { ArtifactFetchFact } from "../facts.ts";

const lock = {
  id: "l-1",
  operation: "OperationTypeApply",
  who: "ann@box",
  created: "2026-01-01T00:00:00Z",
  runId: undefined,
};

describe("the start of a run", () => {
  test("the intent is stored before anything is launched", () => {
    const object = new OneObject();
    object.settle();
    const decision = object.decisions.at(-1);
    expect(decision?.before).toEqual([]);
    expect(decision?.after).toEqual([{ do: "launch-run", runId: "run-1" }]);
    expect(decision?.status.run).toMatchObject({
      id: "run-1",
      epoch: 1,
      generation: 1,
      stage: "launch",
      verdict: "alive",
      inputsDigest: "inputs-1",
    });
  });

  test("a lock whose holder only planned, and is gone, is released by its id", () => {
    const object = new OneObject();
    const planned = {
      ...lock,
      operation: "OperationTypePlan",
      abandoned: "its runner x has ended",
    };
    object.observed.state = { lock: planned, rescued: [] };
    object.settle();
    expect(object.effects).toContainEqual({
      ...{ do: "release-lock", lockId: "l-1" },
      why:
        "Lock of ann@box since 2026-01-01T00:00:00Z (plan, lock l-1): its runner x has ended, " +
        "and a plan writes nothing",
    });
    expect(object.status.run).toMatchObject({ operation: "plan" });
  });

  test("an object with a run is not due by itself", () => {
    const object = new OneObject();
    object.settle();
    object.fails();
    expect(object.status.nextDueAt).toBeDefined();
    object.nowMs += 15_000;
    object.pass();
    expect(object.status.run).toBeDefined();
    expect(object.status.nextDueAt).toBeUndefined();
  });

  describe("whose archive lies elsewhere", () => {
    function unfetched() {
      const object = new OneObject();
      const { source } = object.observed;
      if (source.state !== "ready") throw new Error("The source is not ready");
      const now = (fetch: ArtifactFetchFact | undefined) => {
        object.observed.source = { ...source, fetch };
        object.settle();
      };
      now({ state: "absent" });
      return { object, now };
    }
    const fetches = (object: OneObject) =>
      object.asked.filter((each) => each === "fetch-artifact").length;

    test("fetches it before a runner is begun, and says so", () => {
      const { object, now } = unfetched();
      expect(object.asked).toEqual(["add-finalizer", "fetch-artifact"]);
      expect(object.ready).toMatch(/^Unknown Progressing: Fetches the artifact of revision /);
      now({ state: "fetching" });
      expect(object.status.run).toBeUndefined();
      now(undefined);
      expect(object.status.run).toBeDefined();
    });

    test("says why it cannot be had, and tries again after the retry interval", () => {
      const { object, now } = unfetched();
      now({ state: "failed", message: "Artifact server x cannot be reached" });
      expect(object.ready).toBe("False ArtifactFailed: Artifact server x cannot be reached");
      expect(object.events).toEqual(["ArtifactFailed: Artifact server x cannot be reached"]);
      expect(fetches(object)).toBe(1);
      object.after(5_000);
      expect(fetches(object)).toBe(1);
      object.whenDue();
      expect(fetches(object)).toBe(2);
      expect(object.events).toHaveLength(1);
      now(undefined);
      object.whenDue();
      expect(object.status.run).toBeDefined();
    });

    test("tries again at once when a person asks", () => {
      const { object, now } = unfetched();
      now({ state: "failed", message: "Artifact server x cannot be reached" });
      object.annotate({ [REQUESTED_AT]: "now" });
      expect(fetches(object)).toBe(2);
      expect(object.status.lastHandledReconcileAt).toBe("now");
    });
  });

  test("the finalizer comes first, in a pass of its own", () => {
    const object = new OneObject();
    object.pass();
    expect(object.asked).toEqual(["add-finalizer"]);
    expect(object.status.run).toBeUndefined();
  });

  test("without a free slot the object says that it waits, and goes on when there is one", () => {
    const object = new OneObject();
    object.engine({ slotFree: false });
    object.settle();
    expect(object.ready).toBe(
      "Unknown Progressing: Waits for a free slot to plan: as many runs as may be are under way",
    );
    expect(object.condition("Reconciling")).toMatchObject({ status: "True" });
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(5_000);
    expect(object.asked).toEqual(["add-finalizer"]);
    object.engine({ slotFree: true });
    object.settle();
    expect(object.status.run).toBeDefined();
  });

  test("an engine that shuts down starts nothing, and what is due stays due", () => {
    const object = new OneObject();
    object.engine({ shuttingDown: true });
    object.settle();
    expect(object.asked).toEqual([]);
    expect(object.status.nextDueAt).toBeDefined();
    object.engine({ shuttingDown: false });
    object.settle();
    expect(object.status.run).toBeDefined();
  });
});

describe("a lock on the state", () => {
  test("of a stranger is named and waited for, never broken", () => {
    const object = new OneObject();
    object.observed.state = { lock, rescued: [] };
    object.settle();
    expect(object.ready).toBe(
      "False LockHeld: State is locked by ann@box since 2026-01-01T00:00:00Z (apply, lock l-1). " +
        "It is never broken by itself, and looked at again. If its holder is gone for good, " +
        'set spec.tfstate.forceUnlock to "yes" and lockIdentifier to "l-1"',
    );
    expect(object.condition("StateLocked")).toMatchObject({
      message: "Terraform Locked with Lock Identifier: l-1",
    });
    expect(object.status.lock).toEqual({ pending: "l-1" });
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(15_000);
    object.whenDue();
    expect(object.asked).toEqual([]);
    expect(object.events).toHaveLength(1);
    object.observed.state = { lock: undefined, rescued: [] };
    object.settle();
    expect(object.status.run).toBeDefined();
  });

  test("of our own last run, which has ended, is nobody's and is released", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.fails();
    object.observed.state = { lock: { ...lock, runId: "run-1" }, rescued: [] };
    object.whenDue();
    expect(object.asked).toContain("release-lock");
    expect(object.status.run).toMatchObject({ id: "run-2" });
  });

  test("of a run of ours that is not the last is a stranger's", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.fails();
    object.observed.state = { lock: { ...lock, runId: "run-of-another" }, rescued: [] };
    object.whenDue();
    expect(object.asked).not.toContain("release-lock");
    expect(object.ready).toMatch(/^False LockHeld/);
  });

  test("that another takes over from the first moves into the past", () => {
    const object = new OneObject();
    object.observed.state = { lock, rescued: [] };
    object.settle();
    object.observed.state = { lock: { ...lock, id: "l-2" }, rescued: [] };
    object.settle();
    expect(object.status.lock).toEqual({ pending: "l-2", lastApplied: "l-1" });
  });
});

describe("a state that was rescued", () => {
  const rescued = { id: "v7", runId: "run-9", serial: 12, at: "2026-01-01T00:00:00Z" };

  test("of a workspace is named with it", () => {
    const object = new OneObject({ workspace: "blue" });
    object.observed.state = { lock: undefined, rescued: [rescued] };
    object.settle();
    expect(object.ready).toContain('"nigari state push default/app --workspace blue --accept v7"');
  });

  test("stalls the object with the commands that settle it, and goes on once it is settled", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.planned(1);
    object.observed.state = { lock: undefined, rescued: [rescued] };
    object.run({ stage: "apply" });
    object.fails({ stage: "apply", stateRescued: true });
    object.settle();
    expect(object.condition("Stalled")).toMatchObject({ reason: "StateRescued" });
    expect(object.ready).toContain('"nigari state push default/app --accept v7"');
    expect(object.ready).toContain("v7 (serial 12, run run-9)");
    object.after(60_000);
    expect(object.status.run).toBeUndefined();
    object.observed.state = { lock: undefined, rescued: [] };
    object.settle();
    expect(object.status.run).toMatchObject({ operation: "plan" });
  });
});
