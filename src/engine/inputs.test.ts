import { describe, expect, test } from "vitest";
import type { TerraformSpec } from "../api/terraform.ts";
import { configMapOf, secretOf, storeWith, terraformOf } from "../testing/simulation/objects.ts";
import { type Inputs, referencedInputs, resolveInputs } from "./inputs.ts";

const call = { signal: new AbortController().signal };
const objects = [
  secretOf("db", { password: "hunter2-hunter2", user: "root" }),
  secretOf("odd", { "1-no-name": "x", GOOD: "from-odd", TOKEN: "t0ken-t0ken" }),
  secretOf("tofurc", { "cli.tfrc": "disable_checkpoint = true" }),
  secretOf("pem", { key: "-----BEGIN-----\nAAAABBBBCCCC\n-----END-----\n" }),
  configMapOf("site", { region: "eu-1", user: "from-map" }),
];

async function resolve(spec: Partial<TerraformSpec>, world = objects, key = "a key") {
  const options = { crossNamespaceRefs: false, digestKey: Buffer.from(key) };
  const store = await storeWith(...world);
  return await resolveInputs(terraformOf(spec), { store, options }, call);
}
async function resolved(
  spec: Partial<TerraformSpec>,
  world = objects,
  key = "a key",
): Promise<Inputs> {
  const result = await resolve(spec, world, key);
  if (result.state === "failed") throw new Error(result.message);
  return result.inputs;
}
const envFrom = (...list: NonNullable<RunnerEnvFrom>) => ({
  runnerPodTemplate: { spec: { envFrom: list } },
});
type RunnerEnvFrom = NonNullable<
  NonNullable<TerraformSpec["runnerPodTemplate"]>["spec"]
>["envFrom"];
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

  test("envFrom takes all keys that can be names, env and later entries win", async () => {
    const spec = envFrom(
      { configMapRef: { name: "site" }, prefix: "SITE_" },
      { secretRef: { name: "odd" } },
      { secretRef: { name: "none", optional: true } },
    );
    const { runnerPodTemplate } = env({ name: "GOOD", value: "$(TOKEN)!" });
    spec.runnerPodTemplate.spec = { ...spec.runnerPodTemplate.spec, ...runnerPodTemplate.spec };
    const { env: found, sensitive } = await resolved(spec);
    expect(found).toEqual({
      SITE_region: "eu-1",
      SITE_user: "from-map",
      TOKEN: "t0ken-t0ken",
      GOOD: "t0ken-t0ken!",
    });
    expect(sensitive).toContain("t0ken-t0ken");
  });
});

describe("values", () => {
  const fillIn = (text: string) => `$\u007b{ ${text} }}`;
  const outputs = secretOf("outputs", {
    id: "vpc-1234",
    quote: 'say "hi"',
    port: "80",
    port__type: '"number"',
    on: "true",
    on__type: '"bool"',
    none: "null",
    none__type: '["list","string"]',
    zones: '["a","b"]',
    zones__type: '["list","string"]',
    pair: '["a",1]',
    pair__type: '["tuple",["string","number"]]',
    tags: '{"k":"v"}',
    tags__type: '["map","string"]',
    set: '["x","y","x"]',
    set__type: '["set","string"]',
    spec: '{"n":1}',
    spec__type: '["object",{"n":"number"}]',
  });
  const readInputsFromSecrets = [{ name: "outputs", as: "net" }];
  const valuesOf = async (values: unknown, world = [...objects, outputs]) =>
    JSON.parse((await resolved({ values, readInputsFromSecrets }, world)).variables).values;

  const cases: Record<string, { values: unknown; expected: unknown }> = {
    "any JSON stays as it is": {
      values: { a: [1, null, true, { b: "$x {{ y }}" }] },
      expected: { a: [1, null, true, { b: "$x {{ y }}" }] },
    },
    "a text is a template over the Secrets by their names": {
      values: { at: `http://${fillIn(".net.id")}:${fillIn(".net.port")}/`, on: fillIn(".net.on") },
      expected: { at: "http://vpc-1234:80/", on: "true" },
    },
    "what is filled in cannot break out, which upstream let it": {
      values: { text: fillIn(".net.quote"), again: fillIn("index .net `quote`") },
      expected: { text: 'say "hi"', again: 'say "hi"' },
    },
    "lists and maps come whole where nothing stands beside them": {
      values: [".net.zones", ".net.tags", ".net.set", ".net.spec", ".net.pair"].map(fillIn),
      expected: [["a", "b"], { k: "v" }, ["x", "y"], { n: 1 }, ["a", 1]],
    },
    "keys are templates too": { values: { [fillIn(".net.id")]: 1 }, expected: { "vpc-1234": 1 } },
    "conditions, over what is null too": {
      values: fillIn("if .net.none }}some$\u007b{ else }}none$\u007b{ end"),
      expected: "none",
    },
  };
  test.each(Object.entries(cases))("%s", async (_why, { values, expected }) => {
    expect(await valuesOf(values)).toEqual(expected);
  });

  test("stand over vars, below varsFrom, and what was filled in is secret", async () => {
    const spec = { vars: [{ name: "values", value: 1 }], values: fillIn(".net.id") };
    const world = [...objects, outputs, configMapOf("v", { values: "from-map" })];
    const found = await resolved({ ...spec, readInputsFromSecrets }, world);
    expect(JSON.parse(found.variables)).toEqual({ values: "vpc-1234" });
    expect(found.sensitive).toContain("vpc-1234");
    const varsFrom = [{ kind: "ConfigMap" as const, name: "v" }];
    const over = await resolved({ ...spec, readInputsFromSecrets, varsFrom }, world);
    expect(JSON.parse(over.variables)).toEqual({ values: "from-map" });
  });

  test("name field and template of what lacks, where upstream wrote <no value>", async () => {
    const values = { a: { b: [fillIn(".net.nope")] } };
    expect(await resolve({ values, readInputsFromSecrets }, [...objects, outputs])).toEqual({
      state: "failed",
      reason: "VarsGenerationFailed",
      message:
        'spec.values.a.b[0]: ".net.nope" has no value; ' +
        "see that the Secret in spec.readInputsFromSecrets has what it names",
    });
    const broken = secretOf("outputs", { port: "eighty", port__type: '"number"' });
    expect(await resolve({ readInputsFromSecrets }, [broken])).toMatchObject({
      message: expect.stringMatching(/key "port" of Secret outputs is not the JSON/),
    });
  });
});

