import { expect, test } from "vitest";
import { EngineWorld } from "../../src/testing/harness/engine-world.ts";

// Some of tofu-controller's own cases with real OpenTofu, where what it prints matters: plans and
// Secrets under their numbers. The others are played in test/conformance.

const hello = 'output "hello_world" {\n  value = "Hello, World!"\n}\n';
const typed = `
variable "cluster_spec" {
  type = object({ region = string, active = bool, node_count = number })
}
variable "zones" {
  type = list(string)
}
output "cluster_id" { value = var.cluster_spec.region }
output "active" { value = var.cluster_spec.active }
output "node_count" { value = var.cluster_spec.node_count }
output "azs" { value = var.zones }
`;
const cat = `
variable "subject" {
  type    = string
  default = "World"
}
output "hello_env" { value = "Hello, \${var.subject}!" }
`;

test("000010, 000031, 000040, 000060, 000061: what real runs leave for others", async () => {
  const world = new EngineWorld();
  const outputsTo = (name: string, ...outputs: string[]) => ({
    writeOutputsToSecret: { name, outputs },
  });
  const secret = async (name: string) => {
    const found = await world.client.store.get(
      { kind: "Secret", namespace: "default", name },
      world.call(),
    );
    const data = Object.entries(found?.data ?? {});
    return Object.fromEntries(data.map(([key, value]) => [key, atob(value)]));
  };
  const plain = world.add("hello", {
    resources: [],
    more: hello,
    spec: outputsTo("hello-out", "hello_world"),
  });
  const cats = world.add("cats", {
    resources: [],
    more: cat,
    spec: { vars: [{ name: "subject", value: "my cat" }], ...outputsTo("cats-out", "hello_env") },
  });
  const types = world.add("types", {
    resources: [],
    more: typed,
    spec: {
      vars: [
        { name: "cluster_spec", value: { region: "eu", active: true, node_count: 10 } },
        { name: "zones", value: ["eu-1", "eu-2"] },
      ],
      ...outputsTo("types-out", "cluster_id", "active", "node_count", "azs"),
    },
  });
  const shown = world.add("shown", {
    resources: [],
    more: hello,
    spec: { approvePlan: "", storeReadablePlan: "human" },
  });
  try {
    world.estate.commit();
    await world.start();
    await Promise.all([plain, cats, types].map((each) => each.settled()));
    expect(await secret("hello-out")).toEqual({ hello_world: "Hello, World!" });
    expect(await secret("cats-out")).toEqual({ hello_env: "Hello, my cat!" });
    expect(await secret("types-out")).toEqual({
      cluster_id: "eu",
      active: "true",
      active__type: '"bool"',
      node_count: "10",
      node_count__type: '"number"',
      azs: '["eu-1","eu-2"]',
      azs__type: '["list","string"]',
    });
    const { object } = await shown.when("its plan is shown", ({ status }) => {
      return status?.plan?.pending !== undefined && status.run === undefined;
    });
    const { pending } = object?.status?.plan ?? {};
    expect(pending).toMatch(/^plan-main-[0-9a-f]{10}$/);
    const ref = { kind: "ConfigMap", namespace: "default", name: "tfplan-default-shown" } as const;
    const map = await world.client.store.get(ref, world.call());
    expect(map?.metadata.annotations?.savedPlan).toBe(pending);
    expect(map?.data?.tfplan).toMatch(/^\nChanges to Outputs:\n(.*\n)*.*\+ hello_world/);
    expect(world.bugs()).toEqual([]);
  } finally {
    await world.close();
  }
});
