import { describe, expect, test } from "vitest";
import {
  OneObject,
  PLAN_1,
  PLAN_2,
  REVISION_1,
  REVISION_2,
  terraformOf,
} from "../testing/one-object.ts";

// What tofu-controller's own tests ask of one object, told anew under their numbers as far as a
// decision can show it. Where Nigari does better on purpose, the row says so.

function applied(spec: ConstructorParameters<typeof OneObject>[0] = {}): OneObject {
  const object = new OneObject({ approvePlan: "auto", ...spec });
  object.settle();
  object.planned(1);
  object.applied();
  return object;
}
/** Conditions as "Type status reason: message", in their order. */
function conditions(object: OneObject): string[] {
  return (object.status.conditions ?? []).map(
    (each) => `${each.type} ${each.status} ${each.reason}: ${each.message}`,
  );
}

test("000010 auto: exactly four conditions, outputs available, the plan stays stored", () => {
  const object = applied();
  expect(conditions(object)).toEqual([
    `Ready True TerraformAppliedSucceed: Applied successfully: ${REVISION_1}`,
    "Apply True TerraformAppliedSucceed: Applied successfully",
    "Output True TerraformOutputsAvailable: Outputs available",
    "Plan True TerraformPlannedWithChanges: Plan generated",
  ]);
  expect(object.status.plan).toMatchObject({ lastApplied: PLAN_1 });
  expect(object.status.availableOutputs).toEqual(["hello_world"]);
  expect(object.observed.plan).toEqual({ stored: true, id: PLAN_1 });
});

test("000011 a bad archive: one condition, with the runner's own words", () => {
  const message =
    "rpc error: code = Unknown desc = failed to untar artifact, " +
    "error: requires gzip-compressed body";
  const object = new OneObject({ approvePlan: "auto" });
  object.settle();
  object.fails({ stage: "artifact", reason: "ArtifactFailed", message });
  expect(conditions(object)).toEqual([`Ready False ArtifactFailed: ${message}`]);
});

test("000012 revisions of buckets and OCI repositories have the known plan ids", () => {
  const revisions = {
    "822c3dd335ad6d9d29a5f3a2cbbcf3d0e6a6b9f1": "plan-822c3dd335",
    "v4.38.0-v1alpha11@sha256:6033f3b9fb1f2b3c": "plan-v4.38.0-v1alpha11-6033f3b9fb",
  };
  for (const [revision, id] of Object.entries(revisions)) {
    const object = new OneObject({ approvePlan: "auto" });
    object.source(revision);
    object.planned(1);
    object.applied();
    expect(object.status.plan?.lastApplied).toBe(id);
  }
});

test("000016 observedGeneration is -1 until looked at; a request is answered in its pass", () => {
  const object = new OneObject();
  expect(object.status.observedGeneration).toBe(-1);
  object.annotate({ "reconcile.fluxcd.io/requestedAt": "2026-01-01T00:00:00Z" });
  object.planned(1);
  expect(object.status).toMatchObject({
    observedGeneration: 1,
    lastHandledReconcileAt: "2026-01-01T00:00:00Z",
  });
});

test("000030 by hand, with a short interval: the plan and its prompt remain", () => {
  const object = new OneObject({ interval: "3s" });
  object.settle();
  object.planned(1);
  object.after(5_000);
  expect(object.status.plan?.pending).toBe(PLAN_1);
  expect(object.ready).toBe(
    `Unknown TerraformPlannedWithChanges: Plan generated: set approvePlan: "${PLAN_1}" ` +
      "to approve this plan.",
  );
});

