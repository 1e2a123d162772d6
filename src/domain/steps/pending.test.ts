import { describe, expect, test } from "vitest";
import { OneObject, PLAN_1, PLAN_2, REVISION_2 } from "../../testing/one-object.ts";

function waiting(): OneObject {
  const object = new OneObject();
  object.settle();
  object.planned(1);
  object.effects.length = 0;
  return object;
}

const stale: Record<string, { change: (object: OneObject) => void; why: RegExp }> = {
  "the source has moved on": {
    change: (object) => object.source(REVISION_2),
    why: /the revision is master\/ed22/,
  },
  "a variable has changed": {
    change: (object) => {
      object.observed.inputs = { state: "resolved", digest: "inputs-2" };
    },
    why: /its inputs have changed/,
  },
  "everything is to be destroyed instead": {
    change: (object) => object.edit({ destroy: true }),
    why: /everything is to be destroyed/,
  },
  "its file is not in the store any more": {
    change: (object) => {
      object.observed.plan = { stored: false, id: undefined };
    },
    why: /its stored file is missing/,
  },
  "the store holds another plan": {
    change: (object) => {
      object.observed.plan = { stored: true, id: "plan-of-somebody" };
    },
    why: /its stored file is missing or another one/,
  },
  "another controller left it, and it is not known what it was made from": {
    change: (object) => {
      const { terraform } = object.observed;
      const status = { ...terraform.status, plan: { pending: PLAN_1 } };
      object.observed.terraform = { ...terraform, status };
    },
    why: /not known what it was made from/,
  },
  "nothing is to be applied any more": {
    change: (object) => object.edit({ approvePlan: "disable" }),
    why: /nothing is applied/,
  },
};

describe("a plan that went stale", () => {
  test.each(Object.entries(stale))("%s: dropped, told, made anew", (_name, { change, why }) => {
    const object = waiting();
    change(object);
    object.settle();
    expect(object.events).toContainEqual(expect.stringMatching(why));
    expect(object.events.filter((each) => each.startsWith("PlanStale"))).toHaveLength(1);
    expect(object.asked).toEqual(["delete-plan", "launch-run"]);
    expect(object.status.plan?.pending).toBeUndefined();
    expect(object.status.run).toMatchObject({ operation: "plan" });
  });

  test("the new one is asked for anew, under an id the old approval does not fit", () => {
    const object = waiting();
    object.observed.inputs = { state: "resolved", digest: "inputs-2" };
    object.settle();
    object.edit({ approvePlan: PLAN_1 });
    object.planned(1);
    expect(object.status.run).toBeUndefined();
    const id = object.status.plan?.pending ?? "";
    expect(id).not.toBe(PLAN_1);
    object.edit({ approvePlan: id });
    expect(object.status.run).toMatchObject({ operation: "apply", planId: id });
  });

  test("in auto mode a stale plan is never applied either", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.observed.inputs = { state: "resolved", digest: "inputs-2" };
    object.planned(1);
    expect(object.status.run).toMatchObject({ operation: "plan", inputsDigest: "inputs-2" });
  });

  test("what cannot start at once is not forgotten", () => {
    const object = waiting();
    object.engine({ slotFree: false });
    object.observed.plan = { stored: false, id: undefined };
    object.settle();
    object.engine({ slotFree: true });
    object.settle();
    expect(object.status.run).toMatchObject({ operation: "plan" });
  });
});

describe("a plan that waits", () => {
  test("stands a change of what shapes no plan, and follows the generation", () => {
    const object = waiting();
    object.edit({ interval: "5m" });
    expect(object.status.plan).toMatchObject({ pending: PLAN_1, generation: 2 });
    expect(object.status).toMatchObject({ lastPlannedGeneration: 2, observedGeneration: 2 });
    expect(object.asked).toEqual([]);
  });

  test("is not made again by the interval", () => {
    const object = waiting();
    object.after(86_400_000);
    expect(object.asked).toEqual([]);
    expect(object.status.nextDueAt).toBeUndefined();
  });

  test("answers a request by being there", () => {
    const object = waiting();
    object.annotate({ "reconcile.fluxcd.io/requestedAt": "now" });
    expect(object.status.lastHandledReconcileAt).toBe("now");
    expect(object.status.plan?.pending).toBe(PLAN_1);
  });

  test("of drift looks again on request, for the world may have come right", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.planned(0);
    object.edit({ approvePlan: "" });
    object.planned(0);
    object.whenDue();
    object.planned(1);
    expect(object.ready).toMatch(/^False DriftDetected/);
    object.annotate({ "reconcile.fluxcd.io/requestedAt": "now" });
    expect(object.status.run).toMatchObject({ operation: "plan", handles: "now" });
    object.planned(0);
    expect(object.ready).toMatch(/^True NoDrift/);
    expect(object.status.lastHandledReconcileAt).toBe("now");
  });

  test("keeps its prompt over a dependency that was not ready for a while", () => {
    const object = waiting();
    const dependency = { namespace: "default", name: "base", outputsReady: undefined };
    object.observed.dependencies = [{ ...dependency, terraform: undefined, denied: false }];
    object.settle();
    expect(object.ready).toMatch(/^False DependencyNotReady/);
    object.observed.dependencies = [];
    object.settle();
    expect(object.ready).toMatch(/^Unknown TerraformPlannedWithChanges/);
  });

  test.each([
    ["a beginning of the id approves nothing, and is told to be whole", "plan-master-b8e3"],
    ["an id of another plan approves nothing", PLAN_2],
    ["an id with something behind approves nothing", `${PLAN_1}0`],
  ])("%s", (_name, approvePlan) => {
    const object = waiting();
    object.edit({ approvePlan });
    expect(object.asked).toEqual([]);
    const whole = object.ready.includes("it must be whole");
    expect(whole).toBe(PLAN_1.startsWith(approvePlan));
  });
});
