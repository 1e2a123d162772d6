import { describe, expect, test } from "vitest";
import { OneObject, PLAN_1, REVISION_1 } from "../../testing/one-object.ts";

function applied(spec: ConstructorParameters<typeof OneObject>[0] = {}): OneObject {
  const object = new OneObject({ approvePlan: "auto", ...spec });
  object.settle();
  object.planned(1);
  object.applied();
  object.effects.length = 0;
  return object;
}

const destroying = { destroyResourcesOnDeletion: true };
const letGo = ["delete-plan", "delete-outputs", "forget-inputs", "remove-finalizer"];
const orphan =
  "To leave the resources as they are and let the object go: " +
  '"nigari delete default/app --orphan" (annotation nigari.dev/deletion-policy: orphan)';

describe("a deletion that leaves the resources", () => {
  test("removes what was stored, then the finalizer, and starts nothing", () => {
    const object = applied();
    const before = object.status;
    object.delete();
    expect(object.asked).toEqual(letGo);
    expect(object.gone).toBe(true);
    expect(object.status).toEqual(before);
  });

  test("of an object that only ever failed", () => {
    const object = new OneObject();
    object.settle();
    object.fails();
    object.observed.source = { state: "missing", message: "gone" };
    object.delete();
    expect(object.gone).toBe(true);
  });

  test("does not ask for what the object depends on, be it gone", () => {
    const object = applied();
    const gone = { terraform: undefined, outputsReady: undefined, denied: false };
    object.observed.dependencies = [{ namespace: "default", name: "base", ...gone }];
    object.delete();
    expect(object.gone).toBe(true);
  });

  test("needs neither source nor inputs nor a free slot", () => {
    const object = applied();
    object.observed.source = { state: "missing", message: "gone" };
    object.observed.inputs = { state: "failed", reason: "VarsGenerationFailed", message: "no" };
    object.engine({ slotFree: false });
    object.delete();
    expect(object.gone).toBe(true);
  });

  test("with a finalizer of somebody else does not go on into an ordinary pass", () => {
    const object = applied();
    const { terraform } = object.observed;
    const deletionTimestamp = "2026-01-01T00:00:00Z";
    const metadata = {
      ...terraform.metadata,
      deletionTimestamp,
      finalizers: ["other/finalizer"],
    };
    object.observed.terraform = { ...terraform, metadata };
    object.source("main@sha1:ffff");
    expect(object.asked).toEqual([]);
    expect(object.status.run).toBeUndefined();
  });

  test("says what it cannot do, and tries again", () => {
    const object = applied();
    object.observed.failedEffect = {
      effect: "delete-plan",
      reason: "Forbidden",
      message: "not allowed",
      transient: false,
    };
    object.delete();
    expect(object.ready).toBe(
      "False Forbidden: Deleting the stored plan does not work: not allowed; " +
        "it is tried again by itself",
    );
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(15_000);
  });
});

describe("a deletion that destroys", () => {
  test("plans, carries it out without asking anybody, and lets go", () => {
    const object = applied({ ...destroying });
    object.edit({ approvePlan: "" });
    object.planned(0);
    object.delete();
    expect(object.status.run).toMatchObject({
      operation: "plan",
      destroy: true,
      reason: "DestroyOnDeletion",
    });
    object.planned(1);
    expect(object.status.run).toMatchObject({ operation: "apply", destroy: true });
    object.applied();
    expect(object.gone).toBe(true);
    expect(object.asked.slice(-4)).toEqual(letGo);
  });

  test("goes straight on if there is nothing to destroy", () => {
    const object = applied(destroying);
    object.delete();
    object.planned(0, { nothingToDestroy: true });
    expect(object.condition("Plan")).toMatchObject({
      status: "False",
      message: "No objects need to be destroyed",
    });
    expect(object.gone).toBe(true);
  });

  test("goes straight on if nothing was ever applied", () => {
    const object = new OneObject(destroying);
    object.settle();
    object.planned(1);
    object.delete();
    expect(object.gone).toBe(true);
  });

  test("looks if a plan found the world in order, though nothing was applied by us", () => {
    const object = new OneObject(destroying);
    object.settle();
    object.planned(0);
    object.delete();
    expect(object.status.run).toMatchObject({ destroy: true });
  });

  test("does not take an ordinary plan that waits for one to destroy", () => {
    const object = applied({ ...destroying });
    object.edit({ approvePlan: "" });
    object.planned(1);
    expect(object.status.plan?.pending).toBeDefined();
    object.effects.length = 0;
    object.delete();
    expect(object.events[0]).toMatch(/^PlanStale: .*everything is to be destroyed/);
    expect(object.asked).toEqual(["delete-plan", "launch-run"]);
    expect(object.status.run).toMatchObject({ operation: "plan", destroy: true });
  });

  test("ends an ordinary plan that is under way, and waits for an apply", () => {
    const planning = applied(destroying);
    planning.whenDue();
    planning.run({ stage: "plan", workersAlive: 1 });
    planning.delete();
    expect(planning.asked).toContain("terminate-run");
    expect(planning.events.filter((each) => each.startsWith("RunnerLost"))).toEqual([]);
    planning.settle();
    expect(planning.status.run).toMatchObject({ destroy: true, attempt: 1 });

    const applying = new OneObject({ approvePlan: "auto", ...destroying });
    applying.settle();
    applying.planned(1);
    applying.run({ stage: "apply", workersAlive: 1 });
    applying.delete();
    expect(applying.asked).not.toContain("terminate-run");
    applying.applied();
    expect(applying.status.run).toMatchObject({ operation: "plan", destroy: true });
  });

  test("that fails is tried again after the retry interval, with its reason", () => {
    const object = applied(destroying);
    object.delete();
    object.planned(1);
    object.run({ stage: "apply" });
    object.fails({ stage: "apply", message: "still in use" });
    expect(object.ready).toBe(
      "False TFExecApplyFailed: error running Destroy: still in use. " +
        `The deletion is tried again, 15s after each attempt or later. ${orphan}`,
    );
    expect(object.gone).toBe(false);
    object.after(14_000);
    expect(object.status.run).toBeUndefined();
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "plan", destroy: true });
    object.planned(1);
    object.applied();
    expect(object.gone).toBe(true);
  });

  test("was done before, by spec.destroy", () => {
    const object = applied({ ...destroying });
    object.edit({ destroy: true });
    object.planned(1);
    object.applied();
    object.delete();
    expect(object.gone).toBe(true);
  });
});