describe("000040 to 000043 outputs", () => {
  test("000040, 000041 are written after an apply", () => {
    const object = applied({ writeOutputsToSecret: { name: "out", outputs: ["hello_world"] } });
    expect(conditions(object)).toContain("Output True TerraformOutputsWritten: Outputs written");
    expect(object.observed.outputsSecret).toEqual({ state: "present", keys: ["hello_world"] });
  });

  test("000042 an alias is no reason to write again", () => {
    const outputs = ["hello_world:age.agekey"];
    const object = applied({ writeOutputsToSecret: { name: "out", outputs } });
    object.after(60_000);
    expect(object.status.run).toBeUndefined();
  });

  test("000043 a deleted Secret comes back; here at once, not after the interval", () => {
    const object = applied({ writeOutputsToSecret: { name: "out" } });
    object.nowMs += 15_000;
    object.observed.outputsSecret = { state: "absent" };
    object.settle();
    object.planned(0);
    expect(object.observed.outputsSecret).toMatchObject({ state: "present" });
  });
});

describe("000050 to 000054 approval by hand", () => {
  function waiting(): OneObject {
    const object = new OneObject();
    object.settle();
    object.planned(1);
    return object;
  }

  test("000050 the id in the spec lets the plan go on", () => {
    const object = waiting();
    object.edit({ approvePlan: PLAN_1 });
    object.applied();
    expect(object.status.plan).toMatchObject({ lastApplied: PLAN_1 });
    expect(object.condition("Apply")).toMatchObject({ reason: "TerraformAppliedSucceed" });
    expect(object.status.availableOutputs).toEqual(["hello_world"]);
  });

  test("000052 the plan that is approved later is carried out as it is, not made anew", () => {
    const object = waiting();
    object.after(10_000);
    object.edit({ approvePlan: PLAN_1 });
    expect(object.status.run).toMatchObject({ operation: "apply", planId: PLAN_1 });
  });

  test("000051, 000053 a new revision replaces the plan by itself, and asks anew", () => {
    const object = waiting();
    object.source(REVISION_2);
    object.planned(1);
    expect(object.status.plan?.pending).toBe(PLAN_2);
    expect(object.ready).toContain(`set approvePlan: "${PLAN_2}"`);
    object.edit({ approvePlan: PLAN_2 });
    object.applied();
    expect(object.status.plan).toMatchObject({ lastApplied: PLAN_2 });
  });

  test("000054 an edit of the interval: the generation follows, the id stays", () => {
    const object = waiting();
    object.edit({ interval: "1m" });
    expect(object.status).toMatchObject({ lastPlannedGeneration: 2 });
    expect(object.status.plan?.pending).toBe(PLAN_1);
    object.edit({ approvePlan: PLAN_1 });
    object.applied();
    expect(object.status.plan).toMatchObject({ lastApplied: PLAN_1 });
  });

  test("000100 after an approved apply a new revision is shown, not applied", () => {
    const object = waiting();
    object.edit({ approvePlan: PLAN_1 });
    object.applied();
    object.source(REVISION_2);
    object.planned(1);
    expect(object.status.plan).toMatchObject({ pending: PLAN_2, lastApplied: PLAN_1 });
    expect(object.condition("Plan")).toMatchObject({ reason: "TerraformPlannedWithChanges" });
    expect(object.status.run).toBeUndefined();
  });

  test("000110 after a change to auto a new revision is applied by itself", () => {
    const object = waiting();
    object.edit({ approvePlan: PLAN_1 });
    object.applied();
    object.edit({ approvePlan: "auto" });
    object.planned(0);
    object.source(REVISION_2);
    object.planned(1);
    object.applied();
    expect(object.status.plan?.lastApplied).toBe(PLAN_2);
    expect(object.status.plan?.pending).toBeUndefined();
  });
});

test("000072 a variable's Secret that lacks, then is there", () => {
  const object = new OneObject({ approvePlan: "auto" });
  const message = 'rpc error: code = Unknown desc = Secret "s" not found';
  object.observed.inputs = { state: "failed", reason: "VarsGenerationFailed", message };
  object.settle();
  expect(object.ready).toBe(`False VarsGenerationFailed: ${message}`);
  object.observed.inputs = { state: "resolved", digest: "inputs-1" };
  object.settle();
  object.planned(1);
  object.applied();
  expect(object.ready).toMatch(/^True/);
});

