import { describe, expect, test } from "vitest";
import { type Stage, stages, type TerraformSpec } from "../api/terraform.ts";
import type { StartOrder } from "../ports/runner.ts";
import type { RunScript } from "../testing/fakes/fake-run.ts";
import { Life } from "../testing/fakes/mortal.ts";
import { terraformOf } from "../testing/simulation/objects.ts";
import { World } from "../testing/simulation/world.ts";

/** Calls that change the world. Between two of them a crash makes no difference. */
const WRITES = new RegExp(
  [
    "^(store\\.(create|update|delete)|platform\\.(launch|signal|remove)",
    "|platform\\.connect\\.\\w+|door\\.(access|revoke|release|rescue)|logs\\.append)$",
  ].join(""),
);
const RESOURCES = ["a", "b"];
const EFFECTS = { "create default/app a": 1, "create default/app b": 1 };

type Script = (order: StartOrder, world: World) => RunScript;
const plain: Script = () => ({ resources: RESOURCES, stageMs: { apply: 1_000 } });

/** A world in which one object is to be applied; every order that was begun is noted. */
async function prepare(script: Script, spec: Partial<TerraformSpec> = {}) {
  const orders: StartOrder[] = [];
  const world: World = new World({
    script: (order) => {
      orders.push(order);
      return script(order, world);
    },
  });
  await world.source();
  const writes = { approvePlan: "auto", writeOutputsToSecret: { name: "out" } };
  await world.apply(terraformOf({ ...writes, ...spec }));
  return { world, orders };
}

/** The same, after the object was applied and deleted: it has to be destroyed. */
async function prepareDestroy() {
  const prepared = await prepare(plain);
  const { engine } = await prepared.world.start();
  await prepared.world.untilReady();
  const stopping = engine.stop();
  await prepared.world.clock.advance(10_000);
  await stopping;
  await prepared.world.edit("app", ({ spec }) => {
    spec.destroyResourcesOnDeletion = true;
  });
  await prepared.world.remove("Terraform", "app");
  return prepared;
}

/** What is left when all has come to rest; times and identities left out. */
async function endState(world: World) {
  const { status } = await world.untilReady("app", 900_000);
  await world.clock.advance(10_000);
  const secrets = (await world.store.list("Secret", {}, world.call())).items;
  return {
    conditions: status?.conditions?.map(({ type, status: value, reason }) => [type, value, reason]),
    applied: status?.lastAppliedRevision,
    plan: status?.plan?.lastApplied?.startsWith("plan-main"),
    run: status?.run,
    failures: status?.reconciliationFailures,
    secrets: secrets.map(({ metadata }) => metadata.name),
    runs: await world.platform.list(world.call()),
    effects: world.effects(),
    bugs: world.bugs,
  };
}

/** Runs until the engine has died at its n-th write; undefined: it made fewer. */
async function crashAt(n: number, when: "before" | "after", { world, orders }: Prepared) {
  const life = new Life();
  let writes = 0;
  let at: string | undefined;
  life.onCall = (call, side) => {
    if (!WRITES.test(call) || side !== when) return;
    writes += 1;
    if (writes !== n) return;
    at = call;
    life.kill();
  };
  await world.start({ life });
  const endMs = world.clock.monotonic() + 30_000;
  while (!life.dead && world.clock.monotonic() < endMs) await world.clock.advance(250);
  if (at === undefined) return undefined;
  await world.clock.advance(2_000);
  await world.start();
  return { at, orders };
}
type Prepared = Awaited<ReturnType<typeof prepare>>;

async function sweep(script: Script, stride = 1): Promise<string[]> {
  const points: string[] = [];
  const faultFree = await prepare(plain);
  await faultFree.world.start();
  const expected = await endState(faultFree.world);
  expect(expected.effects).toEqual(EFFECTS);
  for (const when of ["before", "after"] as const) {
    for (let n = 1; ; n += stride) {
      const prepared = await prepare(script);
      const crash = await crashAt(n, when, prepared);
      if (crash === undefined) break;
      points.push(`${when} ${crash.at}`);
      const where = `crash ${when} write ${n}, ${crash.at}`;
      expect(await endState(prepared.world), where).toEqual(expected);
      const applies = crash.orders.filter(({ operation }) => operation === "apply");
      expect(applies.length, where).toBe(1);
    }
  }
  return points;
}

