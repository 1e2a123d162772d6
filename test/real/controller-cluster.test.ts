import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { UPSTREAM_LEASE } from "../../src/api/cluster-names.ts";
import { withoutCluster } from "../../src/testing/cluster/api-server.ts";
import { ControllerWorld, until } from "../../src/testing/cluster/controller-world.ts";
import { Workspace } from "../../src/testing/harness/workspace.ts";

const PROGRAM = join(import.meta.dirname, "support/controller-program.ts");
const MODULE = { "main.tf": 'output "word" {\n  value = "hello"\n}\n' };

/**
 * The controller as a process with the shipped rights, on a real API server that does not know
 * OCIRepository. Runners are processes of this machine, since there are no nodes.
 */
describe.skipIf(withoutCluster())("a controller on a real API server", { timeout: 120_000 }, () => {
  let world: ControllerWorld;
  beforeAll(async () => {
    world = await ControllerWorld.open(PROGRAM, ["OCIRepository"]);
  }, 90_000);
  afterEach(() => world.stopAll("SIGTERM"));
  afterAll(() => world.close());

  const ready = (name: string) => world.condition(name, "Ready");
  const isReady = (name: string) =>
    until(
      () => ready(name),
      (found) => found?.status === "True",
      60_000,
    );
  const saysReady = (name: string, text: string | RegExp) =>
    until(
      () => ready(name),
      (found) => found?.message.match(text) !== null && found !== undefined,
    );

  test("an object is applied, its outputs are written, and nothing was forbidden", async () => {
    const controller = world.start();
    await world.commit("hello", MODULE);
    await world.create("hello", { writeOutputsToSecret: { name: "hello-outputs" } });
    const found = await isReady("hello");
    expect(found?.reason).toBe("TerraformOutputsWritten");
    const secret = await world.get("/api/v1/namespaces/team/secrets/hello-outputs");
    expect(secret?.data).toEqual({ word: Buffer.from("hello").toString("base64") });
    const metrics = await world.ask(controller, "/metrics");
    expect(metrics).toContain('rest_client_requests_total{code="200"');
    expect(metrics).not.toContain('code="403"');
    expect(await world.ask(controller, "/healthz")).toBe('200 {"status":"ok","causes":[]}');
    expect(await world.ask(controller, "/readyz")).toBe('200 {"status":"ok","causes":[]}');
    const events = await world.get("/api/v1/namespaces/team/events");
    expect(events?.items).toContainEqual(
      expect.objectContaining({
        ...{ reason: "TerraformAppliedSucceed", source: { component: "tf-controller" } },
      }),
    );
  });

  test("a controller that is killed leaves its run running, and the next one ends it", async () => {
    const workspace = new Workspace(join(world.folder, "workspace"));
    world.start();
    await world.commit("long", workspace.files([{ name: "a", gated: true }]));
    await world.create("long");
    await until(
      () => workspace.effects(),
      (found) => found.length === 1,
      60_000,
    );
    await world.stopAll("SIGKILL");
    const next = world.start();
    await until(
      () => world.log(next),
      (lines) => lines.some(({ message }) => message === "Leading"),
    );
    workspace.passGate("a");
    await isReady("long");
    expect(workspace.effects()).toHaveLength(1);
  });

  test("while tofu-controller holds its Lease nothing is started, and objects say so", async () => {
    await world.holdLease(UPSTREAM_LEASE, "tofu-controller-5d_1");
    world.start();
    await world.commit("held", MODULE);
    await world.create("held");
    const held = await until(
      () => world.condition("held", "Reconciling"),
      (found) => found !== undefined,
    );
    expect(held).toMatchObject({ status: "True", reason: "OtherControllerLeads" });
    expect(held?.message).toContain("tofu-controller-5d_1, holds Lease flux-system/1953de50");
    expect((await world.terraform("held")).metadata.finalizers).toBeUndefined();
    await world.holdLease(UPSTREAM_LEASE, "");
    await isReady("held");
    expect(await world.lease(UPSTREAM_LEASE)).toMatch(/^nigari\/controller-\d+_/);
  });

  test("a second controller waits, and goes on at once when the first is stopped", async () => {
    const first = world.start();
    await until(
      () => world.log(first),
      (lines) => lines.some(({ message }) => message === "Leading"),
    );
    const second = world.start();
    await until(
      () => world.log(second),
      (lines) => lines.some(({ message }) => message === "Listening"),
    );
    expect(await world.ask(second, "/readyz")).toBe('200 {"status":"ok","causes":[]}');
    await world.stop(first, "SIGTERM");
    await until(
      () => world.log(second),
      (lines) => lines.some(({ message }) => message === "Leading"),
      10_000,
    );
  });

  test("an artifact that is not there, is another, or does not come is told in words", async () => {
    world.start();
    await world.commit("away", MODULE);
    world.serveArtifacts("404");
    await world.create("away");
    const gone = await saysReady("away", /is no longer served \(404\)/);
    expect(gone).toMatchObject({ status: "False", reason: "ArtifactFailed" });
    world.serveArtifacts("other content");
    await saysReady("away", /and its source says sha256:/);
    world.serveArtifacts("silent");
    await world.commit("silent", { ...MODULE, "more.tf": "" });
    const beganAt = Date.now();
    await world.create("silent");
    await saysReady("silent", /cannot be reached: no answer for 10000 ms/);
    expect(Date.now() - beganAt).toBeLessThan(15_000);
    world.serveArtifacts("none");
    await isReady("away");
    await isReady("silent");
  });

  test("a source of a kind that the cluster does not know is told, and stops nothing", async () => {
    const controller = world.start();
    await world.create("image", { sourceRef: { kind: "OCIRepository", name: "image" } });
    await saysReady("image", /this cluster does not know OCIRepository in version v1/);
    expect(await world.ask(controller, "/healthz")).toBe('200 {"status":"ok","causes":[]}');
  });

  test("a source elsewhere is refused unless it is allowed", async () => {
    world.start();
    await world.commit("shared", MODULE, "flux-system");
    const sourceRef = { kind: "GitRepository", name: "shared", namespace: "flux-system" } as const;
    await world.create("abroad", { sourceRef });
    await saysReady("abroad", /cross-namespace references have been disabled/);
    await world.stopAll("SIGTERM");
    world.start(["--allow-cross-namespace-refs"]);
    await isReady("abroad");
  });

  test("a shard leaves others alone, and takes an object that becomes its own", async () => {
    world.start(["--watch-label-selector=shard=one"]);
    await world.commit("mine", MODULE);
    await world.commit("other", MODULE);
    await world.create("mine", {}, { shard: "one" });
    await world.create("other", {}, { shard: "two" });
    await isReady("mine");
    expect(await ready("other")).toBeUndefined();
    await world.change("other", (object) => ({
      ...object,
      metadata: { ...object.metadata, labels: { shard: "one" } },
    }));
    await isReady("other");
  });

  test("rights that lack are named as rules; once they are there it goes on", async () => {
    const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/nigari-controller";
    const role = (await world.get(path)) as { rules: { resources: string[] }[] };
    const rules = role.rules.filter(({ resources }) => !resources.includes("pods"));
    await world.put(path, { ...role, rules });
    const controller = world.start();
    const lines = await until(
      () => world.log(controller),
      (found) => found.some(({ level }) => level === "error"),
    );
    const verbs = "get, list, watch, create, patch, delete";
    expect(lines.find(({ level }) => level === "error")).toMatchObject({
      message: "The account lacks a right",
      rule: `{apiGroups: [""], resources: [pods], verbs: [${verbs}]}`,
      kind: "ClusterRole",
    });
    const now = (await world.get(path)) as { metadata: object };
    await world.put(path, { ...role, metadata: now.metadata });
    await until(
      () => world.log(controller),
      (found) => found.some(({ message }) => message === "Leading"),
    );
  });
});
