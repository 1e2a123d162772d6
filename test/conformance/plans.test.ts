import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { Case, PLAN_1, PLAN_2, REVISION_1, REVISION_2 } from "./case.ts";

// Upstream's cases of planning, saved plans and approval, told anew under their numbers: the real
// engine, with runs that are played. Where Nigari does better on purpose, the row says so.

const auto = { approvePlan: "auto" } as const;

async function savedPlan(one: Case, name: string) {
  const secret = await one.world.get("Secret", name);
  const packed = Buffer.from(secret?.data?.tfplan ?? "", "base64");
  return { ...secret?.metadata.annotations, text: gunzipSync(packed).toString() };
}

test("000010 auto: the plan is saved and applied; exactly four conditions", async () => {
  const one = await Case.begin(auto);
  const { status } = await one.untilReady();
  expect(await savedPlan(one, "tfplan-default-app")).toMatchObject({
    savedPlan: PLAN_1,
    encoding: "gzip",
    text: expect.stringMatching(/./),
  });
  expect(status?.plan).toMatchObject({ lastApplied: PLAN_1 });
  expect(status?.availableOutputs).toEqual(["hello_world"]);
  expect(await one.conditions()).toEqual([
    `Ready True TerraformAppliedSucceed: Applied successfully: ${REVISION_1}`,
    "Apply True TerraformAppliedSucceed: Applied successfully",
    "Output True TerraformOutputsAvailable: Outputs available",
    "Plan True TerraformPlannedWithChanges: Plan generated",
  ]);
  expect(await one.world.get("Secret", "tfstate-default-app")).toBeUndefined();
});

test("000011 a bad archive: one condition, with the runner's own words", async () => {
  const message = "The artifact cannot be unpacked: it is not gzip";
  const fail = { stage: "artifact", reason: "ArtifactFailed", message } as const;
  const one = await Case.begin(auto, { script: () => ({ fail }) });
  await one.untilReason("ArtifactFailed");
  expect(await one.conditions()).toEqual([`Ready False ArtifactFailed: ${message}`]);
});

test("000011 workspace: the plan is saved under it", async () => {
  const one = await Case.begin({ ...auto, workspace: "custom" });
  await one.untilReady();
  expect(await savedPlan(one, "tfplan-custom-app")).toMatchObject({ savedPlan: PLAN_1 });
  expect(one.orders.map(({ workspace }) => workspace)).toEqual(["custom", "custom"]);
  expect(await one.world.get("Secret", "tfstate-custom-app")).toBeUndefined();
});

const sources = {
  "000012 a Bucket": {
    kind: "Bucket",
    revision: "822c3dd335ad6d9d29a5f3a2cbbcf3d0e6a6b9f1",
    id: "plan-822c3dd335",
  },
  "000012 an OCIRepository": {
    kind: "OCIRepository",
    revision: `v4.38.0-v1alpha11@sha256:6033f3b9fb${"0".repeat(54)}`,
    id: "plan-v4.38.0-v1alpha11-6033f3b9fb",
  },
} as const;
test.each(Object.entries(sources))("%s: the known plan id", async (_name, row) => {
  const one = await Case.begin(auto, row);
  await one.untilApplied(row.id);
  expect(await savedPlan(one, "tfplan-default-app")).toMatchObject({ savedPlan: row.id });
  expect((await one.status()).availableOutputs).toEqual(["hello_world"]);
});

test("000020 with a backend: the state is kept; here behind the state door", async () => {
  for (const workspace of ["default", "custom"]) {
    const one = await Case.begin({ ...auto, workspace });
    await one.untilReady();
    expect(one.orders.at(-1)?.backend).toContain("http");
    expect(one.orders.at(-1)?.workspaceByAddress).toBe(true);
  }
});