describe("after an engine that is killed at any write comes one that ends the work", () => {
  test("when all goes well besides", async () => {
    const points = await sweep(plain);
    expect(points.length).toBeGreaterThan(50);
    expect(points).toContain("after platform.connect.start");
  }, 90_000);

  test("when what is there is to be destroyed", async () => {
    const deleted = { "delete default/app a": 1, "delete default/app b": 1 };
    let points = 0;
    for (const when of ["before", "after"] as const) {
      for (let n = 1; ; n += 2) {
        const prepared = await prepareDestroy();
        const crash = await crashAt(n, when, prepared);
        if (crash === undefined) break;
        const { world } = prepared;
        const where = `crash ${when} write ${n}, ${crash.at}`;
        await world.until(where, async () => (await world.get("Terraform", "app")) === undefined);
        await world.clock.advance(60_000);
        expect(world.effects(), where).toEqual({ ...EFFECTS, ...deleted });
        expect((await world.store.list("Secret", {}, world.call())).items, where).toEqual([]);
        expect(await world.platform.list(world.call()), where).toEqual([]);
        expect(world.bugs, where).toEqual([]);
        points += 1;
      }
    }
    expect(points).toBeGreaterThan(20);
  }, 90_000);

  test("when the runner of the first plan dies as well", async () => {
    const dead = new WeakSet<World>();
    let deaths = 0;
    const points = await sweep((order, world) => {
      if (!dead.has(world)) {
        dead.add(world);
        kill(order.runId, "plan", world, () => {
          deaths += 1;
        });
      }
      return { ...plain(order, world), stageMs: { plan: 1_000, apply: 1_000 } };
    }, 3);
    expect(deaths).toBeGreaterThanOrEqual(points.length);
  }, 90_000);
});

describe("a runner that is killed", () => {
  const planStages: Stage[] = ["artifact", "init", "workspace", "plan", "show"];
  const applyStages: Stage[] = ["artifact", "init", "workspace", "apply", "outputs", "health"];
  const checked = { healthChecks: [{ name: "up", type: "tcp" as const, address: "host:1" }] };
  const cases = [
    ...planStages.map((stage) => ["plan", stage] as const),
    ...applyStages.map((stage) => ["apply", stage] as const),
  ];
  test("is tried in every stage but the first and the last", () => {
    const tried = new Set(cases.map(([, stage]) => stage));
    expect(stages.filter((stage) => !tried.has(stage))).toEqual(["launch", "collect"]);
  });

  test.each(cases)("during %s in %s: work is done once", async (operation, stage) => {
    const deaths: string[] = [];
    const { world, orders } = await prepare((order, made) => {
      const first = orders.filter((each) => each.operation === operation).length === 1;
      if (first && order.operation === operation) {
        kill(order.runId, stage, made, () => deaths.push(order.runId));
      }
      return { resources: RESOURCES, stageMs: slow() };
    }, checked);
    await world.start();
    const end = await endState(world);
    expect(deaths).toHaveLength(1);
    expect(end.effects).toEqual(EFFECTS);
    expect(end).toMatchObject({ run: undefined, runs: [], bugs: [] });
  });

  test.each(cases)("during %s in %s together with the engine", async (operation, stage) => {
    const life = new Life();
    const { world, orders } = await prepare((order, made) => {
      const first = orders.filter((each) => each.operation === operation).length === 1;
      if (first && order.operation === operation) {
        kill(order.runId, stage, made, () => life.kill());
      }
      return { resources: RESOURCES, stageMs: slow() };
    }, checked);
    await world.start({ life });
    await world.until("the engine is dead", () => life.dead);
    await world.clock.advance(2_000);
    await world.start();
    const end = await endState(world);
    expect(end.effects).toEqual(EFFECTS);
    expect(end).toMatchObject({ run: undefined, runs: [], bugs: [] });
  });
});

function slow(): Partial<Record<Stage, number>> {
  return Object.fromEntries(stages.map((stage) => [stage, 1_000]));
}

/** Kills the runner in the middle of a stage, apart from any engine. */
function kill(runId: string, stage: Stage, world: World, also: () => void = () => {}): void {
  const { platform, clock } = world;
  async function wait(): Promise<void> {
    const { signal } = new AbortController();
    while (platform.run(runId).stage !== stage) await clock.sleep(50, signal);
    await clock.sleep(500, signal);
    platform.killRunner(runId);
    also();
  }
  wait().catch(() => {});
}
