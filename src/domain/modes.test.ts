import { describe, expect, test } from "vitest";
import type { TerraformSpec } from "../api/terraform.ts";
import { OneObject, PLAN_1, PLAN_2, REVISION_1, REVISION_2 } from "../testing/one-object.ts";

// What spec.planOnly, force, disableDriftDetection and plan.lock do, a request for a new plan, and
// drift as a result.

function started(spec: Partial<TerraformSpec>): OneObject {
  const object = new OneObject(spec);
  object.settle();
  return object;
}

function applied(spec: Partial<TerraformSpec> = {}): OneObject {
  const object = started({ approvePlan: "auto", ...spec });
  object.planned(1);
  object.applied();
  return object;
}

describe("which plans are carried out", () => {
  const rows: Record<string, { spec: Partial<TerraformSpec>; carriedOut: boolean }> = {
    "by hand, the id not given: none": { spec: {}, carriedOut: false },
    "by hand, the whole id given": { spec: { approvePlan: PLAN_1 }, carriedOut: false },
    "auto: every one": { spec: { approvePlan: "auto" }, carriedOut: true },
    "planOnly beats auto": { spec: { approvePlan: "auto", planOnly: true }, carriedOut: false },
    "planOnly beats an id": { spec: { approvePlan: PLAN_1, planOnly: true }, carriedOut: false },
    "force asks nobody": { spec: { force: true }, carriedOut: true },
    "force beats planOnly": { spec: { force: true, planOnly: true }, carriedOut: true },
    "disable beats force": { spec: { approvePlan: "disable", force: true }, carriedOut: false },
  };
  test.each(Object.entries(rows))("%s", (_name, { spec, carriedOut }) => {
    const object = started(spec);
    object.planned(1);
    expect(object.status.run?.operation === "apply").toBe(carriedOut);
  });

  test("planOnly holds for an approval that comes later, and says why nothing happens", () => {
    const object = started({ planOnly: true });
    object.planned(1);
    const told =
      "Unknown TerraformPlannedWithChanges: Plan generated: This object is in the plan only mode.";
    expect(object.ready).toBe(told);
    expect(object.events).toContain(
      "TerraformPlanSucceed: Planned.\nPlan generated: This object is in the plan only mode.",
    );
    object.edit({ approvePlan: PLAN_1 });
    expect(object.ready).toBe(told);
    object.edit({ planOnly: false });
    expect(object.status.run).toMatchObject({ operation: "apply", planId: PLAN_1 });
  });

  test("planOnly and auto rest between two plans; a new revision is planned by itself", () => {
    const object = started({ planOnly: true, approvePlan: "auto", interval: "3s" });
    object.planned(1);
    expect(object.decisions.at(-1)?.requeueAfterMs).toBeUndefined();
    object.after(60_000);
    expect(object.status.run).toBeUndefined();
    object.source(REVISION_2);
    object.planned(1);
    expect(object.status.plan?.pending).toBe(PLAN_2);
    expect(object.status.run).toBeUndefined();
  });

  test("planOnly: a request plans anew, for the world may have moved", () => {
    const object = started({ planOnly: true });
    object.planned(1);
    object.annotate({ "reconcile.fluxcd.io/requestedAt": "1" });
    expect(object.status.run).toMatchObject({ operation: "plan" });
  });

  test("planOnly: with destroyResourcesOnDeletion a deletion destroys all the same", () => {
    const object = applied({ destroyResourcesOnDeletion: true });
    object.edit({ planOnly: true });
    object.planned(0);
    object.delete();
    object.planned(1);
    expect(object.status.run).toMatchObject({ operation: "apply", destroy: true });
  });

  test("force does not let a plan go on that is held for a person", () => {
    const object = started({ force: true });
    object.planned(1);
    object.run({ stage: "apply" });
    object.fails({ stage: "apply", exitCode: undefined, unrecorded: ["a.b"] });
    object.planned(1);
    expect(object.status.run).toBeUndefined();
    expect(object.condition("Stalled")).toMatchObject({ reason: "RunResultUnknown" });
  });
});

