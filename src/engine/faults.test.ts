import { describe, expect, test } from "vitest";
import type { Terraform } from "../api/terraform.ts";
import { RunnerError } from "../ports/runner.ts";
import { terraformOf } from "../testing/simulation/objects.ts";
import { World, type WorldOptions } from "../testing/simulation/world.ts";

const ONE = { "create default/app terraform_data.one": 1 };
const slowApply = { script: () => ({ stageMs: { apply: 20_000 } }) };

/** An object in auto mode and an engine that is at work on it. */
async function begin(options: WorldOptions = {}): Promise<World> {
  const world = new World(options);
  await world.source();
  await world.apply(terraformOf({ approvePlan: "auto" }));
  await world.start();
  return world;
}
function condition(terraform: Terraform, type: string) {
  return terraform.status?.conditions?.find((each) => each.type === type);
}
/** Milliseconds until something holds, looked at every 50 ms. */
async function timed(world: World, what: string, holds: () => Promise<boolean>): Promise<number> {
  const beganMs = world.clock.monotonic();
  await world.until(what, holds);
  return world.clock.monotonic() - beganMs;
}
const run = async (world: World) => (await world.terraform()).status?.run;

describe("a runner that dies", () => {
  test("is told of within a second, and the next init is under way soon", async () => {
    const world = await begin({ script: () => ({ stageMs: { init: 3_000 } }) });
    const runId = await world.untilStage("init");
    world.platform.killRunner(runId);
    const truthMs = await timed(world, "the status tells it", async () => {
      const found = await run(world);
      return found?.id !== runId || found.verdict === "dead" || found.verdict === "unreachable";
    });
    expect(truthMs).toBeLessThanOrEqual(1_000);
    const nextMs = await timed(world, "the next init", async () => {
      const found = await run(world);
      return found?.id !== runId && found?.stage === "init";
    });
    expect(nextMs).toBeLessThanOrEqual(15_000);
    await world.untilReady();
    expect(world.effects()).toEqual(ONE);
  });

  test("in an apply leaves tofu to finish, and its work is collected", async () => {
    const world = await begin(slowApply);
    const runId = await world.untilStage("apply");
    world.platform.killRunner(runId);
    await world.clock.advance(10_000);
    expect((await run(world))?.id).toBe(runId);
    await world.untilReady();
    expect(world.effects()).toEqual(ONE);
    expect(world.door.revoked).toContain(runId);
  });

  test("with tofu, in an apply: nothing goes on before a person has looked", async () => {
    const world = await begin(slowApply);
    const runId = await world.untilStage("apply");
    world.platform.killWorkers(runId);
    await world.until("it stalls", async () => {
      return condition(await world.terraform(), "Stalled")?.status === "True";
    });
    await world.clock.advance(600_000);
    const terraform = await world.terraform();
    expect(condition(terraform, "Stalled")?.reason).toBe("RunResultUnknown");
    expect(terraform.status?.lastRun?.unrecorded ?? terraform.status?.held?.resources).toContain(
      "terraform_data.one",
    );
    expect(world.effects()).toEqual(ONE);
  });

  test("and leaves no trace, in an apply: the apply is not sent again", async () => {
    const world = await begin(slowApply);
    const runId = await world.untilStage("apply");
    world.platform.vanish(runId);
    await world.until("it stalls", async () => {
      return condition(await world.terraform(), "Stalled")?.status === "True";
    });
    await world.clock.advance(600_000);
    expect(world.effects()).toEqual(ONE);
  });

  test("because the machine was started anew: plans begin again", async () => {
    const world = await begin({ script: () => ({ stageMs: { plan: 5_000 } }) });
    await world.untilStage("plan");
    world.platform.reboot();
    await world.untilReady();
    expect(world.effects()).toEqual(ONE);
  });
});

