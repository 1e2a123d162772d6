import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { FINALIZER } from "../api/names.ts";
import type { Terraform } from "../api/terraform.ts";
import { kubernetesStates } from "../testing/fakes/state-doors.ts";
import { World } from "../testing/simulation/world.ts";
import {
  type At,
  FormerController,
  formerStatus,
  type Left,
  planIdAt,
  stateAt,
  stateOf,
} from "../testing/takeover.ts";

/** Objects that tofu-controller left go on under Nigari, and would go on under it again. */

const NO_EFFECTS = {};
const RUNNER_GONE = "app-tf-runner does not exist any more";

/** A world with a source, in which nothing was done by Nigari so far. */
async function leftBehind(runnerGone?: string) {
  const world = new World({
    engine: { runnersArePods: true },
    script: () => ({ outputs: [{ name: "hello_world", sensitive: false }] }),
    door: (store) =>
      kubernetesStates(store, {
        runOfHost: undefined,
        formerRunnerGone: async () => runnerGone,
      }),
  });
  await world.source();
  const former = new FormerController(world.store);
  const source = await world.get("GitRepository", "code");
  const revision = source?.status?.artifact?.revision ?? "";
  const time = new Date(world.clock.now()).toISOString().replace(".000", "");
  const at: At = { revision, time };
  /** The object, and a state of one resource that its configuration asks for. */
  async function applied(left: Partial<Left> = {}): Promise<Terraform> {
    const name = left.name ?? "app";
    const made = await former.object({ name, status: formerStatus.applied(at), ...left });
    world.platform.world.recorded.set(`default/${name}`, new Set(["terraform_data.one"]));
    await former.tofu.write(stateAt(name), stateOf(["one"]));
    await former.tofu.takeLock(stateAt(name), { id: "before", who: "runner@x" });
    await former.tofu.returnLock(stateAt(name), "before");
    return made;
  }
  const kept = async (name = "app") => ({
    secret: await former.tofu.secret(stateAt(name)),
    lease: await former.tofu.lease(stateAt(name)),
  });
  return { world, former, at, applied, kept };
}

const orders = ({ platform }: World) => platform.calls.filter((each) => each.startsWith("start "));
const ready = (terraform: Terraform) => {
  const found = terraform.status?.conditions?.find(({ type }) => type === "Ready");
  return `${found?.status} ${found?.reason}: ${found?.message}`;
};
/** A plan of ours waits. */
const untilShown = (world: World) =>
  world.until("a plan of ours waits", async () => {
    const { status } = await world.terraform();
    return status?.plan?.digest !== undefined && status.run === undefined;
  });
const untilReadySays = (world: World, words: string, name = "app") =>
  world.until(`Ready says ${words}`, async () =>
    ready(await world.terraform(name)).includes(words),
  );

describe("an applied object", () => {
  test("is looked at in its time and no sooner; nothing changes, nothing is applied", async () => {
    const { world, applied, kept } = await leftBehind();
    await applied({
      spec: { approvePlan: "auto", interval: "10m" },
    });
    const before = await kept();
    await world.start();
    await world.clock.advance(9 * 60_000);
    expect(orders(world)).toEqual([]);
    expect(ready(await world.terraform())).toContain("True NoDrift: No drift");
    await world.clock.advance(2 * 60_000);
    const after = await world.untilReady();
    expect(orders(world)).toHaveLength(1);
    expect(world.effects()).toEqual(NO_EFFECTS);
    expect(await kept()).toEqual(before);
    expect(after.status?.state).toMatchObject({ serial: 5, lineage: "L", resources: 1 });
    expect(after.metadata.finalizers).toEqual([FINALIZER]);
    expect(world.bugs).toEqual([]);
  });

  test("keeps its Secret of outputs", async () => {
    const { world, former, applied } = await leftBehind();
    const object = await applied({ spec: { writeOutputsToSecret: { name: "out" } } });
    await former.outputs(object, { hello_world: "hi" });
    const before = await world.get("Secret", "out");
    await world.start();
    await world.clock.advance(11 * 60_000);
    await world.untilReady();
    expect(world.effects()).toEqual(NO_EFFECTS);
    expect((await world.get("Secret", "out"))?.metadata.uid).toBe(before?.metadata.uid);
  });

  test("whose state has vanished is not made anew", async () => {
    const { world, former, at } = await leftBehind();
    await former.object({
      ...{ name: "app", status: formerStatus.applied(at) },
      spec: { approvePlan: "auto" },
    });
    await world.start();
    await world.clock.advance(11 * 60_000);
    expect(ready(await world.terraform())).toContain("False StateChanged: State of default/app");
    expect(orders(world)).toEqual([]);
  });

  test("of another suffix and workspace goes on with the state it has", async () => {
    const { world, former, at, kept } = await leftBehind();
    const state = stateAt("app", { workspace: "dev", secret: { suffix: "shared" } });
    await former.object({
      ...{ name: "app", status: formerStatus.applied(at) },
      spec: {
        ...{ approvePlan: "auto", workspace: "dev" },
        backendConfig: { secretSuffix: "shared", inClusterConfig: true },
      },
    });
    world.platform.world.recorded.set("default/app", new Set(["terraform_data.one"]));
    await former.tofu.write(state, stateOf(["one"]));
    await world.start();
    await world.clock.advance(11 * 60_000);
    expect((await world.untilReady()).status?.state).toMatchObject({ lineage: "L", serial: 5 });
    expect(await kept()).toEqual({ secret: undefined, lease: undefined });
    expect(world.effects()).toEqual(NO_EFFECTS);
  });

  test("that is suspended is not touched", async () => {
    const { world, applied } = await leftBehind();
    const object = await applied({ spec: { suspend: true } });
    await world.start();
    await world.clock.advance(11 * 60_000);
    expect(orders(world)).toEqual([]);
    const { status } = await world.terraform();
    expect(status?.lastAppliedRevision).toBe(object.status?.lastAppliedRevision);
    expect(status?.plan).toEqual(object.status?.plan);
  });
});

