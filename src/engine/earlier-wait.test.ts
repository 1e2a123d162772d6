import { describe, expect, test } from "vitest";
import type { RunStatus } from "../api/terraform.ts";
import { terraformOf } from "../testing/simulation/objects.ts";
import { World, type WorldOptions } from "../testing/simulation/world.ts";
import { earlierWait } from "./earlier-wait.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const INTENDED = Date.parse("2026-01-01T00:00:00Z");
const at = (ms: number) => new Date(INTENDED + ms).toISOString();

function runOf(fields: Partial<RunStatus>): RunStatus {
  const what = { id: "1-a", operation: "plan", reason: "FirstPlan", attempt: 1, epoch: 1 } as const;
  const ground = { generation: 1, revision: "main", artifactDigest: "", inputsDigest: "" };
  const stage = { stage: "launch", stageSince: at(0), verdict: "alive" } as const;
  return { ...what, ...ground, ...stage, intendedAt: at(0), ...fields };
}
const starting = { runner: "starting", workersAlive: 0 } as const;
const running = { runner: "running", workersAlive: 0 } as const;
const nothing = { runner: "unknown", workersAlive: 0 } as const;
const started = { startedAt: at(SECOND), lastSignAt: at(0) } as const;

describe("silence before this engine", () => {
  const rows: Readonly<Record<string, [Partial<RunStatus>, typeof starting | object, number]>> = {
    "of a runner that is brought up counts from its intent": [{}, starting, 20 * SECOND],
    "counts from the last sign, if there was one": [
      { lastSignAt: at(15 * SECOND) },
      starting,
      5 * SECOND,
    ],
    "of one that is up does not: it answers at once, if it is well": [{}, running, 0],
    "of one that is not there does not: it is launched": [{}, nothing, 0],
    "of one that was well does not: nobody listened": [started, running, 0],
    "of one that was unreachable counts, for a half of the patience": [
      { ...started, verdict: "unreachable" },
      running,
      15 * SECOND,
    ],
  };
  test.each(Object.entries(rows))("%s", (_, [fields, platform, expected]) => {
    const wait = earlierWait(runOf(fields), INTENDED + 20 * SECOND);
    expect(wait.silentMs(platform as typeof starting)).toBe(expected);
  });

  test("never makes a verdict by itself, whatever the clock on the wall says", () => {
    const late = earlierWait(runOf({}), INTENDED + 480 * MINUTE);
    expect(late.silentMs(starting)).toBe(52 * SECOND);
    expect(earlierWait(runOf({}), INTENDED - MINUTE).silentMs(starting)).toBe(0);
  });
});

describe("the time of a stage before this engine", () => {
  const plan = runOf({ ...started, stage: "plan", stageSince: at(MINUTE) });
  const rows: Readonly<Record<string, [Partial<RunStatus>, number]>> = {
    "counts from its begin": [{}, 4 * MINUTE],
    "counts from its deadline, which has moved with what was not watched": [
      { stageDeadline: at(33 * MINUTE) },
      2 * MINUTE,
    ],
    "is its limit at most": [{ stageSince: at(-480 * MINUTE) }, 30 * MINUTE],
    "is none where there is no limit": [{ stage: "apply" }, 0],
  };
  test.each(Object.entries(rows))("%s", (_, [fields, expected]) => {
    expect(earlierWait({ ...plan, ...fields }, INTENDED + 5 * MINUTE).stageMs).toBe(expected);
  });
});

describe("under an engine that is killed again and again", () => {
  async function begin(options: WorldOptions = {}, launchMs = 50) {
    const world = new World(options);
    world.platform.launchMs = launchMs;
    await world.source();
    await world.apply(terraformOf({ approvePlan: "auto" }));
    const { life } = await world.start();
    return { world, life };
  }
  /** Kills the engine every so often, until the object's run is another one. */
  async function untilGivenUp(world: World, first: { kill(): void }, everyMs: number) {
    const runId = (await world.terraform()).status?.run?.id;
    const beganMs = world.clock.monotonic();
    let life = first;
    while ((await world.terraform()).status?.run?.id === runId) {
      await world.clock.advance(everyMs);
      life.kill();
      life = (await world.start()).life;
      if (world.clock.monotonic() - beganMs > 60 * MINUTE) throw new Error(`${runId} goes on`);
    }
    return world.clock.monotonic() - beganMs;
  }

  test("a runner that never comes up is given up", async () => {
    const { world, life } = await begin({}, Number.POSITIVE_INFINITY);
    await world.untilStage("launch");
    expect(await untilGivenUp(world, life, 50 * SECOND)).toBeLessThanOrEqual(100 * SECOND);
  });

  test("a plan is ended whose runner is frozen", async () => {
    const { world, life } = await begin({ script: () => ({ stageMs: { plan: 10 * SECOND } }) });
    world.platform.freeze(await world.untilStage("plan"));
    expect(await untilGivenUp(world, life, 25 * SECOND)).toBeLessThanOrEqual(75 * SECOND);
  });

  test("a step is ended that its runner does not end", async () => {
    const { world, life } = await begin({ script: () => ({ stageMs: { init: 10 * SECOND } }) });
    const run = world.platform.run(await world.untilStage("init"));
    run.stopWorker();
    run.ignoresLimits = true;
    expect(await untilGivenUp(world, life, 4 * MINUTE)).toBeLessThanOrEqual(12 * MINUTE);
  });
});