describe("drift is a result", () => {
  test("that has time, revision, size and count, and is no failure", () => {
    const object = applied();
    object.edit({ approvePlan: "disable" });
    object.planned(0);
    for (const count of [1, 2, 3]) {
      object.whenDue();
      object.planned(2);
      expect(object.status.drift).toMatchObject({
        revision: REVISION_1,
        changes: 2,
        summary: "2 to add, 0 to change, 0 to destroy",
        count,
      });
      expect(object.status.reconciliationFailures).toBe(0);
      expect(object.ready).toMatch(/^False DriftDetected/);
    }
    expect(object.status.drift?.since).not.toBe(object.status.drift?.at);
    expect(object.events.filter((each) => each.startsWith("DriftDetected"))).toHaveLength(1);
    expect(object.events.join()).not.toContain("ReconciliationFailed");
    object.whenDue();
    object.planned(0);
    expect(object.status.drift).toBeUndefined();
    expect(object.ready).toBe(`True NoDrift: No drift: ${REVISION_1}`);
  });

  test("that is over once it is repaired", () => {
    const object = applied();
    object.whenDue();
    object.planned(1);
    expect(object.status.drift).toMatchObject({ count: 1 });
    object.applied();
    expect(object.status.drift).toBeUndefined();
    expect(object.status.lastAppliedByDriftDetectionAt).toBeDefined();
  });

  test("that uses up no retries", () => {
    const object = applied({ remediation: { retries: 1 } });
    object.edit({ approvePlan: "" });
    object.planned(0);
    object.whenDue();
    object.planned(1);
    expect(object.condition("Stalled")).toBeUndefined();
    expect(object.ready).toMatch(/^False DriftDetected: .*approve this plan/);
  });

  test("that nobody looks for: a plan with changes is an ordinary one", () => {
    const object = applied({ disableDriftDetection: true, interval: "5s" });
    object.whenDue();
    object.planned(0);
    expect(object.ready).toBe(`True TerraformPlannedNoChanges: Plan no changes: ${REVISION_1}`);
    object.whenDue();
    object.planned(1);
    expect(object.status.lastDriftDetectedAt).toBeUndefined();
    expect(object.status.drift).toBeUndefined();
    expect(object.status.run).toMatchObject({ operation: "apply" });
  });

  test("a spec that only looks for drift and does not look is told so, and rests", () => {
    const object = started({ approvePlan: "disable", disableDriftDetection: true });
    expect(object.status.run).toBeUndefined();
    expect(object.ready).toMatch(/^Unknown NothingToDo: Nothing is done: .*remove one of the two$/);
    expect(object.condition("Reconciling")).toBeUndefined();
    expect(object.status.observedGeneration).toBe(1);
    object.edit({ disableDriftDetection: false });
    expect(object.status.run).toMatchObject({ operation: "plan" });
  });
});

describe("drift that waits for a person is looked at again in its time", () => {
  function drifted(): { object: OneObject; planId: string } {
    const object = applied();
    object.edit({ approvePlan: "" });
    object.planned(0);
    object.whenDue();
    object.planned(1);
    const planId = object.status.plan?.pending ?? "";
    expect(object.ready).toMatch(/^False DriftDetected/);
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(600_000);
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "plan", reason: "IntervalElapsed" });
    expect(object.ready).toMatch(/^False DriftDetected/);
    return { object, planId };
  }

  test("gone by itself: the plan goes too", () => {
    const { object } = drifted();
    object.planned(0);
    expect(object.ready).toBe(`True NoDrift: No drift: ${REVISION_1}`);
    expect(object.status.plan?.pending).toBeUndefined();
    expect(object.status.drift).toBeUndefined();
  });

  test("the same as before: counted, and the plan that was shown stays", () => {
    const { object, planId } = drifted();
    const saved = object.asked.filter((each) => each === "save-plan").length;
    object.planned(1);
    expect(object.status.plan?.pending).toBe(planId);
    expect(object.status.drift).toMatchObject({ count: 2 });
    expect(object.asked.filter((each) => each === "save-plan")).toHaveLength(saved);
    expect(object.events.filter((each) => each.startsWith("DriftDetected"))).toHaveLength(1);
    object.edit({ approvePlan: planId });
    expect(object.status.run).toMatchObject({ operation: "apply", planId });
  });

  test("another than before: shown under an id of its own", () => {
    const { object, planId } = drifted();
    object.planned(3);
    expect(object.status.plan?.pending).not.toBe(planId);
    expect(object.status.drift).toMatchObject({ changes: 3, count: 2 });
  });

  test("its look fails: that stands until the next, and the plan can still be approved", () => {
    const { object, planId } = drifted();
    object.fails();
    object.after(1_000);
    expect(object.ready).toMatch(/^False DriftDetectionFailed/);
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "plan", reason: "RetryAfterFailure" });
    object.fails();
    object.edit({ approvePlan: planId });
    expect(object.status.run).toMatchObject({ operation: "apply", planId });
  });

  test("approved while it looks: carried out right after", () => {
    const { object, planId } = drifted();
    object.edit({ approvePlan: planId });
    object.planned(1);
    expect(object.status.run).toMatchObject({ operation: "apply", planId });
  });

  test("its run is lost: the plan waits on, and another look follows", () => {
    const { object, planId } = drifted();
    object.run({ runner: "gone", workersAlive: 0, verdict: "dead", proof: "killed by signal 9" });
    expect(object.status.plan?.pending).toBe(planId);
    object.after(2_000);
    expect(object.status.run).toMatchObject({ operation: "plan", reason: "RetryAfterLoss" });
  });

  test("in the plan only mode too", () => {
    const object = applied();
    object.edit({ planOnly: true });
    object.planned(0);
    object.whenDue();
    object.planned(1);
    expect(object.ready).toMatch(/^False DriftDetected: .*plan only mode/);
    object.whenDue();
    object.planned(0);
    expect(object.ready).toMatch(/^True NoDrift/);
  });
});

