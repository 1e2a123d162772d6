import { describe, expect, test } from "vitest";
import { ACCEPT } from "../../api/names.ts";
import { OneObject, PLAN_1, REVISION_1 } from "../../testing/one-object.ts";
import type { RunOutcome } from "../facts.ts";

function applying(spec: ConstructorParameters<typeof OneObject>[0] = {}): OneObject {
  const object = new OneObject({ approvePlan: "auto", ...spec });
  object.settle();
  object.planned(1);
  object.run({ runner: "running", stage: "apply", workersAlive: 1 });
  object.effects.length = 0;
  return object;
}

function orphan(change: Partial<Extract<RunOutcome, { kind: "orphaned" }>> = {}): RunOutcome {
  return {
    kind: "orphaned",
    stage: "apply",
    exitCode: undefined,
    unrecorded: [],
    stateRescued: false,
    ...change,
  };
}

describe("an apply that failed", () => {
  test("keeps no plan, and a fresh one is made after the retry interval", () => {
    const object = applying();
    object.fails({ stage: "apply", reason: "TFExecApplyFailed", message: "no quota" });
    expect(object.ready).toBe("False TFExecApplyFailed: error running Apply: no quota");
    expect(object.condition("Apply")).toMatchObject({
      status: "False",
      reason: "TerraformAppliedFail",
      message: "no quota",
    });
    expect(object.status.plan?.pending).toBeUndefined();
    expect(object.events).toEqual(["TFExecApplyFailed: Apply error: no quota"]);
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "plan" });
    object.planned(1);
    expect(object.condition("Plan")).toMatchObject({ status: "True" });
    object.applied();
    expect(object.ready).toMatch(/^True TerraformAppliedSucceed/);
    expect(object.status.reconciliationFailures).toBe(0);
  });

  test("by hand it is shown anew, and not as drift: no dead end", () => {
    const object = new OneObject();
    object.settle();
    object.planned(1);
    object.edit({ approvePlan: PLAN_1 });
    object.run({ stage: "apply" });
    object.fails({ stage: "apply" });
    object.whenDue();
    object.planned(1);
    const id = object.status.plan?.pending;
    expect(id).not.toBe(PLAN_1);
    expect(object.ready).toBe(
      "Unknown TerraformPlannedWithChanges: Plan generated: " +
        `set approvePlan: "${id}" to approve this plan. ` +
        `The value "${PLAN_1}" is only the beginning of this id; it must be whole.`,
    );
  });

  test("before it applied anything keeps the plan, and is tried again with it", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.planned(1);
    object.run({ stage: "init" });
    object.fails({ stage: "init", reason: "TFExecInitFailed", message: "no provider" });
    expect(object.ready).toBe("False TFExecInitFailed: error running Init: no provider");
    expect(object.status.plan?.pending).toBe(PLAN_1);
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(15_000);
    object.after(14_000);
    expect(object.status.run).toBeUndefined();
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "apply", planId: PLAN_1 });
  });

  test("that was once heard to apply is not sent again, whatever it says later", () => {
    const object = applying();
    object.fails({ stage: "init", reason: "TFExecInitFailed" });
    expect(object.status.plan?.pending).toBeUndefined();
  });

  test("on a state that moved on is no failure: a new plan is made at once", () => {
    const object = applying();
    object.fails({ stage: "apply", planStale: true, message: "Saved plan is stale" });
    expect(object.events).toEqual([
      `PlanStale: Plan ${PLAN_1} no longer fits the state; a new plan is made`,
    ]);
    expect(object.status.run).toMatchObject({ operation: "plan" });
    expect(object.status.reconciliationFailures).toBe(0);
  });

  test("and left its lock, with its tofu killed: the lock is nobody's", () => {
    const object = applying();
    const lock = { id: "l-1", operation: "OperationTypeApply", who: "me", created: "2026" };
    object.observed.state = { rescued: [], lock: { ...lock, runId: "run-2" } };
    object.fails({ stage: "apply", exitCode: undefined });
    expect(object.asked).toEqual(["release-lock", "remove-run"]);
  });

  test("while it read outputs has applied all the same", () => {
    const object = applying();
    object.fails({ stage: "outputs", reason: "TFExecOutputFailed", message: "no answer" });
    expect(object.ready).toBe("False TFExecOutputFailed: error running Output: no answer");
    expect(object.condition("Apply")).toMatchObject({ status: "True" });
    expect(object.status).toMatchObject({ lastAppliedRevision: REVISION_1 });
    object.whenDue();
    object.planned(0);
    expect(object.ready).toMatch(/^True NoDrift/);
  });

  test("cancelled in the middle is a failed apply", () => {
    const object = applying();
    object.ends({ kind: "cancelled", stage: "apply", message: "interrupted" });
    expect(object.ready).toBe(
      "False TFExecApplyFailed: error running Apply: The run was cancelled: interrupted",
    );
    expect(object.status.plan?.pending).toBeUndefined();
  });

  test("a destroy speaks of destroying", () => {
    const object = new OneObject({ approvePlan: "auto", destroy: true });
    object.settle();
    object.planned(1);
    object.run({ stage: "apply" });
    object.fails({ stage: "apply", message: "still in use" });
    expect(object.ready).toBe("False TFExecApplyFailed: error running Destroy: still in use");
    expect(object.events.at(-1)).toBe("TFExecDestroyFailed: Destroy error: still in use");
  });
});

