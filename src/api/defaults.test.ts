import { expect, test } from "vitest";
import { isDefault, specDefaults } from "./defaults.ts";
import { TerraformSpec } from "./terraform.ts";

test("every default stands at a path of the schema", () => {
  for (const path of Object.keys(specDefaults)) {
    let schema: unknown = TerraformSpec;
    for (const step of path.split(/\.|(?=\[\])/)) {
      const { properties, items } = schema as { properties?: object; items?: object };
      schema =
        step === "[]" ? items : Object.entries(properties ?? {}).find(([k]) => k === step)?.[1];
    }
    expect(schema, path).toBeDefined();
  }
});

const rows: Record<string, { path: string; value: unknown; unused: boolean }> = {
  "an absent field": { path: "workspace", value: undefined, unused: true },
  "the default itself": { path: "workspace", value: "default", unused: true },
  "an empty workspace is the default one": { path: "workspace", value: "", unused: true },
  "another workspace": { path: "workspace", value: "blue", unused: false },
  "true where true is the default": { path: "upgradeOnInit", value: true, unused: true },
  "false where true is the default": { path: "upgradeOnInit", value: false, unused: false },
  "the same duration in other words": { path: "maxRetryInterval", value: "1440m", unused: true },
  "another duration": { path: "maxRetryInterval", value: "1h", unused: false },
  "a parallelism of 0 means 10": { path: "parallelism", value: 0, unused: true },
  "a parallelism of its own": { path: "parallelism", value: 4, unused: false },
  "an empty list": { path: "targets", value: [], unused: true },
  "a list with something": { path: "targets", value: ["a.b"], unused: false },
  "an object of defaults": { path: "tfstate", value: { forceUnlock: "no" }, unused: true },
  "an object with something": { path: "tfstate", value: { forceUnlock: "auto" }, unused: false },
  "an empty map": { path: "backendConfig", value: { labels: {} }, unused: true },
  "a map with something": { path: "backendConfig", value: { labels: { a: "b" } }, unused: false },
  "a cloud block has no default": { path: "cloud", value: { organization: "x" }, unused: false },
  "no limit of retries": { path: "remediation", value: { retries: -1 }, unused: true },
  "an empty remediation never runs": { path: "remediation", value: {}, unused: false },
  "a field that upstream never reads": { path: "enterprise", value: { a: 1 }, unused: true },
  "an unknown text, even if empty": { path: "cliConfigSecretRef.name", value: "", unused: false },
};
test.each(Object.entries(rows))("%s", (_, { path, value, unused }) => {
  expect(isDefault(path, value)).toBe(unused);
});
