import { describe, expect, test } from "vitest";
import type { TerraformSpec } from "../api/terraform.ts";
import { OneObject } from "../testing/one-object.ts";
import type { HealthFact } from "./facts.ts";

const outputs = [{ name: "hello_world", sensitive: false }];
const well: HealthFact[] = [{ name: "db", trouble: undefined }];
const trouble = "TCP health check error: db, url: h:1: the connection failed (ECONNREFUSED)";
const sick: HealthFact[] = [{ name: "db", trouble }];
const healthChecks = [{ name: "db", type: "tcp" as const, address: "h:1" }];

function applied(health: HealthFact[] | undefined, spec: Partial<TerraformSpec> = {}): OneObject {
  const object = new OneObject({ approvePlan: "auto", healthChecks, retryInterval: "5s", ...spec });
  object.settle();
  object.planned(1);
  object.ends({ kind: "applied", outputs, health });
  return object;
}

describe("health checks after an apply", () => {
  test("that pass are told; Ready says what was applied", () => {
    const object = applied(well);
    expect(object.condition("HealthCheck")).toMatchObject({
      status: "True",
      reason: "HealthChecksSucceed",
      message: "Health checks succeeded",
    });
    expect(object.ready).toMatch(/^True TerraformAppliedSucceed/);
  });

  test("that fail take Ready away; what was applied and written stands", () => {
    const object = applied(sick, { writeOutputsToSecret: { name: "out" } });
    expect(object.condition("HealthCheck")).toMatchObject({
      status: "False",
      reason: "HealthChecksFailed",
      message: trouble,
    });
    expect(object.ready).toBe(`False HealthChecksFailed: ${trouble}`);
    expect(object.condition("Apply")).toMatchObject({ status: "True" });
    expect(object.observed.outputsSecret).toMatchObject({ state: "present" });
    expect(object.status).toMatchObject({
      lastAppliedRevision: expect.any(String),
      reconciliationFailures: 1,
      lastRun: { outcome: "failed", stage: "health" },
    });
    expect(object.status.plan?.pending).toBeUndefined();
    expect(object.events).toContain(`HealthChecksFailed: ${trouble}`);
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(5_000);
  });

  test("are made again after the pause, by a plan without changes, until they pass", () => {
    const object = applied(sick);
    for (const health of [sick, sick]) {
      object.whenDue();
      expect(object.status.run).toMatchObject({ operation: "plan", reason: "RetryAfterFailure" });
      object.planned(0, { health });
      expect(object.ready).toMatch(/^False HealthChecksFailed/);
    }
    expect(object.events.filter((each) => each.startsWith("HealthChecksFailed"))).toHaveLength(1);
    object.whenDue();
    object.planned(0, { health: well });
    expect(object.ready).toMatch(/^True NoDrift/);
    expect(object.condition("HealthCheck")).toMatchObject({ status: "True" });
    expect(object.status.reconciliationFailures).toBe(0);
  });

  test("are made again at every look, so that a sickness that comes later is seen", () => {
    const object = applied(well);
    object.whenDue();
    object.planned(0, { health: sick });
    expect(object.ready).toBe(`False HealthChecksFailed: ${trouble}`);
  });

  test("use up the retries like other failures", () => {
    const object = applied(sick, { remediation: { retries: 1 } });
    expect(object.condition("Stalled")).toMatchObject({ reason: "RetryLimitReached" });
    expect(object.ready).toBe(`False HealthChecksFailed: ${trouble}`);
  });

  test("are not known where the run was stopped before: the condition stays as it was", () => {
    const object = applied(undefined);
    expect(object.condition("HealthCheck")).toBeUndefined();
    expect(object.ready).toMatch(/^True/);
  });

  test("that the spec no longer names are no condition any more", () => {
    const object = applied(sick);
    object.edit({ healthChecks: [] });
    object.planned(0);
    expect(object.condition("HealthCheck")).toBeUndefined();
    expect(object.ready).toMatch(/^True/);
  });

  test("say nothing of what was destroyed", () => {
    const object = applied(well);
    object.edit({ destroy: true });
    object.planned(1);
    object.applied();
    expect(object.condition("HealthCheck")).toBeUndefined();
  });

  test("cut off by the runner's death are made by the plan that confirms the apply", () => {
    const object = new OneObject({ approvePlan: "auto", healthChecks });
    object.settle();
    object.planned(1);
    object.run({ stage: "health" });
    expect(object.ready).toBe("Unknown Progressing: Checking health");
    object.run({ runner: "gone", workersAlive: 0, verdict: "dead", proof: "killed by signal 9" });
    object.ends({
      kind: "orphaned",
      stage: "health",
      exitCode: undefined,
      unrecorded: [],
      stateRescued: false,
    });
    expect(object.status.lastAppliedRevision).toBeDefined();
    expect(object.status.run).toMatchObject({ operation: "plan" });
  });
});

describe("the inventory", () => {
  const inventory = { entries: [{ n: "one", t: "terraform_data", id: "1" }], more: 0 };
  const { entries } = inventory;

  function inventoried(spec: Partial<TerraformSpec> = {}): OneObject {
    const object = new OneObject({ approvePlan: "auto", enableInventory: true, ...spec });
    object.settle();
    object.planned(1, { inventory: { entries: [], more: 0 } });
    expect(object.status.inventory).toEqual({ entries: [] });
    object.ends({ kind: "applied", outputs, inventory });
    return object;
  }

  test("is what the apply has found", () => {
    expect(inventoried().status.inventory).toEqual({ entries });
  });
  test("is refreshed by a look that finds no change, and by one that only tells drift", () => {
    const object = inventoried();
    object.whenDue();
    object.planned(0, { inventory: { entries: [], more: 3 } });
    expect(object.status.inventory).toEqual({ entries: [], more: 3 });
    object.edit({ approvePlan: "disable" });
    object.planned(1, { inventory });
    expect(object.status.inventory).toEqual({ entries });
  });
  test("is empty after everything was destroyed", () => {
    const object = inventoried();
    object.edit({ destroy: true });
    object.planned(1, { inventory });
    object.applied();
    expect(object.status.inventory).toBeUndefined();
  });
  test("goes when nobody wants it any more", () => {
    const object = inventoried();
    object.edit({ enableInventory: false });
    expect(object.status.inventory).toBeUndefined();
  });
});
