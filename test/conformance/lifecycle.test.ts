import { describe, expect, test } from "vitest";
import { REQUESTED_AT } from "../../src/api/names.ts";
import type { TerraformSpec } from "../../src/api/terraform.ts";
import { validateObject } from "../../src/objects/validate.ts";
import { terraformOf } from "../../src/testing/simulation/objects.ts";
import { Case, PLAN_1, REVISION_1, REVISION_2 } from "./case.ts";

// Upstream's cases of sources, dependencies, drift, locks, retries and deletion, told anew.

const auto = { approvePlan: "auto" } as const;

async function gone(one: Case): Promise<void> {
  await one.world.until("it is gone", async () => {
    return (await one.world.get("Terraform", one.name)) === undefined;
  });
}

describe("000013, 000014, 000191 a source that is not there", () => {
  const sourceKinds = ["GitRepository", "Bucket"] as const;
  test.each(sourceKinds)("000013, 000191 no %s: it is named", async (kind) => {
    const one = new Case({ kind });
    await one.apply(auto);
    await one.world.start();
    const ready = await one.untilReason("ArtifactFailed");
    expect(ready.message).toContain(`${kind}/default/code does not exist`);
    expect(await one.condition("Stalled")).toMatchObject({ status: "True" });
    await one.source(REVISION_1);
    await one.untilReady();
  });

  test("000014 without an artifact: waited for", async () => {
    const one = new Case();
    await one.source(REVISION_1);
    const source = await one.world.get("GitRepository", "code");
    if (source === undefined) throw new Error("There is no source");
    await one.world.store.update({ ...source, status: {} }, "status", one.world.call());
    await one.apply(auto);
    await one.world.start();
    const ready = await one.untilReason("ArtifactFailed");
    expect(ready.message).toBe("Source is not ready, artifact not found");
    expect(await one.condition("Stalled")).toBeUndefined();
  });
});

describe("000015 references into other namespaces, where they are not allowed", () => {
  const rows: Record<string, { spec: Partial<TerraformSpec>; message: string }> = {
    "000015 of the source": {
      spec: { sourceRef: { kind: "GitRepository", name: "src", namespace: "flux-system" } },
      message:
        "cannot access GitRepository/flux-system/src, " +
        "cross-namespace references have been disabled",
    },
    "000015 of a dependency": {
      spec: { dependsOn: [{ name: "base", namespace: "other" }] },
      message: "cannot access other/base, cross-namespace references have been disabled",
    },
    "000015 of the CLI configuration": {
      spec: { cliConfigSecretRef: { name: "src", namespace: "other" } },
      message: "cannot access secret other/src, cross-namespace references have been disabled",
    },
  };
  test.each(Object.entries(rows))("%s", async (_name, { spec, message }) => {
    const one = await Case.begin({ ...auto, ...spec });
    expect(await one.untilReason("AccessDenied")).toMatchObject({
      status: "False",
      message: expect.stringContaining(message),
    });
    expect(one.orders).toEqual([]);
  });
});

test("000016 observedGeneration is -1 until looked at", async () => {
  const one = new Case();
  await one.apply(auto);
  expect((await one.status()).observedGeneration).toBe(-1);
});

test("000016 a request is answered in the pass that follows it", async () => {
  const one = new Case({ revision: "main/b8e362c206" });
  await one.source("main/b8e362c206");
  const object = terraformOf();
  object.metadata.annotations = { [REQUESTED_AT]: "2026-01-01T00:00:00Z" };
  await one.world.apply(object);
  await one.world.start();
  await one.untilPending("plan-main-b8e362c206");
  expect(await one.status()).toMatchObject({
    observedGeneration: 1,
    lastHandledReconcileAt: "2026-01-01T00:00:00Z",
  });
});

