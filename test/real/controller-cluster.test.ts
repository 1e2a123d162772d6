import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { RIVAL_LEASE } from "../../src/adapters/kubernetes/rival-lease.ts";
import { withoutCluster } from "../../src/testing/cluster/api-server.ts";
import { ControllerWorld, ended, until } from "../../src/testing/cluster/controller-world.ts";
import { Workspace } from "../../src/testing/harness/workspace.ts";

const PROGRAM = join(import.meta.dirname, "support/controller-program.ts");
const MODULE = { "main.tf": 'output "word" {\n  value = "hello"\n}\n' };

/**
 * The controller as a process with the shipped rights, on a real API server. Runners are processes
 * of this machine, since there are no nodes.
 */
describe.skipIf(withoutCluster())("a controller on a real API server", { timeout: 120_000 }, () => {
  let world: ControllerWorld;
  beforeEach(async () => {
    world = await ControllerWorld.open(PROGRAM);
  }, 60_000);
  afterEach(async () => {
    await world.close();
  }, 60_000);

  const ready = (name: string) => world.condition(name, "Ready");
  const isReady = (name: string) =>
    until(
      () => ready(name),
      (found) => found?.status === "True",
      60_000,
    );

  test("an object is applied, and its outputs are written", async () => {
    world.start();
    await world.commit("hello", MODULE);
    await world.create("hello", { writeOutputsToSecret: { name: "hello-outputs" } });
    const found = await isReady("hello");
    expect(found?.reason).toBe("TerraformOutputsWritten");
    const secret = await world.get("/api/v1/namespaces/team/secrets/hello-outputs");
    expect(secret?.data).toEqual({ word: Buffer.from("hello").toString("base64") });
  });

  test("a controller that is killed leaves its run running, and the next one ends it", async () => {
    const workspace = new Workspace(join(world.folder, "workspace"));
    const files = workspace.files([{ name: "a", gated: true }]);
    const first = world.start();
    await world.commit("long", files);
    await world.create("long");
    await until(
      () => workspace.effects(),
      (found) => found.length === 1,
      60_000,
    );
    await ended(first, "SIGKILL");
    world.start();
    workspace.passGate("a");
    await isReady("long");
    expect(workspace.effects()).toHaveLength(1);
  });

  test("while tofu-controller holds its Lease nothing is started, and objects say so", async () => {
    await world.holdLease(RIVAL_LEASE, "tofu-controller-5d_1");
    world.start();
    await world.commit("held", MODULE);
    await world.create("held");
    const words = (type: string) => world.condition("held", type);
    const held = await until(
      () => words("Reconciling"),
      (found) => found !== undefined,
    );
    expect(held).toMatchObject({ status: "True", reason: "OtherControllerLeads" });
    expect(held?.message).toContain("tofu-controller-5d_1, holds Lease flux-system/1953de50");
    expect((await world.terraform("held")).metadata.finalizers).toBeUndefined();
    await world.holdLease(RIVAL_LEASE, "");
    await isReady("held");
    expect(await world.lease(RIVAL_LEASE)).toMatch(/^nigari\/controller-1_/);
  });
});