test("000120 deleted: plan, Secret of outputs and object go", () => {
  const object = applied({ writeOutputsToSecret: { name: "out" } });
  object.delete();
  expect(object.gone).toBe(true);
  expect(object.observed.plan.stored).toBe(false);
  expect(object.observed.outputsSecret).toEqual({ state: "absent" });
});

test("000121 deleted with its resources: destroyed first; Plan still says with changes", () => {
  const object = applied({ destroyResourcesOnDeletion: true });
  object.delete();
  object.planned(1);
  expect(object.condition("Plan")).toMatchObject({ reason: "TerraformPlannedWithChanges" });
  object.applied();
  expect(object.gone).toBe(true);
});

test("000130 destroy: applied, flagged, under the known id; then the object can go", () => {
  const object = applied({ destroyResourcesOnDeletion: true });
  object.edit({ destroy: true });
  object.planned(1);
  object.applied();
  expect(object.condition("Apply")?.message).toBe("Destroy applied successfully");
  expect(object.status.plan).toMatchObject({ lastApplied: PLAN_1, isDestroyPlan: true });
  object.whenDue();
  object.planned(0, { nothingToDestroy: true });
  expect(object.ready).toBe(
    `True TerraformPlannedNoChanges: No objects need to be destroyed: ${REVISION_1}`,
  );
  object.delete();
  expect(object.gone).toBe(true);
});

test("000131 resources and state deleted by hand: nothing to destroy is no error", () => {
  const object = applied({ destroyResourcesOnDeletion: true });
  object.edit({ approvePlan: "" });
  object.planned(0);
  object.delete();
  object.planned(0, { nothingToDestroy: true });
  expect(object.gone).toBe(true);
});

test("000140 drift is repaired by itself", () => {
  const object = applied({ interval: "5s" });
  object.after(5_000);
  object.planned(1);
  expect(object.status.lastDriftDetectedAt).toBeDefined();
  expect(object.ready).toBe("Unknown Progressing: Initializing");
  object.run({ stage: "apply" });
  expect(object.ready).toBe("Unknown Progressing: Applying");
  object.applied();
  expect(object.status.lastAppliedByDriftDetectionAt).toBeDefined();
});

test("000150 drift by hand: Ready is false, and here there is a plan to approve", () => {
  const object = new OneObject();
  object.settle();
  object.planned(1);
  object.edit({ approvePlan: PLAN_1 });
  object.applied();
  object.whenDue();
  object.planned(1);
  expect(object.condition("Ready")).toMatchObject({ status: "False", reason: "DriftDetected" });
  expect(object.status.plan?.pending).toBeDefined();
});

test("000160 a change that has nothing to do with it: planned, not applied", () => {
  const object = applied();
  object.source(REVISION_2);
  object.planned(0);
  expect(object.condition("Plan")).toMatchObject({ status: "False", message: "Plan no changes" });
  expect(object.status).toMatchObject({
    lastAppliedRevision: REVISION_1,
    lastAttemptedRevision: REVISION_2,
    lastPlannedRevision: REVISION_2,
  });
  expect(object.status.plan?.lastApplied).toBe(PLAN_1);
  expect(object.status.plan?.pending).toBeUndefined();
});

test("000170 a failed apply is tried again until what was in its way is gone", () => {
  const object = new OneObject({ approvePlan: "auto", interval: "5s" });
  object.settle();
  object.planned(1);
  object.run({ stage: "apply" });
  object.fails({ stage: "apply", message: "already exists" });
  expect(object.condition("Apply")).toMatchObject({ reason: "TerraformAppliedFail" });
  object.whenDue();
  object.planned(1);
  object.applied();
  expect(object.condition("Apply")).toMatchObject({ reason: "TerraformAppliedSucceed" });
});

