import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiServerStore } from "../../src/adapters/kubernetes/object-store.ts";
import { createClock } from "../../src/adapters/system/clock.ts";
import { FINALIZER } from "../../src/api/names.ts";
import type { Terraform } from "../../src/api/terraform.ts";
import { kubernetesBackendText } from "../../src/domain/kubernetes-backend.ts";
import type { StateAccess, StateId } from "../../src/ports/state.ts";
import { runFolder } from "../../src/protocol/run-folder.ts";
import { withoutCluster } from "../../src/testing/cluster/api-server.ts";
import { ControllerWorld, TEAM, until } from "../../src/testing/cluster/controller-world.ts";
import { kubernetesStates } from "../../src/testing/fakes/state-doors.ts";
import { livingOf } from "../../src/testing/harness/victims.ts";
import { Workspace } from "../../src/testing/harness/workspace.ts";
import {
  type At,
  FormerController,
  formerStatus,
  type Left,
  planIdAt,
  stateAt,
} from "../../src/testing/takeover.ts";
import { connect, writeKubeconfig } from "./support/cluster.ts";
import { type TofuModule, tofuModule } from "./support/tofu.ts";

const LONG_AGO = "2026-01-01T00:00:00Z";
const PROGRAM = join(import.meta.dirname, "support/takeover-program.ts");

/**
 * What tofu-controller left in a real cluster goes on under Nigari: states and locks that a real
 * OpenTofu has made, plans that it has made, objects as the API server stores them. Runners are
 * processes of this machine.
 */
