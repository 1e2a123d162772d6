import { describe, expect, test } from "vitest";
import type { TerraformSpec } from "../api/terraform.ts";
import { configMapOf, secretOf, storeWith, terraformOf } from "../testing/simulation/objects.ts";
import { type Inputs, referencedInputs, resolveInputs } from "./inputs.ts";

const call = { signal: new AbortController().signal };
const objects = [
  secretOf("db", { password: "hunter2-hunter2", user: "root" }),
  secretOf("pem", { key: "-----BEGIN-----\nAAAABBBBCCCC\n-----END-----\n" }),
  configMapOf("site", { region: "eu-1", user: "from-map" }),
];

async function resolve(spec: Partial<TerraformSpec>, world = objects) {
  return await resolveInputs(terraformOf(spec), await storeWith(...world), call);
}
async function resolved(spec: Partial<TerraformSpec>, world = objects): Promise<Inputs> {
  const result = await resolve(spec, world);
  if (result.state === "failed") throw new Error(result.message);
  return result.inputs;
}
const env = (...list: NonNullable<RunnerEnv>) => ({ runnerPodTemplate: { spec: { env: list } } });
type RunnerEnv = NonNullable<NonNullable<TerraformSpec["runnerPodTemplate"]>["spec"]>["env"];

describe("variables", () => {
  const cases: Record<string, { spec: Partial<TerraformSpec>; variables: unknown }> = {
    "values of vars keep their JSON type": {
      spec: {
        vars: [
          { name: "n", value: 3 },
          { name: "list", value: ["a", { b: null }] },
          { name: "absent" },
        ],
      },
      variables: { n: 3, list: ["a", { b: null }], absent: null },
    },
    "vars take valueFrom of Secrets and ConfigMaps": {
      spec: {
        vars: [
          { name: "p", valueFrom: { secretKeyRef: { name: "db", key: "password" } } },
          { name: "r", valueFrom: { configMapKeyRef: { name: "site", key: "region" } } },
        ],
      },
      variables: { p: "hunter2-hunter2", r: "eu-1" },
    },
    "varsFrom takes all keys as strings, beats vars, and later entries win": {
      spec: {
        vars: [{ name: "user", value: 1 }],
        varsFrom: [
          { kind: "Secret", name: "db" },
          { kind: "ConfigMap", name: "site" },
        ],
      },
      variables: { password: "hunter2-hunter2", user: "from-map", region: "eu-1" },
    },
    "varsKeys chooses and renames": {
      spec: { varsFrom: [{ kind: "Secret", name: "db", varsKeys: ["password:pw", "user"] }] },
      variables: { pw: "hunter2-hunter2", user: "root" },
    },
    "what is optional may lack, as a whole or by its key": {
      spec: {
        vars: [
          { name: "x", valueFrom: { secretKeyRef: { name: "none", key: "k", optional: true } } },
        ],
        varsFrom: [
          { kind: "Secret", name: "none", optional: true },
          { kind: "Secret", name: "db", varsKeys: ["nope"], optional: true },
        ],
      },
      variables: {},
    },
  };
  test.each(Object.entries(cases))("%s", async (_why, { spec, variables }) => {
    expect(JSON.parse((await resolved(spec)).variables)).toEqual(variables);
  });
});

describe("environment", () => {
  test("values, references and expansion of what was defined before", async () => {
    const spec = env(
      { name: "USER", valueFrom: { secretKeyRef: { name: "db", key: "user" } } },
      { name: "URL", value: "db://$(USER)@host/$(LATER)/$$(USER)" },
      { name: "LATER", value: "x" },
    );
    expect((await resolved(spec)).env).toEqual({
      USER: "root",
      URL: "db://root@host/$(LATER)/$(USER)",
      LATER: "x",
    });
  });
});