describe("a runner that is frozen", () => {
  test("is called unreachable within ten seconds, and its plan is ended", async () => {
    const world = await begin({ script: () => ({ stageMs: { init: 60_000 } }) });
    const runId = await world.untilStage("init");
    world.platform.freeze(runId);
    const ms = await timed(
      world,
      "it is unreachable",
      async () => (await run(world))?.verdict === "unreachable",
    );
    expect(ms).toBeLessThanOrEqual(10_000);
    const endedMs = await timed(world, "it is ended", async () => (await run(world))?.id !== runId);
    expect(endedMs).toBeLessThanOrEqual(40_000);
    await world.untilReady("app", 300_000);
    expect(world.effects()).toEqual(ONE);
    expect(world.bugs).toEqual([]);
  });

  test("and thaws is believed again", async () => {
    const world = await begin({ script: () => ({ stageMs: { init: 30_000 } }) });
    const runId = await world.untilStage("init");
    world.platform.freeze(runId);
    await world.clock.advance(15_000);
    world.platform.thaw(runId);
    await world.clock.advance(5_000);
    expect(await run(world)).toMatchObject({ id: runId, verdict: "alive" });
    await world.untilReady();
  });

  test("is not blamed for the time in which the engine itself stood still", async () => {
    const world = await begin({ script: () => ({ stageMs: { init: 60_000 } }) });
    const runId = await world.untilStage("init");
    world.platform.freeze(runId);
    world.clock.setLag(20_000);
    await world.clock.advance(20_000);
    expect((await run(world))?.verdict).toBe("alive");
    world.clock.setLag(0);
    await world.clock.advance(2_000);
    expect((await run(world))?.verdict).toBe("unreachable");
  });

  test("is not blamed for a source that does not come", async () => {
    const world = await begin();
    world.artifactFate = () => "hang";
    const verdicts = new Set<string>();
    world.onStatus = ({ status }) => verdicts.add(status?.run?.verdict ?? "alive");
    await world.clock.advance(100_000);
    expect([...verdicts]).toEqual(["alive"]);
    world.artifactFate = () => undefined;
    await world.untilReady();
    expect(world.effects()).toEqual(ONE);
  });

  test("before it ever took its order lets an apply be tried again soon", async () => {
    const world = await begin();
    const stored = world.onStatus;
    let mute = "";
    world.onStatus = (after, before) => {
      stored(after, before);
      const { run: intent } = after.status ?? {};
      const first = intent?.operation === "apply" && mute === "";
      if (first) mute = intent.id;
      world.platform.launchMs = intent?.id === mute ? Number.POSITIVE_INFINITY : 50;
    };
    await world.until("the apply is intended", () => mute !== "");
    const ms = await timed(world, "another apply is under way", async () => {
      const found = await run(world);
      return found?.operation === "apply" && found.id !== mute;
    });
    expect(ms).toBeLessThanOrEqual(100_000);
    await world.untilReady();
    expect(world.effects()).toEqual(ONE);
  });

  test("while the source does not come is called unreachable all the same", async () => {
    const world = await begin();
    world.artifactFate = () => "hang";
    await world.clock.advance(5_000);
    const { id = "" } = (await run(world)) ?? {};
    world.platform.freeze(id);
    const ms = await timed(
      world,
      "it is unreachable",
      async () => (await run(world))?.verdict === "unreachable",
    );
    expect(ms).toBeLessThanOrEqual(10_000);
  });

  test("costs a bounded number of calls", async () => {
    const world = await begin(slowApply);
    const runId = await world.untilStage("apply");
    world.platform.freeze(runId);
    const before = world.platform.calls.length;
    await world.clock.advance(60_000);
    expect(world.platform.calls.length - before).toBeLessThan(80);
  });
});

describe("a step that overruns", () => {
  test("before an apply is ended, though its runner does not end it", async () => {
    const world = await begin({ script: () => ({ stageMs: { init: 2_000 } }) });
    const stopped: string[] = [];
    world.platform.world.onStage = (begun, stage) => {
      if (begun.order?.operation !== "apply" || stage !== "init" || stopped.length > 0) return;
      stopped.push(begun.launch.runId);
      begun.ignoresLimits = true;
      begun.stopWorker();
    };
    await world.until("the init stands still", () => stopped.length > 0);
    const gone = async () => (await run(world))?.id !== stopped[0];
    await world.until("it is ended", gone, 660_000);
    await world.untilReady();
    expect(world.effects()).toEqual(ONE);
    expect(world.bugs).toEqual([]);
  });
});

describe("an order that is refused", () => {
  const refusing = async (code: "Refused" | "Superseded") => {
    const world = new World();
    await world.source();
    await world.apply(terraformOf({ approvePlan: "auto" }));
    const refusal = new RunnerError(code, "Start failed: Nothing is started by version 2");
    for (let count = 0; count < 100; count += 1) world.platform.failNext("start", refusal);
    await world.start();
    await world.clock.advance(10_000);
    const { status } = await world.terraform();
    return { world, status };
  };

  test("by its runner again and again is a failure with its reason, within seconds", async () => {
    const { world, status } = await refusing("Refused");
    expect(status?.lastRun).toMatchObject({ outcome: "failed", stage: "launch" });
    expect(status?.lastRun?.message).toContain("The order was refused: Start failed: Nothing is");
    expect(status?.reconciliationFailures).toBe(1);
    expect(world.platform.calls.filter((call) => call.startsWith("start "))).toHaveLength(3);
    expect(await world.platform.list(world.call())).toEqual([]);
    expect(world.bugs).toEqual([]);
  });

  test("because a newer engine has the run is no failure of the object", async () => {
    const { status } = await refusing("Superseded");
    expect(status?.run).toBeDefined();
    expect(status?.reconciliationFailures ?? 0).toBe(0);
  });
});