describe("an apply whose runner died, collected", () => {
  test("exit 0: applied, and confirmed by a fresh plan at once", () => {
    const object = applying();
    object.ends(orphan({ exitCode: 0 }));
    expect(object.status).toMatchObject({ lastAppliedRevision: REVISION_1 });
    expect(object.status.plan).toMatchObject({ lastApplied: PLAN_1 });
    expect(object.status.run).toMatchObject({ operation: "plan", reason: "ConfirmApply" });
    expect(object.events).toContain("TerraformAppliedSucceed: Applied successfully");
  });

  test("exit 1: tofu's own failure, after the retry interval", () => {
    const object = applying();
    object.ends(orphan({ exitCode: 1 }));
    expect(object.ready).toBe(
      "False TFExecApplyFailed: error running Apply: " +
        "tofu went on after its runner was gone and ended with exit code 1",
    );
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(15_000);
    expect(object.asked).toContain("revoke-credentials");
  });

  test("tofu killed, nothing in flight: a fresh plan may go on by itself", () => {
    const object = applying();
    object.ends(orphan());
    expect(object.ready).toMatch(/tofu was killed during apply; a fresh plan is made$/);
    expect(object.status.plan?.pending).toBeUndefined();
    object.whenDue();
    object.planned(1);
    expect(object.status.run).toMatchObject({ operation: "apply" });
  });

  test("while it read outputs: applied, whatever became of the rest", () => {
    const object = applying();
    object.ends(orphan({ stage: "outputs" }));
    expect(object.status).toMatchObject({ lastAppliedRevision: REVISION_1 });
  });

  test("the credentials are revoked and its own lock is released, after the collection", () => {
    const object = applying();
    const lock = { id: "l-1", operation: "OperationTypeApply", who: "me", created: "2026" };
    object.observed.state = { rescued: [], lock: { ...lock, runId: "run-2" } };
    const from = object.decisions.length;
    object.ends(orphan());
    expect(object.decisions[from]?.before.map((each) => each.do)).toEqual([
      "revoke-credentials",
      "release-lock",
    ]);
  });
});