describe("what is wrong is said with field, object, key and mend, and without a value", () => {
  const secret = (name: string, key: string) => ({ secretKeyRef: { name, key } });
  const cases: Record<string, { spec: Partial<TerraformSpec>; message: string; reason?: string }> =
    {
      "a Secret that lacks": {
        spec: { varsFrom: [{ kind: "Secret", name: "none" }] },
        message:
          "spec.varsFrom[0]: Secret default/none does not exist; " +
          "create it, correct the name, or set optional: true",
      },
      "a listed key that lacks, which upstream took for an empty string": {
        spec: { varsFrom: [{ kind: "Secret", name: "db", varsKeys: ["user", "nope:x"] }] },
        message:
          'spec.varsFrom[0].varsKeys: Secret default/db has no key "nope"; ' +
          "add the key to it, correct the name, or set optional: true",
      },
      "a reference to a key that lacks": {
        spec: { vars: [{ name: "v", valueFrom: secret("db", "nope") }] },
        message:
          'spec.vars[0] (v).valueFrom: Secret default/db has no key "nope"; ' +
          "add the key to it, correct the name, or set optional: true",
      },
      "a rename that is none": {
        spec: { varsFrom: [{ kind: "Secret", name: "db", varsKeys: ["a:b:c"] }] },
        message: 'spec.varsFrom[0].varsKeys: "a:b:c" is no key; write "key" or "key:newName"',
      },
      "a rename to nothing": {
        spec: { varsFrom: [{ kind: "Secret", name: "db", varsKeys: ["a:"] }] },
        message: 'spec.varsFrom[0].varsKeys: "a:" is no key; write "key" or "key:newName"',
      },
      "a field of a pod, which a process has not": {
        spec: { vars: [{ name: "v", valueFrom: { fieldRef: { fieldPath: "x" } } }] },
        message:
          "spec.vars[0] (v).valueFrom: only secretKeyRef and configMapKeyRef can be read; " +
          "use one of them or value",
      },
      "a variable that upstream refuses too": {
        spec: env({ name: "TF_VAR_a", value: "1" }),
        message:
          "spec.runnerPodTemplate.spec.env[0] (TF_VAR_a): error setting env for Terraform: " +
          'manual setting of env var "TF_VAR_a" detected; use spec.vars',
        reason: "TFExecInitFailed",
      },
    };
  test.each(Object.entries(cases))("%s", async (_why, { spec, message, reason }) => {
    expect(await resolve(spec)).toEqual({
      state: "failed",
      reason: reason ?? "VarsGenerationFailed",
      message,
    });
  });
});

test("everything that came from a Secret is sensitive, long lines by themselves too", async () => {
  const { sensitive } = await resolved({
    vars: [
      { name: "open", value: "not secret" },
      { name: "pem", valueFrom: { secretKeyRef: { name: "pem", key: "key" } } },
    ],
    varsFrom: [{ kind: "ConfigMap", name: "site" }],
    ...env({ name: "PW", valueFrom: { secretKeyRef: { name: "db", key: "password" } } }),
  });
  expect(sensitive).toContain("hunter2-hunter2");
  expect(sensitive).toContain("AAAABBBBCCCC");
  expect(sensitive).not.toContain("eu-1");
  expect(sensitive).not.toContain("not secret");
});

describe("the digest", () => {
  const spec = { varsFrom: [{ kind: "Secret" as const, name: "db" }] };
  test("is the same for the same inputs, whatever their order", async () => {
    const turned = [secretOf("db", { user: "root", password: "hunter2-hunter2" })];
    expect((await resolved(spec)).digest).toBe((await resolved(spec, turned)).digest);
  });
  test("changes with a value, with the environment and with the workspace", async () => {
    const digests = await Promise.all([
      resolved(spec),
      resolved(spec, [secretOf("db", { password: "other", user: "root" })]),
      resolved({ ...spec, ...env({ name: "A", value: "1" }) }),
      resolved({ ...spec, workspace: "blue" }),
    ]);
    expect(new Set(digests.map(({ digest }) => digest)).size).toBe(4);
  });
});

test("the objects referred to are known, so that their changes wake the object", () => {
  const terraform = terraformOf({
    vars: [{ name: "a", valueFrom: { configMapKeyRef: { name: "site", key: "k" } } }],
    varsFrom: [{ kind: "Secret", name: "db" }],
    ...env({ name: "A", valueFrom: { secretKeyRef: { name: "pem", key: "key" } } }),
  });
  expect(referencedInputs(terraform)).toEqual({ Secret: ["db", "pem"], ConfigMap: ["site"] });
});
