import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { holdsModule, targetsOfNothing } from "./warnings.ts";

const resources = (...addresses: string[]) => ({
  resources: addresses.map((address) => ({ address })),
});
const plan = {
  configuration: {
    root_module: {
      ...resources("terraform_data.a", "data.local_file.b"),
      module_calls: {
        net: {
          module: {
            ...resources("terraform_data.c"),
            module_calls: { sub: { module: resources("terraform_data.d") } },
          },
        },
      },
    },
  },
};

const targets: Record<string, { target: string; is: boolean }> = {
  "a resource": { target: "terraform_data.a", is: true },
  "an instance of it by number": { target: "terraform_data.a[0]", is: true },
  "an instance of it by a key with dots and brackets": {
    target: 'terraform_data.a["x.y]z"]',
    is: true,
  },
  "a data source": { target: "data.local_file.b", is: true },
  "a module": { target: "module.net", is: true },
  "an instance of a module": { target: 'module.net["module.no"]', is: true },
  "a resource in a module of a module": {
    target: "module.net.module.sub.terraform_data.d",
    is: true,
  },
  "a resource that is not there": { target: "terraform_data.z", is: false },
  "a resource that is in another module": { target: "terraform_data.c", is: false },
  "a module that is not there": { target: "module.nope", is: false },
  "a resource of a module that is not there": { target: "module.nope.terraform_data.c", is: false },
  "a resource that a module lacks": { target: "module.net.terraform_data.a", is: false },
};

test.each(Object.entries(targets))("%s is told right", (_, { target, is }) => {
  expect(targetsOfNothing(plan, [target])).toEqual(is ? [] : [target]);
});

test("a folder without a file of OpenTofu holds no module", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nigari-module-"));
  try {
    writeFileSync(join(folder, "README.md"), "");
    writeFileSync(join(folder, "vars.tfvars"), "");
    expect(await holdsModule(folder)).toBe(false);
    for (const name of ["a.tf", "a.tofu", "a.tf.json", "a.tofu.json", "main.tf.tpl"]) {
      writeFileSync(join(folder, name), "");
      expect(await holdsModule(folder), name).toBe(true);
      rmSync(join(folder, name));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
