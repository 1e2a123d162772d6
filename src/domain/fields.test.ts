import { describe, expect, test } from "vitest";
import type { TerraformSpec } from "../api/terraform.ts";
import { OneObject, terraformOf } from "../testing/one-object.ts";
import { fieldsInTheWay } from "./fields.ts";

const used: Record<string, { spec: Partial<TerraformSpec>; path: string }> = {
  "the credentials of a pod": {
    spec: { backendConfig: { inClusterConfig: true } },
    path: "spec.backendConfig.inClusterConfig",
  },
  "a runner pod has an image": {
    spec: { runnerPodTemplate: { spec: { image: "x" } } },
    path: "spec.runnerPodTemplate.spec.image",
  },
  "a service account": { spec: { serviceAccountName: "x" }, path: "spec.serviceAccountName" },
  "a service is asked after planning": {
    spec: { webhooks: [{ url: "http://x", testExpression: "true" }] },
    path: "spec.webhooks",
  },
  "a person holds the pass": { spec: { breakTheGlass: true }, path: "spec.breakTheGlass" },
};

describe("fields that are not obeyed", () => {
  test.each(Object.entries(used))("%s: nothing is touched, and it is named", (_name, row) => {
    const object = new OneObject(row.spec);
    object.settle();
    expect(object.asked).toEqual([]);
    expect(object.status.run).toBeUndefined();
    expect(object.condition("Stalled")).toMatchObject({ reason: "FieldNotObeyed" });
    expect(object.ready).toMatch(/^False FieldNotObeyed: Not obeyed by this version, so nothing/);
    expect(object.ready).toContain(`${row.path} (`);
    expect(object.decisions.at(-1)?.requeueAfterMs).toBeUndefined();
    expect(object.events).toHaveLength(1);
  });

  test("all of them are named at once, each with its mend", () => {
    const spec = terraformOf({ serviceAccountName: "x", breakTheGlass: true }).spec;
    expect(fieldsInTheWay(spec)).toEqual([
      {
        path: "spec.serviceAccountName",
        mend: "remove it, for runners are no pods here",
      },
      { path: "spec.breakTheGlass", mend: "remove it" },
    ]);
  });

  test("once the field is gone the object goes on by itself", () => {
    const object = new OneObject({ breakTheGlass: true });
    object.settle();
    object.edit({ breakTheGlass: false });
    expect(object.status.run).toMatchObject({ operation: "plan" });
    expect(object.condition("Stalled")).toBeUndefined();
  });

  test("nothing is destroyed with one either: the finalizer stays", () => {
    const object = new OneObject({ approvePlan: "auto", destroyResourcesOnDeletion: true });
    object.settle();
    object.planned(1);
    object.applied();
    object.edit({ breakTheGlass: true });
    object.delete();
    expect(object.asked).not.toContain("remove-finalizer");
    expect(object.ready).toMatch(/^False FieldNotObeyed/);
  });
});

const alike: Record<string, Partial<TerraformSpec>> = {
  "values equal to the defaults": {
    upgradeOnInit: true,
    alwaysCleanupRunnerPod: true,
    serviceAccountName: "tf-runner",
    retryStrategy: "StaticInterval",
    maxRetryInterval: "1h",
    parallelism: 0,
    tfstate: { forceUnlock: "no", lockTimeout: "0s" },
    plan: { lock: true },
    runnerTerminationGracePeriodSeconds: 30,
    branchPlanner: { enablePathScope: false },
  },
  "empty lists and structures": {
    targets: [],
    healthChecks: [],
    webhooks: [],
    backendConfig: {},
    runnerPodTemplate: { metadata: {}, spec: {} },
  },
  "what is given to a run": {
    targets: ["a.b"],
    values: { a: 1 },
    readInputsFromSecrets: [{ name: "s", as: "s" }],
    parallelism: 3,
    upgradeOnInit: false,
    tfVarsFiles: ["a.tfvars"],
    backendConfigsFrom: [{ kind: "Secret", name: "s" }],
    backendConfig: { secretSuffix: "x", configPath: "/home/me/.kube/config", labels: { a: "b" } },
    cliConfigSecretRef: { name: "s" },
    fileMappings: [{ secretRef: { name: "s", key: "k" }, location: "home", path: "x" }],
  },
  "a backend that is the module's own": { backendConfig: { disable: true } },
  "environment variables": { runnerPodTemplate: { spec: { env: [{ name: "A", value: "b" }] } } },
  "a custom configuration, which beats the rest of the backend": {
    backendConfig: { customConfiguration: 'backend "local" {}', secretSuffix: "x" },
  },
  "what only a pod could have": {
    alwaysCleanupRunnerPod: false,
    runnerTerminationGracePeriodSeconds: 5,
    runnerPodTemplate: {
      metadata: { labels: { team: "a" } },
      spec: { nodeSelector: { disk: "ssd" }, tolerations: [{ key: "a" }], priorityClassName: "x" },
    },
    branchPlanner: { enablePathScope: true },
  },
  "a refresh that every plan makes": { refreshBeforeApply: true },
  "a placeholder that nobody reads": { enterprise: { a: 1 } },
  "variables from everywhere": {
    vars: [{ name: "a", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }],
    varsFrom: [{ kind: "Secret", name: "s", varsKeys: ["a:b"], optional: true }],
  },
};

describe("fields that change nothing, or are obeyed", () => {
  test.each(Object.entries(alike))("%s", (_name, spec) => {
    expect(fieldsInTheWay(terraformOf(spec).spec)).toEqual([]);
  });
});

describe("a spec that cannot be right", () => {
  test.each(["0s", "-5m", "often", ""])("an interval of %j", (interval) => {
    const object = new OneObject({ interval });
    object.settle();
    expect(object.ready).toBe(
      `False InvalidSpec: spec.interval "${interval}" is no positive duration; ` +
        "write one such as 10m",
    );
    expect(object.asked).toEqual([]);
  });
  test("a retry interval that is no duration", () => {
    const object = new OneObject({ retryInterval: "soon" });
    object.settle();
    expect(object.ready).toMatch(/^False InvalidSpec: spec.retryInterval "soon" is no positive/);
  });
  test.each([-5, 2 ** 31])("a parallelism of %j", (parallelism) => {
    const object = new OneObject({ parallelism });
    object.settle();
    expect(object.ready).toMatch(/^False InvalidSpec: spec.parallelism -?\d+ is no number of op/);
    expect(object.asked).toEqual([]);
  });
  test.each(["soon", "-5s"])("a lock timeout of %j", (lockTimeout) => {
    const object = new OneObject({ tfstate: { lockTimeout } });
    object.settle();
    expect(object.ready).toMatch(/^False InvalidSpec: spec.tfstate.lockTimeout "\S+" is no dura/);
  });
  test.each<Partial<TerraformSpec>>([{ parallelism: 0 }, { tfstate: { lockTimeout: "0s" } }])(
    "what only says the default is none: %j",
    (spec) => {
      const object = new OneObject(spec);
      object.settle();
      expect(object.ready).not.toMatch(/InvalidSpec/);
    },
  );
});
