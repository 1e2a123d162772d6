import { describe, expect, test } from "vitest";
import type { TerraformSpec } from "../../src/api/terraform.ts";
import { Case, PLAN_1, REVISION_1 } from "./case.ts";

// Upstream's cases of outputs and of what is looked at after an apply, told anew.

const auto = { approvePlan: "auto" } as const;
const age = { age_agekey: { value: "AGE-SECRET", type: "string" } };
const strings = {
  foo: { value: "google.com", type: "string" },
  port: { value: "80", type: "string" },
  bar: { value: "/get", type: "string" },
};

describe("000040 to 000043 the Secret of outputs", () => {
  const wanted = { name: "out", labels: { l: "1" }, annotations: { a: "2" } };

  test("000040 holds the outputs named, and belongs to the object", async () => {
    const writeOutputsToSecret = { ...wanted, outputs: ["hello_world"] };
    const one = await Case.begin({ ...auto, writeOutputsToSecret });
    const { metadata } = await one.untilReady();
    expect(await one.secret("out")).toEqual({ hello_world: "Hello, World!" });
    const secret = await one.world.get("Secret", "out");
    expect(secret?.metadata).toMatchObject({
      labels: { l: "1" },
      annotations: { a: "2" },
      ownerReferences: [{ uid: metadata.uid, controller: true }],
    });
    expect(await one.conditions()).toContain(
      `Ready True TerraformOutputsWritten: Outputs written: ${REVISION_1}`,
    );
  });

  test("000041 holds all of them, if none is named", async () => {
    const one = await Case.begin({ ...auto, writeOutputsToSecret: { name: "out" } });
    await one.untilReady();
    expect(await one.secret("out")).toEqual({ hello_world: "Hello, World!" });
  });

  test("000042 takes dots in a new name", async () => {
    const writeOutputsToSecret = { name: "out", outputs: ["age_agekey:age.agekey"] };
    const one = await Case.begin({ ...auto, writeOutputsToSecret }, { outputs: age });
    await one.untilReady();
    expect(await one.secret("out")).toEqual({ "age.agekey": "AGE-SECRET" });
  });

  test("000043 deleted, it comes back; here at once, not after the interval", async () => {
    const one = await Case.begin({ ...auto, writeOutputsToSecret: wanted, interval: "1h" });
    await one.untilReady();
    await one.world.clock.advance(20_000);
    const uid = (await one.world.get("Secret", "out"))?.metadata.uid;
    await one.world.remove("Secret", "out");
    await one.world.until(
      "it is back",
      async () => (await one.secret("out")) !== undefined,
      30_000,
    );
    expect(await one.secret("out")).toEqual({ hello_world: "Hello, World!" });
    expect((await one.world.get("Secret", "out"))?.metadata.uid).not.toBe(uid);
  });
});

test("000061 outputs that are no strings are JSON, with their type beside them", async () => {
  const outputs = {
    cluster_id: { value: "eu-1", type: "string" },
    active: { value: true, type: "bool" },
    node_count: { value: 10, type: "number" },
    azs: { value: ["a", "b"], type: ["list", "string"] },
  };
  const writeOutputsToSecret = { name: "out", outputs: Object.keys(outputs) };
  const one = await Case.begin({ ...auto, writeOutputsToSecret }, { outputs });
  await one.untilReady();
  expect(await one.secret("out")).toEqual({
    cluster_id: "eu-1",
    active: "true",
    active__type: '"bool"',
    node_count: "10",
    node_count__type: '"number"',
    azs: '["a","b"]',
    azs__type: '["list","string"]',
  });
});

describe("000241, 000242 health checks", () => {
  const healthChecks: TerraformSpec["healthChecks"] = [
    { name: "tcp", type: "tcp", address: `$\{{.foo}}:$\{{.port}}` },
    { name: "http", type: "http", url: `https://$\{{.foo}}$\{{.bar}}`, timeout: "5s" },
  ];
  const spec = { ...auto, writeOutputsToSecret: { name: "out" }, healthChecks };

  test("000241 are made after the apply, with the outputs filled in", async () => {
    const one = await Case.begin(spec, { outputs: strings });
    await one.untilReady();
    expect(await one.secret("out")).toEqual({ foo: "google.com", port: "80", bar: "/get" });
    expect(await one.condition("HealthCheck")).toMatchObject({
      status: "True",
      reason: "HealthChecksSucceed",
      message: "Health checks succeeded",
    });
    expect(one.orders.at(-1)?.healthChecks).toEqual([
      { name: "tcp", type: "tcp", target: `$\{{.foo}}:$\{{.port}}`, timeoutMs: 20_000 },
      { name: "http", type: "http", target: `https://$\{{.foo}}$\{{.bar}}`, timeoutMs: 5_000 },
    ]);
  });

  test("000242 that fail are told; here Ready is False too, until they pass", async () => {
    let sick = true;
    const trouble = "HTTP health check error: http, url: x: it answers with status 404";
    const one = await Case.begin(spec, {
      outputs: strings,
      script: () => (sick ? { health: [{ name: "http", trouble }] } : {}),
    });
    await one.untilReason("HealthChecksFailed");
    expect(await one.condition("HealthCheck")).toMatchObject({
      status: "False",
      reason: "HealthChecksFailed",
    });
    expect((await one.status()).plan?.lastApplied).toBe(PLAN_1);
    sick = false;
    await one.untilReady();
    expect(await one.condition("HealthCheck")).toMatchObject({ status: "True" });
  });
});

test("000280 the inventory names what the state holds", async () => {
  const script = () => ({ resources: ["kubernetes_config_map_v1.example"] });
  const one = await Case.begin({ ...auto, enableInventory: true }, { script });
  const { status } = await one.untilReady();
  expect(status?.inventory?.entries).toMatchObject([
    { n: "example", t: "kubernetes_config_map_v1", id: expect.stringMatching(/./) },
  ]);
});

test("000281 no outputs: exactly three conditions", async () => {
  const one = await Case.begin({ ...auto, interval: "1h" }, { outputs: {} });
  await one.untilReady();
  expect((await one.conditions()).map((each) => each.split(":")[0])).toEqual([
    "Ready True TerraformAppliedSucceed",
    "Apply True TerraformAppliedSucceed",
    "Plan True TerraformPlannedWithChanges",
  ]);
});
