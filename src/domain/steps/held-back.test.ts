import { expect, test } from "vitest";
import { OneObject, PLAN_1 } from "../../testing/one-object.ts";

const HELD = "Another controller, old-1, holds Lease flux-system/x";

test("nothing is begun while another controller leads, not even a finalizer", () => {
  const object = new OneObject();
  object.engine({ heldBack: HELD });
  object.settle();
  expect(object.asked).toEqual([]);
  expect(object.ready).toBe(`Unknown OtherControllerLeads: ${HELD}`);
  expect(object.condition("Reconciling")).toMatchObject({ status: "True", message: HELD });
  expect(object.decisions.at(-1)?.requeueAfterMs).toBe(300_000);
  object.engine({ heldBack: undefined });
  object.settle();
  expect(object.asked).toEqual(["add-finalizer", "launch-run"]);
});

test("what an object was found to be stays true, and the holder is named beside it", () => {
  const object = new OneObject({ approvePlan: "auto" });
  object.settle();
  object.planned();
  object.applied();
  const before = object.ready;
  object.engine({ heldBack: HELD });
  object.edit({ path: "elsewhere" });
  expect(object.ready).toBe(before);
  expect(object.condition("Reconciling")?.message).toBe(HELD);
  expect(object.status.run).toBeUndefined();
  object.engine({ heldBack: undefined });
  object.settle();
  expect(object.status.run?.operation).toBe("plan");
});

test("a plan that is approved meanwhile is applied once the other one is gone", () => {
  const object = new OneObject();
  object.settle();
  object.planned();
  object.engine({ heldBack: HELD });
  object.edit({ approvePlan: PLAN_1 });
  expect(object.status.run).toBeUndefined();
  expect(object.ready).toContain(PLAN_1);
  object.engine({ heldBack: undefined });
  object.settle();
  expect(object.status.run?.operation).toBe("apply");
});

test("a deletion is left to the other one", () => {
  const object = new OneObject();
  object.settle();
  object.planned(0);
  object.engine({ heldBack: HELD });
  object.delete();
  expect(object.asked).not.toContain("remove-finalizer");
  object.engine({ heldBack: undefined });
  object.settle();
  expect(object.gone).toBe(true);
});

test("a run that is under way is seen to its end, and the plan is kept", () => {
  const object = new OneObject();
  object.settle();
  object.engine({ heldBack: HELD });
  object.planned();
  expect(object.asked).toContain("save-plan");
  expect(object.status.run).toBeUndefined();
  expect(object.status.plan?.pending).toBe(PLAN_1);
});