describe("files, backend and CLI configuration", () => {
  const custom = { backendConfig: { customConfiguration: 'backend "s3" {}' } };
  test("mapped files keep their bytes, and are secret", async () => {
    const secretRef = { name: "pem", key: "key" };
    const { files, sensitive } = await resolved({
      fileMappings: [
        { secretRef, location: "home", path: "/.ssh/id" },
        { secretRef, location: "workspace", path: "more/x.pem" },
      ],
    });
    expect(files.map(({ location, path }) => `${location} ${path}`)).toEqual([
      "home .ssh/id",
      "workspace more/x.pem",
    ]);
    expect(Buffer.from(files[0]?.content ?? []).toString()).toMatch(/^-----BEGIN-----\nAAAA/);
    expect(sensitive).toContain("AAAABBBBCCCC");
  });

  test("backendConfigsFrom takes all keys or those listed, and later entries win", async () => {
    const { backendConfig, backend } = await resolved({
      ...custom,
      backendConfigsFrom: [
        { kind: "Secret", name: "db" },
        { kind: "ConfigMap", name: "site", keys: ["user"] },
        { kind: "Secret", name: "db", keys: ["nope"], optional: true },
        { kind: "Secret", name: "none", optional: true },
      ],
    });
    expect(backendConfig).toEqual({ password: "hunter2-hunter2", user: "from-map" });
    expect(backend).toEqual({ is: "written", text: 'terraform {\nbackend "s3" {}\n}\n' });
  });

  const backends: Record<string, { backend: TerraformSpec["backendConfig"]; is: string | RegExp }> =
    {
      "nothing said: the state door": { backend: {}, is: "door" },
      "disabled: the module's own, whatever else is said": {
        backend: { disable: true, customConfiguration: 'backend "s3" {}' },
        is: "module",
      },
      "a Secret in a cluster, its names escaped as HCL": {
        backend: { secretSuffix: 'a"\u0024{b}', configPath: "/k", labels: { "x/y": "z" } },
        is: /backend "kubernetes" \{\n {4}secret_suffix = "a\\"\$\$\{b\}"[\s\S]*"x\/y" = "z"/,
      },
    };
  test.each(Object.entries(backends))("%s", async (_why, { backend, is }) => {
    const found = (await resolved({ ...(backend && { backendConfig: backend }) })).backend;
    expect(found.is === "written" ? found.text : found.is).toMatch(is);
  });

  test("the one key of cliConfigSecretRef is handed on", async () => {
    const { cliConfig } = await resolved({ cliConfigSecretRef: { name: "tofurc" } });
    expect(cliConfig).toBe("disable_checkpoint = true");
  });
});

describe("what is wrong is said with field, object, key and mend, and without a value", () => {
  const mapped = { location: "workspace" as const };
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
      "a file of a Secret that has no such key, which upstream made empty": {
        spec: { fileMappings: [{ ...mapped, secretRef: { name: "db", key: "nope" }, path: "x" }] },
        message:
          'spec.fileMappings[0].secretRef: Secret default/db has no key "nope"; ' +
          "add the key to it, correct the name, or remove the field",
        reason: "TFExecInitFailed",
      },
      "a file that would leave its folder": {
        spec: {
          fileMappings: [{ ...mapped, secretRef: { name: "db", key: "user" }, path: "a/../../x" }],
        },
        message: 'spec.fileMappings[0].path: "a/../../x" is no path of a file below it',
        reason: "TFExecInitFailed",
      },
      "a file in the place of what OpenTofu keeps": {
        spec: {
          fileMappings: [
            { ...mapped, secretRef: { name: "db", key: "user" }, path: ".terraform/x" },
          ],
        },
        message: 'spec.fileMappings[0].path: ".terraform/x" is no path of a file below it',
        reason: "TFExecInitFailed",
      },
      "attributes of a backend that nobody wrote": {
        spec: { backendConfigsFrom: [{ kind: "Secret", name: "db" }] },
        message:
          "spec.backendConfigsFrom[0]: there is no backend that it could complete; write one in " +
          "spec.backendConfig.customConfiguration, or set spec.backendConfig.disable to use the " +
          "module's own",
        reason: "TFExecInitFailed",
      },
      "an attribute that lacks, which upstream took for an empty string": {
        spec: {
          backendConfig: { disable: true },
          backendConfigsFrom: [{ kind: "Secret", name: "db", keys: ["nope"] }],
        },
        message:
          'spec.backendConfigsFrom[0].keys: Secret default/db has no key "nope"; ' +
          "add the key to it, correct the name, or set optional: true",
        reason: "TFExecInitFailed",
      },
      "a CLI configuration of another namespace": {
        spec: { cliConfigSecretRef: { name: "gr-source", namespace: "other-ns" } },
        message:
          "cannot access secret other-ns/gr-source, cross-namespace references have been disabled",
        reason: "AccessDenied",
      },
      "a CLI configuration beside others": {
        spec: { cliConfigSecretRef: { name: "db" } },
        message:
          "spec.cliConfigSecretRef: Secret default/db must hold one key, " +
          "and that must end with .tfrc",
        reason: "TFExecNewFailed",
      },
      "a source of variables that is none": {
        spec: envFrom({ prefix: "A_" }),
        message:
          "spec.runnerPodTemplate.spec.envFrom[0]: write secretRef or configMapRef, with a name",
        reason: "TFExecInitFailed",
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
  const secretRef = { name: "db", key: "user" };
  const others: Record<string, { spec?: Partial<TerraformSpec>; db?: Record<string, string> }> = {
    "a value": { db: { password: "other", user: "root" } },
    "the environment": { spec: env({ name: "A", value: "1" }) },
    "the workspace": { spec: { workspace: "blue" } },
    "the targets": { spec: { targets: ["a.b"] } },
    "the variable files": { spec: { tfVarsFiles: ["a.tfvars"] } },
    "a mapped file": { spec: { fileMappings: [{ secretRef, location: "home", path: "x" }] } },
    "the CLI configuration": { spec: { cliConfigSecretRef: { name: "tofurc" } } },
    "the backend": { spec: { backendConfig: { disable: true } } },
    "an attribute of the backend": {
      spec: {
        backendConfig: { disable: true },
        backendConfigsFrom: [{ kind: "Secret", name: "db" }],
      },
    },
  };
  test.each(Object.entries(others))("changes with %s", async (_what, { spec: more, db }) => {
    const world = db === undefined ? objects : [secretOf("db", db), ...objects.slice(1)];
    expect((await resolved({ ...spec, ...more }, world)).digest).not.toBe(
      (await resolved(spec)).digest,
    );
  });
  test("does not change with what no plan depends on", async () => {
    const more = { parallelism: 3, interval: "1h" };
    expect((await resolved({ ...spec, ...more })).digest).toBe((await resolved(spec)).digest);
  });
  test("cannot be tried out without the engine's key", async () => {
    const ours = await resolved(spec, objects, "our key");
    const theirs = await resolved(spec, objects, "their key");
    expect(ours.digest).not.toBe(theirs.digest);
    expect(ours.sources).not.toEqual(theirs.sources);
    expect(Object.keys(ours.sources)).toEqual(["Secret default/db"]);
  });
});

test("the objects referred to are known, so that their changes wake the object", () => {
  const secretRef = { name: "files", key: "k" };
  const pod = env({ name: "A", valueFrom: { secretKeyRef: { name: "pem", key: "key" } } });
  const terraform = terraformOf({
    vars: [{ name: "a", valueFrom: { configMapKeyRef: { name: "site", key: "k" } } }],
    varsFrom: [{ kind: "Secret", name: "db" }],
    runnerPodTemplate: {
      spec: { ...pod.runnerPodTemplate.spec, envFrom: [{ configMapRef: { name: "all" } }] },
    },
    backendConfigsFrom: [{ kind: "ConfigMap", name: "backend" }],
    fileMappings: [{ secretRef, location: "home", path: "x" }],
    readInputsFromSecrets: [{ name: "outputs", as: "other" }],
    cliConfigSecretRef: { name: "tofurc", namespace: "ops" },
  });
  expect(
    referencedInputs(terraform).map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`),
  ).toEqual([
    "Secret default/db",
    "ConfigMap default/backend",
    "ConfigMap default/site",
    "Secret default/pem",
    "ConfigMap default/all",
    "Secret default/files",
    "Secret default/outputs",
    "Secret ops/tofurc",
  ]);
});
