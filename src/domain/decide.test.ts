import { describe, expect, test } from "vitest";
import { OneObject, PLAN_1, REVISION_1 } from "../testing/one-object.ts";

describe("the way of an object from its first pass to applied", () => {
  test("auto: plans, applies the very plan, says so", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    expect(object.status.run).toMatchObject({ operation: "plan", attempt: 1, reason: "FirstPlan" });
    expect(object.ready).toBe("Unknown Progressing: Initializing");
    expect(object.condition("Reconciling")).toMatchObject({ status: "True" });
    object.planned(2);
    expect(object.status.run).toMatchObject({ operation: "apply", planId: PLAN_1 });
    expect(object.status.plan).toMatchObject({ pending: PLAN_1, summary: expect.any(String) });
    expect(object.condition("Apply")).toMatchObject({ status: "Unknown" });
    object.applied();
    expect(object.ready).toBe(`True TerraformAppliedSucceed: Applied successfully: ${REVISION_1}`);
    expect(object.status.plan).toMatchObject({ lastApplied: PLAN_1 });
    expect(object.status.plan?.pending).toBeUndefined();
    expect(object.status.run).toBeUndefined();
    expect(object.condition("Reconciling")).toBeUndefined();
    expect(object.status.lastAppliedRevision).toBe(REVISION_1);
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(600_000);
    expect(object.asked).toEqual([
      "add-finalizer",
      "launch-run",
      "save-plan",
      "remove-run",
      "keep-inputs",
      "launch-run",
      "keep-inputs",
      "remove-run",
    ]);
  });

  test("by hand: waits without end, shows the id, and applies on that very id", () => {
    const object = new OneObject();
    object.settle();
    const decision = object.planned(1);
    expect(object.ready).toBe(
      `Unknown TerraformPlannedWithChanges: Plan generated: set approvePlan: "${PLAN_1}" ` +
        "to approve this plan.",
    );
    expect(object.condition("Reconciling")).toBeUndefined();
    expect(decision.requeueAfterMs).toBeUndefined();
    object.edit({ approvePlan: PLAN_1 });
    expect(object.status.run).toMatchObject({ operation: "apply", planId: PLAN_1 });
    object.applied();
    expect(object.ready).toMatch(/^True TerraformAppliedSucceed/);
  });

  test("outputs are written to their Secret", () => {
    const object = new OneObject({ approvePlan: "auto", writeOutputsToSecret: { name: "out" } });
    object.settle();
    object.planned(1);
    object.applied();
    expect(object.ready).toBe(`True TerraformOutputsWritten: Outputs written: ${REVISION_1}`);
    expect(object.asked).toContain("write-outputs");
    expect(object.status.availableOutputs).toEqual(["hello_world"]);
  });
});

describe("a killed runner", () => {
  test("in the init of a plan: said at once, and a new attempt within a second", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.run({ runner: "running", stage: "init", workersAlive: 1 });
    object.run({ runner: "gone", proof: "killed by signal 9", verdict: "unreachable" });
    expect(object.ready).toBe(
      "Unknown RunnerLost: The runner was killed by signal 9 during init; what is left of it is " +
        "ended, for it writes nothing, then a new attempt starts (1 process lives)",
    );
    expect(object.asked).toContain("terminate-run");
    object.pass();
    expect(object.ready).toBe(
      "Unknown RunnerLost: The runner was killed by signal 9 during init; " +
        "a new attempt starts at once",
    );
    // What came in the meantime is looked for at once.
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(0);
    expect(object.settle().requeueAfterMs).toBeLessThanOrEqual(1_000);
    object.whenDue();
    expect(object.status.run).toMatchObject({ attempt: 2, operation: "plan" });
    expect(object.status.run?.note).toContain("killed by signal 9 during init");
  });

  test("in an apply: tofu is left to finish, then a fresh plan confirms", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.planned(1);
    object.run({ runner: "running", stage: "apply", workersAlive: 1 });
    object.run({ runner: "gone", proof: "killed by signal 9", verdict: "unreachable" });
    expect(object.ready).toBe(
      "Unknown RunnerLost: The runner was killed by signal 9 during apply; tofu goes on and is " +
        "watched; its result is collected, then a fresh plan is made (1 process lives); or have " +
        'them ended: "nigari end-run default/app"',
    );
    expect(object.status.run?.note).toContain("tofu goes on");
    object.run({ workersAlive: 0, verdict: "dead" });
    expect(object.status.run).toBeDefined();
    object.ends({
      kind: "orphaned",
      stage: "apply",
      exitCode: 0,
      unrecorded: [],
      stateRescued: false,
    });
    expect(object.status).toMatchObject({ lastAppliedRevision: REVISION_1 });
    expect(object.status.run).toMatchObject({ operation: "plan", reason: "ConfirmApply" });
    object.planned(0);
    expect(object.ready).toBe(`True NoDrift: No drift: ${REVISION_1}`);
    expect(object.asked.filter((each) => each === "terminate-run")).toEqual([]);
  });
});