describe("a new plan is asked for", () => {
  const asks: Record<string, (object: OneObject) => void> = {
    "by the annotation": (object) => object.annotate({ "nigari.dev/replan": "1" }),
    "in the spec, by the id": (object) => object.edit({ approvePlan: "replan-master-b8e362c206" }),
    "in the spec, by the beginning of it": (object) => object.edit({ approvePlan: "replan" }),
    "as tfctl does, in the status": (object) => {
      const { terraform } = object.observed;
      const { plan: _, ...status } = object.status;
      object.observed.terraform = { ...terraform, status };
      object.annotate({ "reconcile.fluxcd.io/requestedAt": "1" });
    },
  };
  test.each(Object.entries(asks))("%s: once, and under an id of its own", (name, ask) => {
    const object = started({});
    object.planned(1);
    ask(object);
    expect(object.status.run).toMatchObject({ operation: "plan" });
    object.planned(1);
    expect(object.status.run).toBeUndefined();
    expect(object.status.plan?.pending).toMatch(/^plan-master-b8e362c206/);
    if (!name.startsWith("as tfctl")) expect(object.status.plan?.pending).not.toBe(PLAN_1);
    object.edit({ interval: "7m" });
    object.after(3_600_000);
    expect(object.status.run).toBeUndefined();
  });

  test("another plan is meant: nothing happens", () => {
    const object = started({});
    object.planned(1);
    object.edit({ approvePlan: "replan-master-0000000000" });
    expect(object.status.plan?.pending).toBe(PLAN_1);
    expect(object.status.run).toBeUndefined();
  });

  test("while a plan is being made: the next one answers", () => {
    const object = started({});
    object.annotate({ "nigari.dev/replan": "1" });
    object.planned(1);
    expect(object.status.run).toMatchObject({ operation: "plan", reason: "ReplanRequested" });
  });

  test("where nothing is pending: it is looked again", () => {
    const object = applied();
    object.annotate({ "nigari.dev/replan": "1" });
    expect(object.status.run).toMatchObject({ operation: "plan", reason: "ReplanRequested" });
  });
});

test("what changes while a plan is made is seen right after, though the plan waits", () => {
  const object = started({});
  object.source(REVISION_2);
  object.planned(1);
  expect(object.status.run).toMatchObject({ revision: REVISION_2, reason: "PlanStale" });
});

describe("a plan that takes no lock", () => {
  const lock = {
    id: "l1",
    operation: "OperationTypeApply",
    who: "ann",
    created: "",
    runId: undefined,
  };
  test("does not wait for one", () => {
    const object = new OneObject({ plan: { lock: false } });
    object.observed.state = { lock, rescued: [] };
    object.settle();
    expect(object.status.run).toMatchObject({ operation: "plan" });
    expect(object.asked).not.toContain("release-lock");
  });
  test("but its apply does", () => {
    const object = started({ plan: { lock: false }, approvePlan: "auto" });
    object.observed.state = { lock, rescued: [] };
    object.planned(1);
    expect(object.status.run).toBeUndefined();
    expect(object.ready).toContain("State is locked by ann");
  });
});