test("000030 by hand with a short interval: the prompt remains", async () => {
  const one = await Case.begin({ interval: "3s" });
  await one.untilPending(PLAN_1);
  await one.world.clock.advance(5_000);
  expect(await one.condition("Ready")).toMatchObject({
    status: "Unknown",
    reason: "TerraformPlannedWithChanges",
    message: `Plan generated: set approvePlan: "${PLAN_1}" to approve this plan.`,
  });
  expect((await one.status()).plan?.pending).toBe(PLAN_1);
  expect(await savedPlan(one, "tfplan-default-app")).toMatchObject({ savedPlan: PLAN_1 });
});

const shown = '\nChanges to Outputs:\n  + hello_world = "Hello, World!"\n';
const readable = { script: () => ({ files: { "plan.txt": shown } }) };

test("000031 the text of the plan in a ConfigMap", async () => {
  const one = await Case.begin({ storeReadablePlan: "human" }, readable);
  await one.untilPending(PLAN_1);
  const map = await one.world.get("ConfigMap", "tfplan-default-app");
  expect(map?.metadata.annotations).toMatchObject({ savedPlan: PLAN_1 });
  expect(map?.data).toEqual({ tfplan: shown });
});

test("000044 planOnly: a plan to read, and never an apply", async () => {
  const spec = { planOnly: true, storeReadablePlan: "human", writeOutputsToSecret: { name: "o" } };
  const one = await Case.begin(spec as never, { ...readable, revision: "main/b8e362c206e3d0cbb7" });
  await one.untilPending("plan-main-b8e362c206");
  const map = await one.world.get("ConfigMap", "tfplan-default-app");
  expect(map?.data?.tfplan).toContain("+ hello_world");
  expect(map?.metadata.ownerReferences).toMatchObject([{ uid: (await one.object()).metadata.uid }]);
  await one.world.clock.advance(120_000);
  expect(await one.condition("Ready")).toMatchObject({
    status: "Unknown",
    reason: "TerraformPlannedWithChanges",
    message: "Plan generated: This object is in the plan only mode.",
  });
  expect(one.orders.map(({ operation }) => operation)).toEqual(["plan"]);
  expect(await one.secret("o")).toBeUndefined();
});

describe("000050 to 000054 approval by hand", () => {
  async function waiting(spec = {}): Promise<Case> {
    const one = await Case.begin(spec);
    await one.untilPending(PLAN_1);
    return one;
  }

  test("000050 the id in the spec lets the plan go on", async () => {
    const one = await waiting();
    await one.edit({ approvePlan: PLAN_1 });
    await one.untilApplied(PLAN_1);
    expect(await one.condition("Apply")).toMatchObject({ reason: "TerraformAppliedSucceed" });
    expect((await one.status()).availableOutputs).toEqual(["hello_world"]);
  });

  test("000051 a new revision together with replan: the prompt changes", async () => {
    const one = await waiting();
    await one.source(REVISION_2);
    await one.edit({ approvePlan: "replan-master-b8e362c206" });
    await one.untilPending(PLAN_2);
    expect((await one.condition("Ready"))?.message).toContain(`approvePlan: "${PLAN_2}"`);
    await one.edit({ approvePlan: PLAN_2 });
    await one.untilApplied(PLAN_2);
  });

  test("000052 a plan approved later is carried out as it is, not made anew", async () => {
    const one = await waiting({ refreshBeforeApply: true });
    await one.world.clock.advance(10_000);
    const { digest } = (await one.status()).plan ?? {};
    await one.edit({ approvePlan: PLAN_1 });
    await one.untilApplied(PLAN_1);
    expect(one.orders.map(({ operation }) => operation)).toEqual(["plan", "apply"]);
    expect(one.orders.at(-1)?.planDigest).toBe(digest);
  });

  test("000053 a new revision replaces the plan by itself", async () => {
    const one = await waiting();
    await one.source(REVISION_2);
    await one.untilPending(PLAN_2);
    expect((await one.condition("Ready"))?.message).toContain(`approvePlan: "${PLAN_2}"`);
    await one.edit({ approvePlan: PLAN_2 });
    await one.untilApplied(PLAN_2);
  });

  test("000054 an edit of the interval: the generation follows, the id stays", async () => {
    const one = await waiting();
    await one.edit({ interval: "1m" });
    await one.world.until("the generation follows", async () => {
      const { metadata, status } = await one.object();
      return metadata.generation === 2 && status?.lastPlannedGeneration === 2;
    });
    expect((await one.status()).plan?.pending).toBe(PLAN_1);
    await one.edit({ approvePlan: PLAN_1 });
    await one.untilApplied(PLAN_1);
  });
});