describe.skipIf(withoutCluster())("objects that tofu-controller left", { timeout: 180_000 }, () => {
  let world: ControllerWorld;
  let workspace: Workspace;
  let former: FormerController;
  const clock = createClock();
  const undo: (() => void)[] = [];
  beforeAll(async () => {
    world = await ControllerWorld.open(PROGRAM);
    const connection = connect(world.server, clock);
    undo.push(() => connection.close());
    former = new FormerController(new ApiServerStore({ connection, clock }));
    workspace = new Workspace(join(world.folder, "workspace"));
    world.start();
    writeKubeconfig(join(world.folder, "runners/tofu.kubeconfig"), world.server);
  });
  afterAll(async () => {
    await world.close();
    for (const each of undo) each();
  });

  /** A module that lies where OpenTofu of tofu-controller worked on it. */
  async function moduleOf(name: string, resources: readonly string[]): Promise<TofuModule> {
    const files = workspace.files(resources.map((each) => ({ name: `${name}-${each}` })));
    const folder = join(world.folder, `former/runs/${name}/work`);
    return tofuModule(folder, files["main.tf"] ?? "");
  }
  const accessTo = ({ name, namespace, secret }: StateId): StateAccess => {
    const configPath = join(world.folder, "runners/tofu.kubeconfig");
    const where = { secretSuffix: secret?.suffix ?? name, inCluster: false, configPath, namespace };
    return { backend: kubernetesBackendText({ ...where, labels: {} }), env: {} };
  };
  /** The source's revision, and a last look that was long ago. */
  async function sourceOf(name: string, resources: readonly string[]): Promise<At> {
    const all = resources.map((each) => ({ name: `${name}-${each}` }));
    return { revision: await world.commit(name, workspace.files(all)), time: LONG_AGO };
  }
  /** An object and its state, which has these resources. */
  async function applied(
    name: string,
    left: Partial<Left> = {},
    state = stateAt(name, { namespace: TEAM }),
  ) {
    const at = await sourceOf(name, ["a"]);
    const module = await moduleOf(name, ["a"]);
    const access = accessTo(state);
    await module.run(access, "init");
    if (state.workspace !== "default")
      await module.run(access, "workspace", "new", state.workspace);
    await module.run(access, "apply", "-auto-approve");
    const object = await former.object({
      ...{ name, namespace: TEAM, status: formerStatus.applied(at) },
      ...left,
      spec: {
        ...{ sourceRef: { kind: "GitRepository", name }, approvePlan: "auto", interval: "1h" },
        retryInterval: "2s",
        ...left.spec,
      },
    });
    return { at, object, state, module, before: await kept(state) };
  }
  const kept = async (state: StateId) => ({
    secret: await former.tofu.secret(state),
    lease: await former.tofu.lease(state),
  });
  const counts = (name: string) =>
    Object.fromEntries(Object.entries(workspace.actions()).filter(([each]) => each.includes(name)));
  const once = (name: string) => ({ [`create terraform_data.${name}-a`]: 1 });
  const ready = (name: string) => world.condition(name, "Ready");
  const isReady = (name: string) =>
    until(
      () => world.terraform(name),
      ({ status }) =>
        status?.lastRun !== undefined &&
        status.run === undefined &&
        status.conditions?.some((each) => each.type === "Ready" && each.status === "True") === true,
      60_000,
    );
  const says = (name: string, text: string) =>
    until(
      () => ready(name),
      (found) => found?.message.includes(text) === true,
      60_000,
    );
  const isGone = (name: string) =>
    until(
      () =>
        world.get(`/apis/infra.contrib.fluxcd.io/v1alpha2/namespaces/${TEAM}/terraforms/${name}`),
      (found) => found === undefined,
      60_000,
    );

  test("applied: no change is planned, nothing applied, and nothing of it written", async () => {
    const { before, state } = await applied("net");
    const object = await isReady("net");
    expect(object.status?.lastRun).toMatchObject({ operation: "plan", message: "No changes" });
    expect(counts("net")).toEqual(once("net"));
    const after = await kept(state);
    expect(after.secret).toEqual(before.secret);
    expect(after.lease?.metadata.uid).toBe(before.lease?.metadata.uid);
    expect(after.lease?.spec?.holderIdentity).toBeUndefined();
    expect(object.status?.state).toMatchObject({ present: true, resources: 1 });
    const log = JSON.stringify(world.log(1));
    expect(log).not.toContain("forbidden");
  });

  test("applied, in a workspace and a Secret of its own naming", async () => {
    const state = stateAt("odd", {
      namespace: TEAM,
      workspace: "dev",
      secret: { suffix: "shared" },
    });
    const backendConfig = { secretSuffix: "shared", inClusterConfig: true };
    const spec = { workspace: "dev", backendConfig };
    const { before } = await applied("odd", { spec }, state);
    const object = await isReady("odd");
    expect(object.status?.lastRun?.message).toBe("No changes");
    expect((await kept(state)).secret).toEqual(before.secret);
    expect(await kept(stateAt("odd", { namespace: TEAM }))).toEqual({});
    expect(counts("odd")).toEqual(once("odd"));
  });

  test("a plan that waits is made anew in truth; either controller can carry it out", async () => {
    const at = await sourceOf("wait", ["a"]);
    const module = await moduleOf("wait", ["a"]);
    const state = stateAt("wait", { namespace: TEAM });
    await module.run(accessTo(state), "init");
    await module.run(accessTo(state), "plan", "-out=tfplan");
    const object = await former.object({
      ...{ name: "wait", namespace: TEAM, status: formerStatus.pending(at) },
      spec: { sourceRef: { kind: "GitRepository", name: "wait" }, approvePlan: planIdAt(at) },
    });
    await former.plan(object, planIdAt(at), readFileSync(join(module.folder, "tfplan")));
    const shown = await until(
      () => world.terraform("wait"),
      ({ status }) => status?.plan?.digest !== undefined && status.run === undefined,
      60_000,
    );
    // It had been approved, and what was approved is not what there is now.
    const pending = shown.status?.plan?.pending ?? "";
    expect(pending.startsWith(`${planIdAt(at)}-`)).toBe(true);
    expect(counts("wait")).toEqual({});
    const file = await former.loadPlan(shown);
    writeFileSync(join(module.folder, "ours"), file ?? "");
    expect(await module.run(accessTo(state), "show", "ours")).toContain("1 to add");
    await change("wait", (each) => {
      each.spec.approvePlan = pending;
    });
    await isReady("wait");
    expect(counts("wait")).toEqual(once("wait"));
    expect((await world.terraform("wait")).status?.plan?.lastApplied).toBe(pending);
  });

  test("and back: a plan of Nigari's is one that tofu-controller's OpenTofu applies", async () => {
    const at = await sourceOf("back", ["a"]);
    const state = stateAt("back", { namespace: TEAM });
    const module = await moduleOf("back", ["a"]);
    await module.run(accessTo(state), "init");
    const sourceRef = { kind: "GitRepository", name: "back" } as const;
    await former.object({ name: "back", namespace: TEAM, spec: { sourceRef } });
    const { status } = await until(
      () => world.terraform("back"),
      (each) => each.status?.plan?.digest !== undefined && each.status.run === undefined,
      60_000,
    );
    expect(status?.plan?.pending).toBe(planIdAt(at));
    writeFileSync(
      join(module.folder, "tfplan"),
      (await former.loadPlan(await world.terraform("back"))) ?? "",
    );
    await module.run(accessTo(state), "apply", "tfplan");
    expect(counts("back")).toEqual(once("back"));
  });

  test("the lock of a plan whose pod is gone is released; a stranger's is named", async () => {
    const plan = { who: "runner@stale-tf-runner", operation: "OperationTypePlan" };
    const stale = stateAt("stale", { namespace: TEAM });
    await suspended("stale");
    await former.tofu.takeLock(stale, { id: "l-stale", ...plan });
    await go("stale");
    await isReady("stale");
    expect((await kept(stale)).lease?.spec?.holderIdentity).toBeUndefined();
    expect(counts("stale")).toEqual(once("stale"));

    const held = stateAt("held", { namespace: TEAM });
    await suspended("held");
    await former.tofu.takeLock(held, { id: "l-held", who: "me@laptop" });
    await go("held");
    await says("held", "State is locked by me@laptop since 2026-01-01T00:00:00.123456789Z (apply");
    expect((await kept(held)).lease?.spec?.holderIdentity).toBe("l-held");
    expect((await world.terraform("held")).status?.lock?.pending).toBe("l-held");
    await former.tofu.returnLock(held, "l-held");
    await isReady("held");
    expect(counts("held")).toEqual(once("held"));
  });

  test("drift is repaired once", async () => {
    const { state, before } = await applied("drift", { spec: { suspend: true } });
    const at = await sourceOf("drift", ["a", "b"]);
    await setStatus("drift", formerStatus.drifted(at));
    await go("drift");
    const object = await isReady("drift");
    expect(counts("drift")).toEqual({
      ...once("drift"),
      "create terraform_data.drift-b": 1,
    });
    expect((await kept(state)).secret?.metadata.uid).toBe(before.secret?.metadata.uid);
    expect(object.status?.state).toMatchObject({ resources: 2 });
  });

  test("a state that has vanished is not made anew", async () => {
    const { state } = await applied("lost", { spec: { suspend: true } });
    const { namespace, secret } = { namespace: TEAM, secret: "tfstate-default-lost" };
    const call = { signal: new AbortController().signal };
    await former.store.delete({ kind: "Secret", namespace, name: secret }, {}, call);
    await go("lost");
    const found = await says("lost", "has vanished");
    // A pass may have seen it before it went, and then knows it by its serial.
    expect(found?.message).toMatch(
      /Known was (one that was applied before|serial 2 of lineage .*); there is none/,
    );
    expect(counts("lost")).toEqual(once("lost"));
    expect((await kept(state)).secret).toBeUndefined();
  });

  test("a state that a newer OpenTofu wrote is not planned on until runners have it", async () => {
    const { state } = await suspended("newer");
    const text = (await former.tofu.read(state)) ?? "";
    const newer = { ...JSON.parse(text), terraform_version: "1.99.0" };
    await former.tofu.write(state, JSON.stringify(newer));
    await go("newer");
    const found = await says("newer", "The state was written by version 1.99.0, and runners");
    expect(found?.message).toContain("have 1.12.6, which could lose what it does not know");
    expect(JSON.parse((await former.tofu.read(state)) ?? "")).toEqual(newer);
    await former.tofu.write(state, text);
    await isReady("newer");
    expect(counts("newer")).toEqual(once("newer"));
  });

  test("a deletion waits for the dependant, and tofu-controller's marks go with it", async () => {
    const finalizers = ["tf.dependency.of.web"];
    const { before, state } = await applied("base", { finalizers });
    await applied("web", { spec: { dependsOn: [{ name: "base" }] } });
    await isReady("base");
    await isReady("web");
    await remove("base");
    await says("base", `Please delete ${TEAM}/web to resume`);
    expect((await world.terraform("base")).metadata.finalizers).toEqual([FINALIZER, ...finalizers]);
    await remove("web");
    await isGone("web");
    await isGone("base");
    expect((await kept(state)).secret).toEqual(before.secret);
    expect(counts("base")).toEqual(once("base"));
  });

  test("a deletion that destroys empties the state, and leaves it where it was", async () => {
    const { state, before } = await applied("doom", { spec: { destroyResourcesOnDeletion: true } });
    await remove("doom");
    await isGone("doom");
    expect(counts("doom")).toEqual({ ...once("doom"), "destroy terraform_data.doom-a": 1 });
    const { secret } = await kept(state);
    expect(secret?.metadata.uid).toBe(before.secret?.metadata.uid);
    expect(JSON.parse((await former.tofu.read(state)) ?? "")).toMatchObject({ resources: [] });
  });

  test("a run of Nigari's that was killed leaves a lock that is known for its own", async () => {
    const name = "killed";
    await world.commit(name, workspace.files([{ name: `${name}-a`, gated: true }]));
    await world.create(name);
    await until(
      () => counts(name),
      (found) => Object.keys(found).length === 1,
      60_000,
    );
    const door = kubernetesStates(former.store, { runOfHost: undefined });
    const state = stateAt(name, { namespace: TEAM });
    const lock = await door.lock(state, { signal: new AbortController().signal });
    const { run } = (await world.terraform(name)).status ?? {};
    expect(lock).toMatchObject({ operation: "OperationTypeApply", runId: run?.id });
    await killRun(world.folder, run?.id ?? "");
    await until(
      () => kept(state),
      ({ lease }) => lease?.spec?.holderIdentity === undefined,
      60_000,
    );
    expect(counts(name)).toEqual(once(name));
  });

  /** An applied object that nobody looks at yet. */
  const suspended = (name: string) => applied(name, { spec: { suspend: true } });
  const change = (name: string, how: (object: Terraform) => void) =>
    world.change(name, (object) => {
      how(object);
      return object;
    });
  const go = (name: string) =>
    change(name, (object) => {
      object.spec.suspend = false;
    });
  async function setStatus(name: string, status: NonNullable<Terraform["status"]>) {
    await former.status(await world.terraform(name), status);
  }
  async function remove(name: string): Promise<void> {
    const call = { signal: new AbortController().signal };
    await former.store.delete({ kind: "Terraform", namespace: TEAM, name }, {}, call);
  }
});

/** Everything of the run at once, as if its machine had lost power. */
async function killRun(folder: string, runId: string): Promise<void> {
  const run = runFolder(join(folder, "runners/runs", runId));
  for (const pid of await livingOf(run)) process.kill(pid, "SIGKILL");
}