describe("000180 whether a plan is a look for drift", () => {
  const rows: Record<string, { object: () => OneObject; drift: boolean }> = {
    "a new object: no": { object: () => new OneObject(), drift: false },
    "applied, nothing has changed: yes": { object: () => applied(), drift: true },
    "planned without changes, applied never: yes": {
      object: () => {
        const object = new OneObject();
        object.settle();
        object.planned(0);
        return object;
      },
      drift: true,
    },
    "everything is to be destroyed: no": {
      object: () => {
        const object = applied();
        object.edit({ destroy: true });
        return object;
      },
      drift: false,
    },
    "the spec has changed: no": {
      object: () => {
        const object = applied();
        object.edit({ path: "./other" });
        return object;
      },
      drift: false,
    },
    "the last apply failed: no, where upstream looks for drift for ever": {
      object: () => {
        const object = new OneObject({ approvePlan: "auto" });
        object.settle();
        object.planned(1);
        object.run({ stage: "apply" });
        object.fails({ stage: "apply" });
        return object;
      },
      drift: false,
    },
    "only to be watched: always": {
      object: () => new OneObject({ approvePlan: "disable" }),
      drift: true,
    },
  };
  test.each(Object.entries(rows))("%s", (_name, { object: make, drift }) => {
    const object = make();
    object.settle();
    if (object.status.run === undefined) object.whenDue();
    object.planned(1);
    expect(object.status.lastDriftDetectedAt !== undefined).toBe(drift);
  });
});

test("000230 only watched: no drift, then drift with its time, never a plan to apply", () => {
  const object = applied();
  object.edit({ approvePlan: "disable" });
  object.planned(0);
  expect(object.ready).toBe(`True NoDrift: No drift: ${REVISION_1}`);
  expect(object.status.lastDriftDetectedAt).toBeUndefined();
  object.whenDue();
  object.planned(1);
  expect(object.condition("Ready")).toMatchObject({ status: "False", reason: "DriftDetected" });
  expect(object.status.lastDriftDetectedAt).toBeDefined();
  expect(object.status.plan?.pending).toBeUndefined();
});

test("000281 no outputs: exactly three conditions", () => {
  const object = new OneObject({ approvePlan: "auto", interval: "1h" });
  object.settle();
  object.planned(1);
  object.ends({ kind: "applied", outputs: [] });
  expect(conditions(object).map((each) => each.split(":")[0])).toEqual([
    "Ready True TerraformAppliedSucceed",
    "Apply True TerraformAppliedSucceed",
    "Plan True TerraformPlannedWithChanges",
  ]);
});

test("000290 a foreign lock is named with its id, and not broken", () => {
  const object = applied({ interval: "5s" });
  const lock = { id: "f2ab685b", operation: "OperationTypePlan", who: "ann", created: "2026" };
  object.nowMs += 5_000;
  object.observed.state = { lock: { ...lock, runId: undefined }, rescued: [] };
  object.settle();
  expect(object.condition("StateLocked")).toMatchObject({ status: "True", reason: "LockHeld" });
  expect(object.status.lock?.pending).toBe("f2ab685b");
  expect(object.asked).not.toContain("release-lock");
});

test("000350 a dependant waits until its dependency is approved and applied", () => {
  const base = new OneObject({ writeOutputsToSecret: { name: "base" }, interval: "10h" });
  base.settle();
  base.planned(1);
  const web = new OneObject({ approvePlan: "auto", dependsOn: [{ name: "base" }] });
  const look = () => {
    const terraform = { ...base.observed.terraform, metadata: terraformOf({}, "base").metadata };
    terraform.metadata.generation = base.observed.terraform.metadata.generation ?? 0;
    const outputsReady = base.observed.outputsSecret.state === "present";
    web.observed.dependencies = [
      { namespace: "default", name: "base", terraform, outputsReady, denied: false },
    ];
    web.settle();
  };
  look();
  expect(web.ready).toBe("False DependencyNotReady: dependency 'default/base' is not ready");
  base.edit({ approvePlan: PLAN_1 });
  look();
  expect(web.ready).toMatch(/^False DependencyNotReady/);
  base.applied();
  look();
  expect(web.status.run).toMatchObject({ operation: "plan" });
});