test("000100 by hand, applied: a new revision is shown and not applied", async () => {
  const one = await Case.begin(
    {},
    { script: ({ artifactDigest }) => ({ resources: [artifactDigest] }) },
  );
  await one.untilPending(PLAN_1);
  await one.edit({ approvePlan: PLAN_1 });
  await one.untilApplied(PLAN_1);
  await one.source(REVISION_2);
  await one.untilPending(PLAN_2);
  expect((await one.status()).plan).toMatchObject({ lastApplied: PLAN_1 });
  expect(await one.condition("Plan")).toMatchObject({ reason: "TerraformPlannedWithChanges" });
});

test("000110 then auto: a new revision is applied by itself", async () => {
  const one = await Case.begin(
    {},
    { script: ({ artifactDigest }) => ({ resources: [artifactDigest] }) },
  );
  await one.untilPending(PLAN_1);
  await one.edit({ approvePlan: "auto" });
  await one.untilApplied(PLAN_1);
  await one.source(REVISION_2);
  await one.untilApplied(PLAN_2);
  expect(await savedPlan(one, "tfplan-default-app")).toMatchObject({ savedPlan: PLAN_2 });
  expect((await one.status()).plan?.pending).toBeUndefined();
});

test("000160 a revision that changes nothing: planned, not applied", async () => {
  const one = await Case.begin(auto);
  await one.untilReady();
  await one.source(REVISION_2);
  await one.world.until("it is planned", async () => {
    const { lastPlannedRevision, run } = await one.status();
    return lastPlannedRevision === REVISION_2 && run === undefined;
  });
  expect(await one.condition("Plan")).toMatchObject({
    status: "False",
    message: "Plan no changes",
  });
  expect(await one.status()).toMatchObject({
    lastAppliedRevision: REVISION_1,
    lastAttemptedRevision: REVISION_2,
    plan: { lastApplied: PLAN_1 },
  });
});

test("000210 what is packed comes out as it was", async () => {
  const one = await Case.begin({}, { script: () => ({ files: { "plan.json": "content" } }) });
  await one.untilPending(PLAN_1);
  const runId = one.orders[0]?.runId ?? "";
  const { text } = await savedPlan(one, "tfplan-default-app");
  expect(text).toBe(`plan of ${runId}`);
});

test("000300 targets reach every plan; the apply has them in its plan file", async () => {
  const one = await Case.begin({ ...auto, targets: ["a.one"] });
  await one.untilReady();
  await one.edit({ targets: ["a.two"], destroyResourcesOnDeletion: true });
  await one.world.until("it is planned anew", () => one.orders.at(-1)?.targets[0] === "a.two");
  await one.untilReady();
  await one.world.remove("Terraform", "app");
  await one.world.until("it is gone", async () => {
    return (await one.world.get("Terraform", "app")) === undefined;
  });
  const planned = one.orders.filter(({ operation }) => operation === "plan");
  expect(planned.map(({ targets, destroy }) => [targets[0], destroy])).toEqual([
    ["a.one", false],
    ["a.two", false],
    ["a.two", true],
  ]);
});

test("000362 plan.lock: the plan takes no lock, the apply does", async () => {
  const one = await Case.begin({ ...auto, plan: { lock: false } });
  await one.untilApplied(PLAN_1);
  expect(one.orders.map(({ operation, lock }) => [operation, lock])).toEqual([
    ["plan", false],
    ["apply", true],
  ]);
  expect((await one.object()).spec.plan).toEqual({ lock: false });
});