describe("resources that may exist although the state does not say so", () => {
  function held(spec: ConstructorParameters<typeof OneObject>[0] = {}): OneObject {
    const object = applying(spec);
    object.ends(orphan({ unrecorded: ["time_sleep.slow"] }));
    object.whenDue();
    object.planned(1);
    return object;
  }

  test("hold even an automatic apply, named, with the plan and the way on", () => {
    const object = held();
    const id = object.status.plan?.pending;
    expect(object.status.run).toBeUndefined();
    expect(object.condition("Stalled")).toMatchObject({ reason: "RunResultUnknown" });
    expect(object.ready).toBe(
      "False RunResultUnknown: Run run-2 was cut off while it worked on time_sleep.slow: they " +
        "may exist although the state does not say so. Look at them, import or remove what is " +
        "there, " +
        `then let plan ${id} (1 to add, 0 to change, 0 to destroy) go on with the annotation ` +
        `nigari.dev/accept=${id}`,
    );
    expect(object.decisions.at(-1)?.requeueAfterMs).toBeUndefined();
  });

  test("the id is one that nobody can have accepted before", () => {
    const object = applying();
    object.annotate({ [ACCEPT]: PLAN_1 });
    object.ends(orphan({ unrecorded: ["a.b"] }));
    object.whenDue();
    object.planned(1);
    expect(object.status.run).toBeUndefined();
    expect(object.ready).toMatch(/^False RunResultUnknown/);
  });

  test("go on once a person accepts this very plan", () => {
    const object = held();
    object.annotate({ [ACCEPT]: object.status.plan?.pending ?? "" });
    expect(object.status.run).toMatchObject({ operation: "apply" });
    object.applied();
    expect(object.status.held).toBeUndefined();
    expect(object.ready).toMatch(/^True TerraformAppliedSucceed/);
  });

  test("by hand the approval of this very plan is enough", () => {
    const object = held();
    const id = object.status.plan?.pending ?? "";
    object.edit({ approvePlan: id });
    expect(object.status.run).toMatchObject({ operation: "apply", planId: id });
  });

  test("need nobody if the fresh plan finds nothing to do", () => {
    const object = applying();
    object.ends(orphan({ unrecorded: ["a.b"] }));
    object.whenDue();
    object.planned(0);
    expect(object.ready).toMatch(/^True/);
    expect(object.status.held).toBeUndefined();
  });

  test("of a tofu that was killed under a living runner are held the same way", () => {
    const object = applying();
    object.fails({ stage: "apply", exitCode: undefined, unrecorded: ["a.b"] });
    expect(object.status.run).toMatchObject({ operation: "plan" });
    object.planned(1);
    expect(object.ready).toMatch(/^False RunResultUnknown: Run run-2 was cut off .*a\.b/);
  });

  test("are held too if no trace of the run is left, whatever stage was heard last", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.planned(1);
    object.run({ stage: "init" });
    object.ends(orphan({ stage: "init", unrecorded: ["unknown: no trace is left"] }));
    expect(object.status.plan?.pending).toBeUndefined();
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "plan" });
    object.planned(1);
    expect(object.ready).toMatch(/^False RunResultUnknown/);
  });

  test("of two cut-off runs are all named", () => {
    const object = held();
    object.annotate({ [ACCEPT]: object.status.plan?.pending ?? "" });
    object.run({ stage: "apply" });
    object.ends(orphan({ unrecorded: ["z.z", "a.a"] }));
    object.whenDue();
    object.planned(1);
    expect(object.status.held?.resources).toEqual(["a.a", "z.z"]);
  });
});

describe("outputs", () => {
  const writeOutputsToSecret = { name: "out" };

  test("cannot be written into another's Secret: said, retried, never touched", () => {
    const object = applying({ writeOutputsToSecret });
    object.observed.outputsSecret = { state: "foreign", owner: "Secret of ann" };
    object.applied();
    expect(object.ready).toBe(
      "False OutputsWritingFailed: Secret out belongs to Secret of ann and is not touched; " +
        "choose another name in spec.writeOutputsToSecret.name, or remove that Secret",
    );
    expect(object.asked).not.toContain("write-outputs");
    expect(object.status.lastAppliedRevision).toBe(REVISION_1);
  });

  test("that cannot be written for good leave the apply applied, and are tried by a plan", () => {
    const object = applying({ writeOutputsToSecret });
    object.observed.failedEffect = {
      effect: "write-outputs",
      reason: "OutputsWritingFailed",
      message: "output not found: x",
      transient: false,
    };
    object.applied();
    expect(object.ready).toBe("False OutputsWritingFailed: output not found: x");
    object.observed.failedEffect = undefined;
    object.whenDue();
    object.planned(0);
    expect(object.ready).toBe(`True TerraformOutputsWritten: Outputs written: ${REVISION_1}`);
  });

  test("that vanished take the Secret with them", () => {
    const object = applying({ writeOutputsToSecret });
    object.applied();
    object.whenDue();
    object.planned(0, { outputs: [] });
    expect(object.asked).toContain("delete-outputs");
    expect(object.status.availableOutputs).toEqual([]);
  });

  test("are not rewritten by a destroy", () => {
    const object = applying({ writeOutputsToSecret });
    object.applied();
    object.effects.length = 0;
    object.edit({ destroy: true });
    object.planned(1);
    object.applied();
    expect(object.ready).toBe(
      `True TerraformAppliedSucceed: Destroy applied successfully: ${REVISION_1}`,
    );
    expect(object.asked).not.toContain("write-outputs");
    expect(object.events).toContain("TerraformDestroySucceed: Destroy applied successfully");
  });

  test("are told once when written, sorted, under a reason that says so", () => {
    const object = applying({ writeOutputsToSecret });
    object.applied();
    expect(object.events).toContain(
      "TerraformOutputsWritten: Outputs written.\n1 output(s): hello_world",
    );
  });
});