describe("a plan that waits for approval", () => {
  const files: Record<string, Uint8Array> = {
    "in one Secret": Buffer.from("a plan of tofu 1.12.1"),
    "in pieces": randomBytes(2_200_000),
    "of a disabled backend": Buffer.from("dummy plan"),
  };
  test.each(Object.entries(files))("%s: is made anew, under an id of its own", async (_, file) => {
    const { world, former, at } = await leftBehind();
    const object = await former.object({ name: "app", status: formerStatus.pending(at) });
    await former.plan(object, planIdAt(at), file);
    await former.tofu.write(stateAt("app"), stateOf());
    await world.start();
    await untilShown(world);
    const shown = await world.terraform();
    const pending = shown.status?.plan?.pending ?? "";
    // Whoever approves what tofu-controller showed approves nothing else by it.
    expect(pending.startsWith(`${planIdAt(at)}-`)).toBe(true);
    await world.edit("app", (terraform) => {
      terraform.spec.approvePlan = planIdAt(at);
    });
    await world.clock.advance(60_000);
    expect(world.effects()).toEqual(NO_EFFECTS);
    const events = (await world.store.list("Event", {}, world.call())).items;
    expect(events.map(({ message }) => message)).toContainEqual(
      `Plan ${planIdAt(at)} went stale: it is not known what it was made from`,
    );
    // And back: tofu-controller finds a plan of its own kind under the id that is pending.
    expect(await former.loadPlan(await world.terraform())).toBeDefined();
    await world.edit("app", (terraform) => {
      terraform.spec.approvePlan = pending;
    });
    await world.untilReady();
    expect(world.effects()).toEqual({ "create default/app terraform_data.one": 1 });
    expect(world.bugs).toEqual([]);
  });

  test("and was approved while nobody looked is not applied unseen", async () => {
    const { world, former, at } = await leftBehind();
    const object = await former.object({
      ...{ name: "app", status: formerStatus.pending(at) },
      spec: { approvePlan: planIdAt(at) },
    });
    await former.plan(object, planIdAt(at), Buffer.from("a plan"));
    await former.tofu.write(stateAt("app"), stateOf());
    await world.start();
    await untilShown(world);
    await world.clock.advance(60_000);
    expect(ready(await world.terraform())).toContain("to approve this plan");
    expect(world.effects()).toEqual(NO_EFFECTS);
  });
});