describe("000120 to 000131 deletion", () => {
  test("000120 plan, Secret of outputs and object go", async () => {
    const one = await Case.begin({ ...auto, writeOutputsToSecret: { name: "out" } });
    await one.untilReady();
    await one.world.remove("Terraform", "app");
    await gone(one);
    expect((await one.world.store.list("Secret", {}, one.world.call())).items).toEqual([]);
    expect(one.world.effects()).toEqual({ "create default/app terraform_data.one": 1 });
  });

  test("000121 with destroyResourcesOnDeletion the resources go first", async () => {
    const spec = { destroyResourcesOnDeletion: true, writeOutputsToSecret: { name: "out" } };
    const one = await Case.begin({ ...auto, ...spec });
    await one.untilReady();
    await one.world.remove("Terraform", "app");
    await one.world.untilStage("apply");
    expect(await one.condition("Plan")).toMatchObject({ reason: "TerraformPlannedWithChanges" });
    await gone(one);
    expect(one.world.effects()).toMatchObject({ "delete default/app terraform_data.one": 1 });
    expect((await one.world.store.list("Secret", {}, one.world.call())).items).toEqual([]);
  });

  test("000130 destroy is applied and flagged; then the object can go", async () => {
    const one = await Case.begin(auto);
    await one.untilReady();
    await one.edit({ destroy: true });
    await one.world.until("it is destroyed", async () => {
      return (await one.condition("Apply"))?.message === "Destroy applied successfully";
    });
    expect((await one.status()).plan).toMatchObject({ lastApplied: PLAN_1, isDestroyPlan: true });
    expect(one.world.effects()).toMatchObject({ "delete default/app terraform_data.one": 1 });
    await one.world.remove("Terraform", "app");
    await gone(one);
  });

  test("000131 what was deleted by hand is no error", async () => {
    const one = await Case.begin({ ...auto, destroyResourcesOnDeletion: true });
    await one.untilReady();
    await one.edit({ approvePlan: "" });
    await one.untilReady();
    one.world.platform.world.recorded.clear();
    await one.world.remove("Terraform", "app");
    await gone(one);
    expect(one.orders.at(-1)).toMatchObject({ operation: "plan", destroy: true });
  });
});

describe("000140, 000150, 000201, 000230 drift", () => {
  async function applied(spec: Partial<TerraformSpec>): Promise<Case> {
    const one = await Case.begin({ ...auto, interval: "5s", ...spec });
    await one.untilReady();
    return one;
  }
  /** Somebody deletes what was created. */
  const lose = (one: Case) => one.world.platform.world.recorded.clear();

  test("000140 is repaired by itself", async () => {
    const one = await applied({});
    lose(one);
    await one.world.until("it is repaired", async () => {
      return (await one.status()).lastAppliedByDriftDetectionAt !== undefined;
    });
    expect((await one.status()).lastDriftDetectedAt).toBeDefined();
    expect(one.world.effects()).toEqual({ "create default/app terraform_data.one": 2 });
  });

  test("000150 by hand makes Ready False; here with a plan that can be approved", async () => {
    const one = await Case.begin({ interval: "5s" });
    await one.untilPending(PLAN_1);
    await one.edit({ approvePlan: PLAN_1 });
    await one.untilReady();
    lose(one);
    const ready = await one.untilReason("DriftDetected");
    expect(ready.status).toBe("False");
    const { plan, drift, reconciliationFailures } = await one.status();
    expect(ready.message).toContain(`set approvePlan: "${plan?.pending}"`);
    expect(plan?.pending).not.toBe(PLAN_1);
    expect(drift).toMatchObject({ changes: 1, count: 1, revision: REVISION_1 });
    expect(reconciliationFailures).toBe(0);
  });

  test("000201 that nobody looks for is never told", async () => {
    const one = await applied({ disableDriftDetection: true });
    const reasons = new Set<string | undefined>();
    for (let look = 0; look < 60; look += 1) {
      await one.world.clock.advance(500);
      reasons.add((await one.condition("Ready"))?.reason);
    }
    expect(reasons).not.toContain("NoDrift");
    expect((await one.status()).lastDriftDetectedAt).toBeUndefined();
  });

  test("000230 that is only watched: force applies nothing either", async () => {
    const one = await applied({});
    await one.edit({ approvePlan: "disable" });
    await one.untilReason("NoDrift");
    await one.edit({ force: true });
    await one.world.clock.advance(20_000);
    await one.untilReason("NoDrift");
    expect((await one.status()).lastDriftDetectedAt).toBeUndefined();
    lose(one);
    expect(await one.untilReason("DriftDetected")).toMatchObject({ status: "False" });
    expect((await one.status()).lastDriftDetectedAt).toBeDefined();
    await one.world.clock.advance(20_000);
    expect(one.orders.filter(({ operation }) => operation === "apply")).toHaveLength(1);
  });
});

test("000170 a failed apply is tried again until what was in its way is gone", async () => {
  let inTheWay = true;
  const fail = { stage: "apply", message: "already exists" } as const;
  const one = await Case.begin(auto, {
    script: ({ operation }) => (inTheWay && operation === "apply" ? { fail } : {}),
  });
  await one.world.until("it has failed", async () => {
    return (await one.condition("Apply"))?.reason === "TerraformAppliedFail";
  });
  inTheWay = false;
  one.world.platform.world.recorded.clear();
  await one.untilReady();
  expect(await one.condition("Apply")).toMatchObject({ reason: "TerraformAppliedSucceed" });
});

test("000190 a source of a kind that is none is refused as a manifest", () => {
  const sourceRef = { kind: "HelmRepository", name: "code" } as never;
  expect(validateObject(terraformOf({ sourceRef })).map(({ summary }) => summary)).toEqual([
    expect.stringContaining("GitRepository"),
  ]);
});