describe("a deletion that lacks something to destroy with", () => {
  const gone = { state: "missing", message: "GitRepository default/code does not exist" } as const;

  test("says precisely what, and both ways out", () => {
    const object = applied(destroying);
    object.observed.source = gone;
    object.delete();
    expect(object.ready).toBe(
      "False ArtifactFailed: Deletion waits: spec.destroyResourcesOnDeletion asks to destroy the " +
        "resources first, and that lacks something: GitRepository default/code does not exist. " +
        "Bring it back (looked for every 15s), or set spec.destroyResourcesOnDeletion to false. " +
        orphan,
    );
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(15_000);
  });

  test("takes the last artifact if there is one", () => {
    const object = applied(destroying);
    if (object.observed.source.state !== "ready") throw new Error("no source");
    object.observed.lastArtifact = object.observed.source.artifact;
    object.observed.source = gone;
    object.delete();
    expect(object.status.run).toMatchObject({ destroy: true, revision: REVISION_1 });
  });

  test("the first way out: the source comes back", () => {
    const object = applied(destroying);
    object.observed.source = gone;
    object.delete();
    object.source(REVISION_1);
    object.planned(1);
    object.applied();
    expect(object.gone).toBe(true);
  });

  test("the second way out: the resources are left", () => {
    const object = applied(destroying);
    object.observed.source = gone;
    object.delete();
    object.edit({ destroyResourcesOnDeletion: false });
    expect(object.gone).toBe(true);
  });

  test("inputs that are gone, and were not kept, are named the same way", () => {
    const object = applied(destroying);
    object.observed.keptInputs = undefined;
    object.observed.inputs = {
      state: "failed",
      reason: "VarsGenerationFailed",
      message: "Secret default/vars does not exist",
    };
    object.delete();
    expect(object.ready).toMatch(/^False VarsGenerationFailed: Deletion waits: .*default\/vars/);
  });

  test("a state that was rescued is settled first", () => {
    const object = applied(destroying);
    const rescued = { id: "v1", runId: "run-2", serial: 3, at: "2026-01-01T00:00:00Z" };
    object.observed.state = { lock: undefined, rescued: [rescued] };
    object.delete();
    expect(object.ready).toMatch(/^False StateRescued/);
  });
});

describe("a deletion that is held back", () => {
  test("by dependants: they are named", () => {
    const object = applied();
    object.observed.dependants = ["default/web", "default/db"];
    object.delete();
    expect(object.ready).toBe(
      "False DeletionBlockedByDependantsReason: Deletion in progress, but blocked. " +
        "Please delete default/db, default/web to resume ...",
    );
    object.observed.dependants = [];
    object.settle();
    expect(object.gone).toBe(true);
  });

  test("by a dependant that is on its way out: where it says what it waits for", () => {
    const object = applied();
    object.observed.dependants = ["default/web"];
    object.observed.dependantsLeaving = ["default/web"];
    object.delete();
    expect(object.ready).toMatch(
      /Please delete default\/web to resume \.\.\. default\/web is being deleted already; "nigari/,
    );
  });

  test("by suspension: it says so, even over a good verdict", () => {
    const object = applied();
    object.edit({ suspend: true });
    object.delete();
    expect(object.ready).toBe(
      "Unknown Suspended: Deletion waits until spec.suspend is false " +
        `("nigari resume default/app"). ${orphan}`,
    );
    object.edit({ suspend: false });
    expect(object.gone).toBe(true);
  });

  test("by a stranger's lock, if it is to destroy", () => {
    const object = applied(destroying);
    const lock = { id: "l", operation: "OperationTypePlan", who: "ann", created: "2026" };
    object.observed.state = { lock: { ...lock, runId: undefined }, rescued: [] };
    object.delete();
    expect(object.ready).toMatch(/^False LockHeld: State is locked by ann/);
  });

  test("by what an earlier destroy may have left unrecorded, until a person accepts", () => {
    const object = applied(destroying);
    object.delete();
    object.planned(1);
    object.run({ stage: "apply" });
    object.fails({ stage: "apply", exitCode: undefined, unrecorded: ["a.b"] });
    object.planned(1);
    expect(object.ready).toMatch(/^False RunResultUnknown/);
    const id = object.status.plan?.pending ?? "";
    expect(id).not.toBe(PLAN_1);
    object.annotate({ "nigari.dev/accept": id });
    object.applied();
    expect(object.gone).toBe(true);
  });
});
