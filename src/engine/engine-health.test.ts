import { describe, expect, test } from "vitest";
import { createRegistry } from "../adapters/system/meters.ts";
import { terraformOf } from "../testing/simulation/objects.ts";
import { World, type WorldOptions } from "../testing/simulation/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function begin(options: WorldOptions = {}) {
  const world = new World(options);
  await world.source();
  await world.apply(terraformOf({ approvePlan: "auto" }));
  const { engine } = await world.start();
  const causes = () => engine.health().map(({ cause }) => cause);
  return { world, engine, causes };
}

describe("a whole engine", () => {
  test("is well through an apply of an hour, its passes and its rest", async () => {
    const { world, engine, causes } = await begin({
      script: () => ({ stageMs: { apply: HOUR } }),
    });
    await world.untilStage("apply");
    for (let minutes = 0; minutes < 60; minutes += 10) {
      await world.clock.advance(10 * MINUTE);
      expect(causes()).toEqual([]);
    }
    await world.clock.advance(5 * MINUTE);
    expect(world.effects()).toEqual({ "create default/app terraform_data.one": 1 });
    expect(causes()).toEqual([]);
    expect(engine.unready()).toBeUndefined();
    await engine.stop();
    expect(engine.unready()).toBe("The engine is stopping");
  });

  test("is well while its runners die: that is work, not trouble of its own", async () => {
    const { world, causes } = await begin({ script: () => ({ stageMs: { plan: 5 * MINUTE } }) });
    world.platform.killRunner(await world.untilStage("plan"));
    for (let looks = 0; looks < 20; looks += 1) {
      await world.clock.advance(15_000);
      expect(causes()).toEqual([]);
    }
  });

  test("is well after the wall clock jumped by a day, and when the machine slept", async () => {
    const { world, causes } = await begin();
    await world.untilReady();
    world.clock.jump(24 * HOUR);
    expect(causes()).toEqual([]);
    await world.clock.advance(5 * MINUTE);
    expect(causes()).toEqual([]);
  });

  test.each(["fail", "hang"] as const)("is stuck while its store's calls %s", async (how) => {
    const { world, causes } = await begin();
    await world.untilReady();
    world.faults.onCall = ({ kind }) => {
      if (kind === "Event") return undefined;
      return how === "fail" ? { fail: "Unavailable" } : { hang: true };
    };
    await world.edit("app", (each) => {
      each.spec.path = "./other";
    });
    await world.clock.advance(30_000);
    expect(causes()).toEqual([]);
    await world.clock.advance(3 * MINUTE);
    expect(causes()).toEqual(["store"]);
    world.faults.onCall = () => undefined;
    await world.clock.advance(4 * MINUTE);
    expect(causes()).toEqual([]);
  });

  test("says when its loop is late", async () => {
    const { world, causes } = await begin();
    await world.untilReady();
    world.clock.setLag(6_000);
    expect(causes()).toEqual(["event-loop"]);
    world.clock.setLag(0);
    expect(causes()).toEqual([]);
  });
});

test("what it does is counted: passes, stages, a lost run and the way back from it", async () => {
  const meters = createRegistry();
  const world = new World({ meters, script: () => ({ stageMs: { plan: 20_000 } }) });
  await world.source();
  await world.apply(terraformOf({ approvePlan: "auto" }));
  const { engine } = await world.start();
  world.platform.killRunner(await world.untilStage("plan"));
  await world.untilReady();
  const text = meters.text(engine.gauges());
  const value = (series: string) => {
    const line = text.split("\n").find((each) => each.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length + 1));
  };
  expect(value('nigari_runs_started_total{operation="plan"}')).toBeGreaterThanOrEqual(2);
  expect(value('nigari_run_verdicts_total{operation="plan",verdict="dead"}')).toBe(1);
  expect(value('nigari_recovery_duration_seconds_count{operation="plan"}')).toBe(1);
  expect(value('nigari_run_outcomes_total{operation="apply",outcome="applied"}')).toBe(1);
  const plan = 'nigari_stage_duration_seconds_sum{operation="plan",stage="plan"}';
  expect(value(plan)).toBeGreaterThan(15);
  const passes =
    'gotk_reconcile_duration_seconds_count{kind="Terraform",name="app",namespace="default"}';
  expect(value(passes)).toBeGreaterThan(3);
  const ready =
    'gotk_reconcile_condition{kind="Terraform",name="app",namespace="default",type="Ready"';
  expect(value(`${ready},status="True"}`)).toBe(1);
  expect(value(`${ready},status="False"}`)).toBe(0);
  expect(value("nigari_run_slots")).toBe(4);
  await world.remove("Terraform", "app");
  await world.clock.advance(60_000);
  expect(meters.text(engine.gauges())).not.toContain('name="app"');
});