describe("000243 remediation", () => {
  const script = () => ({ fail: { stage: "artifact", reason: "ArtifactFailed" } }) as const;
  const stalled = { status: "True", reason: "RetryLimitReached" };

  async function untilStalled(one: Case): Promise<void> {
    await one.world.until("it stalls", async () => {
      return (await one.condition("Stalled"))?.reason === "RetryLimitReached";
    });
  }

  test("000243 as many failures as allowed, then nothing until something changes", async () => {
    const spec = { retryInterval: "5s", remediation: { retries: 3 } };
    const one = await Case.begin({ ...auto, ...spec }, { script });
    await one.untilReason("ArtifactFailed");
    expect(await one.conditions()).toHaveLength(1);
    await untilStalled(one);
    expect(await one.condition("Stalled")).toMatchObject({
      ...stalled,
      message: "Resource reached maximum number of retries.",
    });
    expect((await one.status()).reconciliationFailures).toBe(3);
    await one.world.edit("app", ({ metadata }) => {
      metadata.annotations = { [REQUESTED_AT]: "now" };
    });
    await one.world.clock.advance(60_000);
    expect(one.orders).toHaveLength(3);
    await one.edit({ remediation: { retries: 2 } });
    await one.world.until("it begins anew", () => one.orders.length === 4);
    await untilStalled(one);
    expect((await one.status()).reconciliationFailures).toBe(2);
    await one.source(REVISION_2);
    await one.world.until("the new revision is tried", async () => {
      return (await one.status()).lastAttemptedRevision === REVISION_2;
    });
  });
});

describe("000290 a lock that somebody else holds", () => {
  const lock = {
    id: "f2ab685b-f84d-ac0b-a125-378a22877e8d",
    operation: "OperationTypePlan",
    who: "ann@laptop",
    created: "2026-01-01T00:00:00Z",
    runId: undefined,
  };
  /** The lock stands in every plan's way until an order releases it. */
  async function locked(spec: Partial<TerraformSpec>): Promise<Case> {
    let held = true;
    const fail = { stage: "plan", message: "Error acquiring the state lock", lock } as const;
    const backendConfig = { customConfiguration: 'backend "s3" {}' };
    return await Case.begin(
      { ...auto, interval: "5s", backendConfig, ...spec },
      {
        script: ({ unlock }) => {
          if (unlock === lock.id) held = false;
          return held ? { fail } : {};
        },
      },
    );
  }

  test("000290 is named with its id, and stays", async () => {
    const one = await locked({});
    await one.untilReason("TFExecPlanFailed");
    expect(await one.condition("StateLocked")).toMatchObject({
      status: "True",
      reason: "LockHeld",
      message: `Terraform Locked with Lock Identifier: ${lock.id}`,
    });
    expect((await one.status()).lock?.pending).toBe(lock.id);
  });

  test("000290 yes, with its id: released by the next plan", async () => {
    const one = await locked({});
    await one.untilReason("TFExecPlanFailed");
    await one.edit({ tfstate: { forceUnlock: "yes", lockIdentifier: lock.id } });
    await one.world.until("that is told", async () => {
      const found = await one.condition("StateLocked");
      return found?.reason === "ForceUnlock" && found.message.endsWith(lock.id);
    });
    await one.untilReady();
    expect((await one.status()).lock).toBeUndefined();
  });

  test("000290 auto: upstream breaks it; here it stays, for its holder may live", async () => {
    const one = await locked({ tfstate: { forceUnlock: "auto" } });
    await one.world.until("it was tried often", () => one.orders.length > 3);
    expect(one.orders.every(({ unlock }) => unlock === undefined)).toBe(true);
    expect((await one.condition("Ready"))?.message).toContain('"auto" releases only');
  });
});

test("000350 a dependant waits until its dependency is approved and applied", async () => {
  const one = new Case();
  const { world } = one;
  await one.source(REVISION_1);
  const named = { writeOutputsToSecret: { name: "base-outputs" }, interval: "10h" };
  await world.apply(terraformOf(named, "base"));
  await world.apply(terraformOf({ ...auto, dependsOn: [{ name: "base" }] }, "app"));
  await world.start();
  const ready = await one.untilReason("DependencyNotReady");
  expect(ready.message).toBe("dependency 'default/base' is not ready");
  await world.until("the plan waits", async () => {
    const { status } = await world.terraform("base");
    return status?.plan?.pending === PLAN_1 && status.run === undefined;
  });
  await world.edit("base", ({ spec }) => {
    spec.approvePlan = PLAN_1;
  });
  await one.untilReady();
  expect((await world.terraform("base")).status?.lastAppliedRevision).toBe(REVISION_1);
});
