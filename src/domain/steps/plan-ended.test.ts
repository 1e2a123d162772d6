import { describe, expect, test } from "vitest";
import { OneObject, PLAN_1, REVISION_1 } from "../../testing/one-object.ts";

/** An object that has been applied, and whose next run looks for drift. */
function looking(approvePlan: string): OneObject {
  const object = new OneObject({ approvePlan: "auto" });
  object.settle();
  object.planned(1);
  object.applied();
  if (approvePlan !== "auto") {
    object.edit({ approvePlan });
    object.planned(0);
  }
  object.whenDue();
  object.effects.length = 0;
  return object;
}

describe("a look for drift", () => {
  test("leaves Ready standing while it looks", () => {
    const object = looking("auto");
    expect(object.status.run).toMatchObject({ operation: "plan", reason: "IntervalElapsed" });
    expect(object.ready).toMatch(/^True TerraformAppliedSucceed/);
    expect(object.condition("Reconciling")).toMatchObject({ status: "True" });
  });

  test("that finds none says so, and moves no plan's time", () => {
    const object = looking("auto");
    const { lastPlanAt } = object.status;
    object.planned(0);
    expect(object.ready).toBe(`True NoDrift: No drift: ${REVISION_1}`);
    expect(object.status.lastPlanAt).toBe(lastPlanAt);
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(600_000);
    expect(object.events).toEqual([]);
  });

  test("with a warning says it once as an event, and always with the run", () => {
    const object = looking("auto");
    const warnings = ['spec.targets: the module has no "module.x"'];
    object.planned(0, { warnings });
    object.whenDue();
    object.planned(0, { warnings });
    expect(object.ready).toBe(`True NoDrift: No drift: ${REVISION_1}`);
    expect(object.status.lastRun?.message).toBe(`No changes; warning: ${warnings[0]}`);
    expect(object.events).toEqual([`PlanWarning: ${warnings[0]}`]);
    object.whenDue();
    object.planned(0);
    expect(object.status.lastRun?.message).toBe("No changes");
  });

  test("in auto mode repairs what it finds, and says when", () => {
    const object = looking("auto");
    object.planned(1);
    expect(object.events).toContain(
      "DriftDetected: Drift detected.\n1 to add, 0 to change, 0 to destroy",
    );
    expect(object.status.run).toMatchObject({ operation: "apply" });
    object.applied();
    expect(object.ready).toMatch(/^True TerraformAppliedSucceed/);
    expect(object.status).toMatchObject({
      lastDriftDetectedAt: "2026-01-01T00:10:00Z",
      lastAppliedByDriftDetectionAt: "2026-01-01T00:10:00Z",
      reconciliationFailures: 0,
    });
  });

  test("by hand shows a plan that can be approved, under an id nobody has approved", () => {
    const object = looking("");
    object.planned(1);
    const id = object.status.plan?.pending ?? "";
    expect(id).toMatch(new RegExp(`^${PLAN_1}-[0-9a-f]{6}$`));
    expect(object.ready).toBe(
      "False DriftDetected: Drift detected: 1 to add, 0 to change, 0 to destroy; " +
        `set approvePlan: "${id}" to approve this plan.`,
    );
    expect(object.status.reconciliationFailures).toBe(0);
    object.edit({ approvePlan: id });
    object.applied();
    expect(object.status.plan).toMatchObject({ lastApplied: id });
    expect(object.status.lastAppliedByDriftDetectionAt).toBeDefined();
  });

  test("an approval that still stands in the spec approves no later plan", () => {
    const object = new OneObject();
    object.settle();
    object.planned(1);
    object.edit({ approvePlan: PLAN_1 });
    object.applied();
    object.whenDue();
    object.planned(1);
    expect(object.ready).toMatch(/^False DriftDetected/);
    expect(object.status.run).toBeUndefined();
  });

  test("with approvals disabled it only tells, interval after interval, once each finding", () => {
    const object = looking("disable");
    object.planned(2);
    expect(object.ready).toBe(
      "False DriftDetected: Drift detected: 2 to add, 0 to change, 0 to destroy",
    );
    expect(object.status.plan?.pending).toBeUndefined();
    object.whenDue();
    object.planned(2);
    expect(object.events).toHaveLength(1);
    object.whenDue();
    object.planned(0);
    expect(object.ready).toBe(`True NoDrift: No drift: ${REVISION_1}`);
    expect(object.asked).not.toContain("save-plan");
  });

  test("that fails says that it was a look for drift", () => {
    const object = looking("auto");
    object.fails({ message: "provider is gone" });
    expect(object.ready).toBe("False DriftDetectionFailed: error running Plan: provider is gone");
    expect(object.events).toEqual([
      "DriftDetectionFailed: Drift detection error: provider is gone",
    ]);
  });
});

