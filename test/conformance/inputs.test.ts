import { describe, expect, test } from "vitest";
import type { ConfigMap, Secret } from "../../src/api/core.ts";
import type { TerraformSpec } from "../../src/api/terraform.ts";
import { configMapOf, secretOf } from "../../src/testing/simulation/objects.ts";
import { Case, REVISION_1 } from "./case.ts";

// Upstream's cases of what is handed to a run, told anew: an object with its Secrets and ConfigMaps
// on one side, the order that its run was given on the other.

const auto = { approvePlan: "auto" } as const;

/** The object is applied with these beside it; what its run was told is in its orders. */
async function ordered(
  spec: Partial<TerraformSpec>,
  ...beside: (Secret | ConfigMap)[]
): Promise<Case> {
  const one = new Case();
  for (const object of beside) await one.world.apply(object);
  await one.source(REVISION_1);
  await one.apply({ ...auto, ...spec });
  await one.world.start();
  await one.untilReady();
  return one;
}

describe("variables", () => {
  const rows: Record<
    string,
    { spec: Partial<TerraformSpec>; beside?: (Secret | ConfigMap)[]; variables: unknown }
  > = {
    "000060 vars": {
      spec: { vars: [{ name: "subject", value: "my cat" }] },
      variables: { subject: "my cat" },
    },
    "000061 structured values": {
      spec: {
        vars: [
          { name: "cluster_spec", value: { region: "eu", active: true, node_count: 10 } },
          { name: "zones", value: ["a", "b"] },
        ],
      },
      variables: {
        cluster_spec: { region: "eu", active: true, node_count: 10 },
        zones: ["a", "b"],
      },
    },
    "000062 vars and varsFrom together": {
      spec: {
        vars: [{ name: "cluster_name", value: "dev" }],
        varsFrom: [{ kind: "Secret", name: "s" }],
      },
      beside: [secretOf("s", { access_key: "A", secret_key: "B" })],
      variables: { cluster_name: "dev", access_key: "A", secret_key: "B" },
    },
    "000063 values": {
      spec: { values: { cluster: { name: "dev" }, zones: ["a", "b"] } },
      variables: { values: { cluster: { name: "dev" }, zones: ["a", "b"] } },
    },
    "000070 varsFrom a Secret": {
      spec: { varsFrom: [{ kind: "Secret", name: "s" }] },
      beside: [secretOf("s", { subject: "my secret cat" })],
      variables: { subject: "my secret cat" },
    },
    "000071 only the keys that are named": {
      spec: { varsFrom: [{ kind: "Secret", name: "s", varsKeys: ["subject"] }] },
      beside: [secretOf("s", { subject: "my secret cat", other: "x" })],
      variables: { subject: "my secret cat" },
    },
    "000073 several Secrets": {
      spec: {
        varsFrom: [
          { kind: "Secret", name: "s1" },
          { kind: "Secret", name: "s2", varsKeys: ["cluster_name"] },
        ],
      },
      beside: [
        secretOf("s1", { region: "eu-west-1", environment: "dev" }),
        secretOf("s2", { cluster_name: "garfield", more: "x" }),
      ],
      variables: { region: "eu-west-1", environment: "dev", cluster_name: "garfield" },
    },
    "000074 later Secrets win": {
      spec: {
        varsFrom: [
          { kind: "Secret", name: "s1" },
          { kind: "Secret", name: "s2" },
        ],
      },
      beside: [secretOf("s1", { a: "1", b: "1" }), secretOf("s2", { a: "2", c: "2" })],
      variables: { a: "2", b: "1", c: "2" },
    },
    "000075 under a new name": {
      spec: { varsFrom: [{ kind: "Secret", name: "s", varsKeys: ["test-data:subject"] }] },
      beside: [secretOf("s", { "test-data": "test data" })],
      variables: { subject: "test data" },
    },
    "000080 varsFrom a ConfigMap": {
      spec: { varsFrom: [{ kind: "ConfigMap", name: "c" }] },
      beside: [configMapOf("c", { subject: "my plain cat" })],
      variables: { subject: "my plain cat" },
    },
    "000081 several ConfigMaps, one with a new name": {
      spec: {
        varsFrom: [
          { kind: "ConfigMap", name: "c1", varsKeys: ["region", "bad-key:cluster_name"] },
          { kind: "ConfigMap", name: "c2" },
        ],
      },
      beside: [
        configMapOf("c1", { region: "eu-west-1", "bad-key": "felix" }),
        configMapOf("c2", { environment: "dev" }),
      ],
      variables: { region: "eu-west-1", cluster_name: "felix", environment: "dev" },
    },
    "000082 later ConfigMaps win, by the keys they are limited to": {
      spec: {
        varsFrom: [
          { kind: "ConfigMap", name: "c1" },
          { kind: "ConfigMap", name: "c2", varsKeys: ["key1"] },
        ],
      },
      beside: [
        configMapOf("c1", { key1: "a", key2: "a" }),
        configMapOf("c2", { key1: "b", key3: "b" }),
      ],
      variables: { key1: "b", key2: "a" },
    },
    "000090 varsFrom beats vars": {
      spec: {
        vars: [{ name: "subject", value: "vars" }],
        varsFrom: [{ kind: "Secret", name: "s" }],
      },
      beside: [secretOf("s", { subject: "varsFrom" })],
      variables: { subject: "varsFrom" },
    },
  };
  test.each(Object.entries(rows))("%s", async (_name, { spec, beside = [], variables }) => {
    expect((await ordered(spec, ...beside)).variables()).toEqual(variables);
  });

  test("000072 one that lacks, then may lack, then is there", async () => {
    const varsFrom = [{ kind: "Secret" as const, name: "s" }];
    const one = await Case.begin({ ...auto, varsFrom, writeOutputsToSecret: { name: "out" } });
    const ready = await one.untilReason("VarsGenerationFailed");
    expect(ready).toMatchObject({ status: "False", message: expect.stringContaining("default/s") });
    expect(one.orders).toEqual([]);
    await one.edit({ varsFrom: [{ kind: "Secret", name: "s", optional: true }] });
    await one.untilReady();
    expect(one.variables()).toEqual({});
    const before = one.orders.length;
    await one.world.apply(secretOf("s", { subject: "x" }));
    await one.edit({ force: true });
    await one.world.until("a run is given it", () => {
      return one.orders.slice(before).some(({ variables }) => variables.includes("subject"));
    });
    await one.untilReady();
    expect(one.variables()).toEqual({ subject: "x" });
  });
});