describe("a lock that was left", () => {
  const plan = { id: "l-1", who: "runner@app-tf-runner", operation: "OperationTypePlan" };

  test("by a plan whose runner is gone is released, and the plan made", async () => {
    const { world, former, at, applied, kept } = await leftBehind(RUNNER_GONE);
    await applied({ status: formerStatus.planning(at), spec: { approvePlan: "auto" } });
    await former.tofu.takeLock(stateAt("app"), plan);
    const { lease } = await kept();
    await world.start();
    await world.clock.advance(11 * 60_000);
    await world.untilReady();
    expect((await kept()).lease?.metadata.uid).toBe(lease?.metadata.uid);
    expect((await kept()).lease?.spec?.holderIdentity).toBeUndefined();
    expect(world.effects()).toEqual(NO_EFFECTS);
  });

  const strangers: Record<string, { lock: typeof plan; gone: string | undefined; says: string }> = {
    "a plan whose runner may live": {
      ...{ lock: plan, gone: undefined },
      says: "State is locked by runner@app-tf-runner since 2026-01-01T00:00:00.123456789Z (plan",
    },
    "an apply, which may have written": {
      lock: { ...plan, operation: "OperationTypeApply" },
      gone: RUNNER_GONE,
      says: "State is locked by runner@app-tf-runner since 2026-01-01T00:00:00.123456789Z (apply",
    },
    "a person": {
      lock: { ...plan, who: "me@laptop" },
      gone: RUNNER_GONE,
      says: "State is locked by me@laptop since 2026-01-01T00:00:00.123456789Z (plan, lock l-1)",
    },
  };
  test.each(Object.entries(strangers))(
    "by %s is named and stays",
    async (_, { lock, gone, says }) => {
      const { world, former, at, applied, kept } = await leftBehind(gone);
      await applied({ status: formerStatus.planning(at), spec: { approvePlan: "auto" } });
      await former.tofu.takeLock(stateAt("app"), lock);
      const before = await kept();
      await world.start();
      await world.clock.advance(11 * 60_000);
      const object = await world.terraform();
      expect(ready(object)).toContain(`False LockHeld: ${says}`);
      expect(ready(object)).toContain('forceUnlock to "yes" and lockIdentifier to "l-1"');
      expect(object.status?.lock?.pending).toBe("l-1");
      expect(await kept()).toEqual(before);
      expect(orders(world)).toEqual([]);
      await world.edit("app", (terraform) => {
        terraform.spec.tfstate = { forceUnlock: "yes", lockIdentifier: "l-1" };
      });
      await world.untilReady();
      expect((await kept()).lease?.spec?.holderIdentity).toBeUndefined();
      expect(world.effects()).toEqual(NO_EFFECTS);
    },
  );
});

describe("an object that drifted", () => {
  test.each([
    ["repairs it once, in auto mode", "auto", { "create default/app terraform_data.one": 1 }],
    ["asks, in manual mode", "", NO_EFFECTS],
  ])("%s", async (_, approvePlan, effects) => {
    const { world, former, at } = await leftBehind();
    await former.object({
      ...{ name: "app", status: formerStatus.drifted(at) },
      spec: { approvePlan },
    });
    await former.tofu.write(stateAt("app"), stateOf(["one"]));
    await world.start();
    if (approvePlan === "auto") await world.untilReady();
    else await untilReadySays(world, "to approve this plan");
    await world.clock.advance(60_000);
    expect(world.effects()).toEqual(effects);
  });
});

describe("an object that is to go", () => {
  async function base() {
    const stage = await leftBehind();
    const mark = { finalizers: ["tf.dependency.of.web"] };
    await stage.applied({ name: "base", ...mark, status: formerStatus.blocked(stage.at, "web") });
    await stage.applied({ name: "web", spec: { dependsOn: [{ name: "base" }] } });
    await stage.world.remove("Terraform", "base");
    return stage;
  }
  const isGone = (world: World, name: string) =>
    world.until(`${name} is gone`, async () => (await world.get("Terraform", name)) === undefined);

  test("waits for its dependant, and goes without a trace of tofu-controller's marks", async () => {
    const { world, kept } = await base();
    const before = [await kept("base"), await kept("web")];
    await world.start();
    await untilReadySays(world, "Please delete default/web to resume", "base");
    await world.clock.advance(60_000);
    expect((await world.terraform("base")).metadata.finalizers).toEqual([
      ...[FINALIZER, "tf.dependency.of.web"],
    ]);
    await world.remove("Terraform", "web");
    await isGone(world, "web");
    await isGone(world, "base");
    expect(world.effects()).toEqual(NO_EFFECTS);
    expect([await kept("base"), await kept("web")]).toEqual(before);
  });

  test("takes its mark off what it depended on, which stays", async () => {
    const { world, applied } = await leftBehind();
    await applied({ name: "base", finalizers: ["tf.dependency.of.web", "tf.dependency.of.api"] });
    await applied({ name: "web", spec: { dependsOn: [{ name: "base" }] } });
    await world.start();
    await world.remove("Terraform", "web");
    await isGone(world, "web");
    expect((await world.terraform("base")).metadata.finalizers).toEqual([
      ...[FINALIZER, "tf.dependency.of.api"],
    ]);
  });

  test("is let go if nothing but the mark of somebody gone holds it", async () => {
    const { world, former, at } = await leftBehind();
    const made = await former.object({
      ...{ name: "app", status: formerStatus.blocked(at, "web") },
      finalizers: ["tf.dependency.of.web"],
    });
    const metadata = { ...made.metadata, finalizers: ["tf.dependency.of.web"] };
    await world.store.update({ ...made, metadata }, "main", world.call());
    await world.remove("Terraform", "app");
    await world.start();
    await isGone(world, "app");
  });

  test("destroys what its state has, if it was to", async () => {
    const { world, applied } = await leftBehind();
    await applied({ spec: { destroyResourcesOnDeletion: true } });
    await world.remove("Terraform", "app");
    await world.start();
    await isGone(world, "app");
    expect(world.effects()).toEqual({ "delete default/app terraform_data.one": 1 });
  });
});