describe("a plan that failed", () => {
  const rows = {
    "its own error": {
      fails: { message: "bad module" },
      ready: "False TFExecPlanFailed: error running Plan: bad module",
      event: "TFExecPlanFailed: Plan error: bad module",
    },
    init: {
      fails: { stage: "init", reason: "TFExecInitFailed", message: "no provider" },
      ready: "False TFExecInitFailed: error running Init: no provider",
      event: "TFExecInitFailed: error running Init: no provider",
    },
    "the artifact, in its own words": {
      fails: { stage: "artifact", reason: "ArtifactFailed", message: "digest differs" },
      ready: "False ArtifactFailed: digest differs",
      event: "ArtifactFailed: digest differs",
    },
    "set-up whose words are matched by clients": {
      fails: {
        stage: "init",
        reason: "TFExecInitFailed",
        message: 'error setting env for Terraform: manual setting of env var "TF_LOG" detected',
      },
      ready:
        "False TFExecInitFailed: error setting env for Terraform: " +
        'manual setting of env var "TF_LOG" detected',
      event:
        "TFExecInitFailed: error setting env for Terraform: " +
        'manual setting of env var "TF_LOG" detected',
    },
  } as const;
  test.each(Object.entries(rows))("%s", (_name, row) => {
    const object = new OneObject();
    object.settle();
    object.fails(row.fails);
    expect(object.ready).toBe(row.ready);
    expect(object.events.at(-1)).toBe(row.event);
    expect(object.condition("Reconciling")).toBeUndefined();
    expect(object.condition("Stalled")).toBeUndefined();
  });

  test("is counted, tried again after the retry interval, and its text stays till then", () => {
    const object = new OneObject({ retryInterval: "40s" });
    object.settle();
    object.fails();
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(40_000);
    object.whenDue();
    expect(object.status.run).toMatchObject({ reason: "RetryAfterFailure", attempt: 1 });
    expect(object.ready).toMatch(/^False TFExecPlanFailed/);
    object.fails();
    expect(object.status.reconciliationFailures).toBe(2);
    expect(object.events.filter((each) => each.startsWith("TFExec"))).toHaveLength(1);
  });

  test("a thousand failures later it still has a time", () => {
    const object = new OneObject();
    object.settle();
    object.fails();
    const { terraform } = object.observed;
    object.observed.terraform = {
      ...terraform,
      status: { ...terraform.status, reconciliationFailures: 1_000_000 },
    };
    object.whenDue();
    object.fails();
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(15_000);
  });

  test("a new revision starts the count anew", () => {
    const object = new OneObject();
    object.settle();
    object.fails();
    object.source("main@sha1:ffff");
    expect(object.status).toMatchObject({ reconciliationFailures: 0 });
    expect(object.status.run).toMatchObject({ reason: "SourceChanged" });
  });

  test("by a lock names it in status and in StateLocked, until a plan succeeds", () => {
    const object = new OneObject();
    object.settle();
    const lock = { id: "l-1", operation: "OperationTypeApply", who: "ann@box", created: "2026" };
    object.fails({ lock: { ...lock, runId: undefined } });
    expect(object.condition("StateLocked")).toMatchObject({ status: "True", reason: "LockHeld" });
    expect(object.status.lock).toEqual({ pending: "l-1" });
    expect(object.events.at(-1)).toBe(
      "TFExecPlanFailed: Plan error: State locked with Lock Identifier l-1",
    );
    object.whenDue();
    object.planned(0);
    expect(object.condition("StateLocked")).toBeUndefined();
    expect(object.status.lock).toBeUndefined();
  });

  test("cancelled is a failure that names itself", () => {
    const object = new OneObject();
    object.settle();
    object.ends({ kind: "cancelled", stage: "plan", message: "asked to" });
    expect(object.ready).toBe("False TFExecPlanFailed: The run was cancelled: asked to");
    expect(object.status.lastRun).toMatchObject({ outcome: "cancelled" });
  });

  test("an answer to another question is not believed", () => {
    const object = new OneObject();
    object.settle();
    object.applied();
    expect(object.ready).toBe(
      'False TFExecPlanFailed: The runner answered "applied" to an order to plan',
    );
    expect(object.status.lastAppliedRevision).toBeUndefined();
  });
});

describe("a plan without changes", () => {
  test("the first one settles the object without an apply", () => {
    const object = new OneObject();
    object.settle();
    object.planned(0);
    expect(object.ready).toBe(`True TerraformPlannedNoChanges: Plan no changes: ${REVISION_1}`);
    expect(object.condition("Plan")).toMatchObject({ status: "False" });
    expect(object.status).toMatchObject({
      lastPlannedRevision: REVISION_1,
      lastPlannedGeneration: 1,
      lastPlanAt: "2026-01-01T00:00:00Z",
      availableOutputs: ["hello_world"],
    });
    expect(object.condition("Output")).toMatchObject({ reason: "TerraformOutputsAvailable" });
  });

  test("is of the spec it was made for, not of one that was edited meanwhile", () => {
    const object = new OneObject();
    object.settle();
    const { terraform } = object.observed;
    const metadata = { ...terraform.metadata, generation: 2 };
    object.observed.terraform = { ...terraform, metadata };
    object.observed.run = { ...(object.observed.run as never as object) } as never;
    object.pass();
    expect(object.status.run?.generation).toBe(1);
    object.planned(0);
    expect(object.status.observedGeneration).toBe(1);
    object.whenDue();
    expect(object.status.run).toMatchObject({ generation: 2, reason: "SpecChanged" });
  });
});

describe("what is stored of a plan", () => {
  test("if it cannot be saved for now, the run is kept and it is tried again", () => {
    const object = new OneObject();
    object.settle();
    object.observed.failedEffect = failure("save-plan", true);
    object.planned(1);
    expect(object.status.run?.id).toBe("run-1");
    expect(object.ready).toMatch(/^False Unavailable: Saving the plan does not work: disk is full/);
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(5_000);
    object.observed.failedEffect = undefined;
    object.settle();
    expect(object.status.plan?.pending).toBe(PLAN_1);
  });

  test("if it cannot be saved at all, the run has failed", () => {
    const object = new OneObject();
    object.settle();
    object.observed.failedEffect = failure("save-plan", false);
    object.planned(1);
    expect(object.ready).toBe("False TFExecPlanFailed: error saving plan secret: disk is full");
    expect(object.status.run).toBeUndefined();
  });
});

function failure(effect: "save-plan", transient: boolean) {
  return { effect, reason: "Unavailable", message: "disk is full", transient };
}