test("000111 a backend of one's own, completed from a Secret", async () => {
  const one = await ordered(
    {
      backendConfig: { customConfiguration: 'backend "s3" {}' },
      backendConfigsFrom: [{ kind: "Secret", name: "s", keys: ["access_key", "bucket"] }],
    },
    secretOf("s", { access_key: "A", bucket: "B", other: "C" }),
  );
  expect(one.orders[0]).toMatchObject({
    backend: 'terraform {\nbackend "s3" {}\n}\n',
    backendConfig: { access_key: "A", bucket: "B" },
  });
});

describe("000260 environment variables", () => {
  const env = (list: unknown[]) => ({ runnerPodTemplate: { spec: { env: list } } }) as never;
  const from = (ref: object) => [{ name: "VAULT_TOKEN", valueFrom: ref }];
  const rows: Record<string, { list: unknown[]; beside?: (Secret | ConfigMap)[]; env: object }> = {
    "000260 proxies": {
      list: [
        { name: "HTTP_PROXY", value: "http://p" },
        { name: "NO_PROXY", value: "localhost" },
      ],
      env: { HTTP_PROXY: "http://p", NO_PROXY: "localhost" },
    },
    "000260 a value": { list: [{ name: "VAULT_TOKEN", value: "t" }], env: { VAULT_TOKEN: "t" } },
    "000260 from a Secret": {
      list: from({ secretKeyRef: { name: "s", key: "token" } }),
      beside: [secretOf("s", { token: "t" })],
      env: { VAULT_TOKEN: "t" },
    },
    "000260 from a ConfigMap": {
      list: from({ configMapKeyRef: { name: "c", key: "token" } }),
      beside: [configMapOf("c", { token: "t" })],
      env: { VAULT_TOKEN: "t" },
    },
  };
  test.each(Object.entries(rows))("%s", async (_name, { list, beside = [], env: wanted }) => {
    const one = await ordered(env(list), ...beside);
    for (const order of one.orders) expect(order.env).toMatchObject(wanted);
  });
});

test("000330 a file from a Secret beside the module", async () => {
  const one = await ordered(
    {
      fileMappings: [
        { secretRef: { name: "s", key: "more" }, location: "workspace", path: "more.tf" },
      ],
    },
    secretOf("s", { more: 'output "from_file_mapping" { value = 1 }' }),
  );
  const [file] = one.orders[0]?.files ?? [];
  expect(file).toMatchObject({ location: "workspace", path: "more.tf" });
  expect(Buffer.from(file?.content ?? []).toString()).toContain("from_file_mapping");
});

test("000360 variable files, by their paths from the artifact's root", async () => {
  const one = await ordered({ tfVarsFiles: ["variables/test.tfvars"], path: "./module" });
  expect(one.orders[0]).toMatchObject({ varFiles: ["variables/test.tfvars"], path: "./module" });
});

describe("000362 labels of a state Secret", () => {
  const backend = async (labels?: Record<string, string>) => {
    const backendConfig = { secretSuffix: "x", ...(labels === undefined ? {} : { labels }) };
    return (await ordered({ backendConfig })).orders[0]?.backend;
  };
  test("000362 none: none is written", async () => {
    expect(await backend()).toContain("labels = {}");
  });
  test("000362 only those of the spec", async () => {
    expect(await backend({ team: "a" })).toContain('labels = {"team" = "a"}');
  });
});