describe("answers that are lost", () => {
  const unavailable = () => new RunnerError("Unavailable", "The connection broke");
  const cases = ["launch", "hello", "putFile", "start", "watch", "readFile", "remove"] as const;
  test.each(cases)("of %s: the work is done once all the same", async (method) => {
    const world = new World();
    await world.source();
    await world.apply(terraformOf({ approvePlan: "auto" }));
    for (let times = 0; times < 3; times++) {
      world.platform.loseNextAnswer(method);
      world.platform.failNext(method, unavailable());
    }
    await world.start();
    await world.untilReady();
    await world.clock.advance(60_000);
    expect(world.effects()).toEqual(ONE);
    expect(await world.platform.list(world.call())).toEqual([]);
    expect(world.bugs).toEqual([]);
  });

  test("of writes to the store: the work is done once all the same", async () => {
    for (let lost = 1; lost <= 40; lost++) {
      const world = new World();
      await world.source();
      await world.apply(terraformOf({ approvePlan: "auto" }));
      let writes = 0;
      world.faults.onCall = ({ verb }) => {
        if (!["create", "update", "delete"].includes(verb)) return undefined;
        writes += 1;
        return writes === lost ? { loseAnswer: true } : undefined;
      };
      await world.start();
      await world.untilReady();
      expect(world.effects(), `write ${lost}`).toEqual(ONE);
      expect(world.bugs).toEqual([]);
    }
  });
});

describe("what a run leaves", () => {
  test("a state that could not be written is kept before anything else happens", async () => {
    const world = await begin({
      script: ({ operation }) =>
        operation === "apply"
          ? { fail: { stage: "apply" }, files: { "errored.tfstate": "{}" } }
          : {},
    });
    await world.until("it stalls", async () => {
      return condition(await world.terraform(), "Stalled")?.status === "True";
    });
    expect(condition(await world.terraform(), "Stalled")?.reason).toBe("StateRescued");
    expect([...world.door.kept.values()].flat()).toHaveLength(1);
    expect(world.effects()).toEqual(ONE);
  });

  test("its log, each line once, though the engine was killed in the middle", async () => {
    const world = new World(slowApply);
    await world.source();
    await world.apply(terraformOf({ approvePlan: "auto" }));
    const { life } = await world.start();
    const runId = await world.untilStage("apply");
    await world.clock.advance(1_000);
    life.kill();
    await world.clock.advance(5_000);
    await world.start();
    await world.untilReady();
    await world.clock.advance(1_000);
    const lines = await world.logs.read({ namespace: "default", name: "app" }, { runId });
    expect(lines.map(({ text }) => text)).toEqual(
      ["artifact", "init", "workspace", "apply", "outputs"].map((stage) => `${stage} begins`),
    );
  });

  test("nothing of a run that no object names, if it wrote nothing", async () => {
    const world = await begin({ script: () => ({ stageMs: { plan: 20_000 } }) });
    const runId = await world.untilStage("plan");
    await forget(world);
    world.platform.killRunner(runId);
    world.platform.killWorkers(runId);
    await world.start();
    await world.clock.advance(10_000);
    expect(await world.platform.list(world.call())).toEqual([]);
  });

  test("all of a run that no object names, if the world may need it", async () => {
    const world = await begin(slowApply);
    const runId = await world.untilStage("apply");
    await forget(world);
    world.platform.killWorkers(runId);
    await world.start();
    await world.clock.advance(60_000);
    expect(await world.platform.list(world.call())).toEqual([runId]);
    const reports = world.lines.filter((line) => line.includes(runId) && line.includes(" warn "));
    expect(reports).toHaveLength(1);
  });

  test("nothing of a lost apply that its object has gone on from", async () => {
    const world = await begin(slowApply);
    const runId = await world.untilStage("apply");
    let isOver = false;
    world.afterDecision = ({ terraform }, { status }) => {
      isOver ||= terraform.status?.run !== undefined && status.run === undefined;
    };
    // The status is stored, and the answer lost: what was to follow is not done.
    world.faults.onCall = ({ verb }) => {
      if (!isOver || verb !== "update") return undefined;
      world.faults.onCall = () => undefined;
      return { loseAnswer: true };
    };
    world.platform.killWorkers(runId);
    world.platform.killRunner(runId);
    await world.until("it stalls", async () => {
      return condition(await world.terraform(), "Stalled")?.status === "True";
    });
    expect(await world.platform.list(world.call())).toContain(runId);
    await world.clock.advance(600_000);
    expect(await world.platform.list(world.call())).toEqual([]);
  });

  test("a run that no object names ends in peace before it is removed", async () => {
    const world = await begin(slowApply);
    await world.untilStage("apply");
    await forget(world);
    await world.start();
    await world.clock.advance(10_000);
    expect(await world.platform.list(world.call())).toHaveLength(1);
    await world.clock.advance(60_000);
    expect(await world.platform.list(world.call())).toEqual([]);
    expect(world.effects()).toEqual(ONE);
  });
});

/** The engine is gone, and somebody takes the object away by force. */
async function forget(world: World): Promise<void> {
  world.leadership.lose();
  await world.edit("app", ({ metadata }) => {
    metadata.finalizers = [];
  });
  await world.remove("Terraform", "app");
}
