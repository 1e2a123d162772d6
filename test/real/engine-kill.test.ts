import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { EngineWorld } from "../../src/testing/harness/engine-world.ts";
import { leaksOf, openToOthers } from "../../src/testing/harness/secrecy.ts";
import type { Subject } from "../../src/testing/harness/subject.ts";
import { Truths, tellsLoss } from "../../src/testing/harness/truth.ts";
import { until, type Victim } from "../../src/testing/harness/victims.ts";

// SIGKILL of the runner, of the engine, of both, in each stage of a run, with a whole engine as a
// process. All stages go side by side in one engine, each with an object of its own. Stages are
// held by files, so that no test hopes for its moment; what was done is judged by what the
// resources themselves wrote down.

const stages = ["artifact", "init", "plan", "apply", "outputs", "destroy"] as const;
type StageName = (typeof stages)[number];

/** From the SIGKILL in init until the new attempt's init is under way. */
const AGAIN_MS = 15_000;
const resources = [
  { name: "first" },
  { name: "slow", gated: true },
  { name: "last", destroyGated: true },
];
const truths = new Truths();

let world: EngineWorld;
beforeEach(() => {
  world = new EngineWorld();
});
afterEach(() => world.close());
afterAll(() => {
  process.stdout.write(`${truths.text}\n`);
});

interface Cell {
  readonly stage: StageName;
  readonly subject: Subject;
  /** The run that is held in the stage. */
  readonly runId: string;
  readonly runner: Victim;
}

/** An object for each stage, not yet wanted. */
function addAll(victim: string): Map<StageName, Subject> {
  return new Map(
    stages.map((stage) => {
      const spec = stage === "destroy" ? { destroyResourcesOnDeletion: true } : {};
      const padded = stage === "artifact";
      const subject = world.add(`${victim}-${stage}`, { resources, spec, padded });
      if (stage === "init" || stage === "plan") subject.hold(stage);
      if (stage === "outputs") subject.hold("output");
      if (stage !== "apply") subject.workspace.passGate("slow");
      return [stage, subject];
    }),
  );
}

/** Waits until the object's run is held in its stage. */
async function reach(stage: StageName, subject: Subject): Promise<Cell> {
  switch (stage) {
    case "artifact":
      await frozenInArtifact(subject);
      break;
    case "init":
    case "plan":
      await subject.begun(stage);
      break;
    case "apply":
      await subject.effect("slow");
      break;
    case "outputs":
      await subject.begun("output");
      break;
    case "destroy":
      await subject.settled();
      await world.remove(subject);
      await subject.effect("last", "destroy");
      break;
  }
  const held = stage === "destroy" ? "apply" : stage;
  await until(`${subject.name} is held in ${held}`, () => subject.stage() === held);
  return { stage, subject, runId: subject.runId(), runner: subject.runner() };
}

/** Nothing holds a runner in artifact but its work; so it is stopped there. */
async function frozenInArtifact(subject: Subject): Promise<void> {
  const inArtifact = () => subject.run !== undefined && subject.stage() === "artifact";
  await until(`${subject.name} is in artifact`, inArtifact, 90_000);
  await subject.runner().freeze();
}

async function reachAll(subjects: ReadonlyMap<StageName, Subject>): Promise<Cell[]> {
  return await Promise.all([...subjects].map(([stage, subject]) => reach(stage, subject)));
}

/** Lets go of whatever holds the object's runs. */
function release({ stage, subject, runner }: Cell): void {
  if (stage === "init" || stage === "plan") subject.letGo(stage);
  if (stage === "outputs") subject.letGo("output");
  if (stage === "artifact" && runner.lives()) runner.thaw();
  subject.workspace.passGate("slow");
  subject.workspace.passGate("destroy-last");
}

/** Whatever was killed: all of it was done, once, and the object is what it should be. */
async function endsWell(cell: Cell): Promise<void> {
  const { stage, subject } = cell;
  const { workspace } = subject;
  const addresses = resources.map(({ name }) => workspace.address(name)).sort();
  const once = (action: string) => addresses.map((address) => [`${action} ${address}`, 1]);
  if (stage === "destroy") {
    await subject.gone();
    const done = Object.fromEntries([...once("create"), ...once("destroy")]);
    expect(workspace.actions(), subject.name).toEqual(done);
    const state = await world.state(subject.name);
    expect(state, subject.name).toMatchObject({ resources: [], locked: false, aside: 0 });
    return;
  }
  const { object } = await subject.settled();
  expect(workspace.actions(), subject.name).toEqual(Object.fromEntries(once("create")));
  expect(await world.state(subject.name), subject.name).toMatchObject({
    resources: addresses,
    tainted: [],
    locked: false,
    aside: 0,
  });
  expect(object.status?.lastAppliedRevision, subject.name).toBeDefined();
  expect(object.status?.lostRuns ?? 0, subject.name).toBe(0);
  const secret = { kind: "Secret", namespace: "default", name: `${subject.name}-outputs` } as const;
  const outputs = await world.client.store.get(secret, world.call());
  expect(Object.keys(outputs?.data ?? {}).sort(), subject.name).toEqual(["last", "secret"]);
}

async function allEndWell(cells: readonly Cell[]): Promise<void> {
  await Promise.all(cells.map((cell) => endsWell(cell)));
  await world.untilQuiet();
  expect(openToOthers(world)).toEqual([]);
  expect(await leaksOf(world)).toEqual([]);
  expect(world.bugs()).toEqual([]);
}

/** Kills the runner; the object tells it at once. */
async function killRunner({ stage, subject, runId, runner }: Cell): Promise<number> {
  const told = subject.when("the loss is told", (object) => tellsLoss(object, runId));
  const killedMs = performance.now();
  await runner.kill();
  truths.add(`runner killed in ${stage}`, (await told).atMs - killedMs);
  return killedMs;
}

/** The engine's next look finds what was added. */
async function wanted(): Promise<void> {
  world.estate.commit();
  if (!(await world.answers())) await world.start();
}

function cellOf(cells: readonly Cell[], stage: StageName): Cell {
  const found = cells.find((cell) => cell.stage === stage);
  if (found === undefined) throw new Error(`No object is in ${stage}`);
  return found;
}

describe("SIGKILL", () => {
  test("of the runner, in every stage", async () => {
    const subjects = addAll("runner");
    await wanted();
    const cells = await Promise.all(
      [...subjects].map(async ([stage, subject]) => {
        const cell = await reach(stage, subject);
        const killedMs = await killRunner(cell);
        if (stage === "init") {
          await subject.begun("init", 2);
          expect(performance.now() - killedMs).toBeLessThan(AGAIN_MS);
        }
        if (stage === "apply") {
          expect(subject.ready).toMatch(/tofu goes on and is watched.*processes? lives?\)/);
        }
        release(cell);
        return cell;
      }),
    );
    await allEndWell(cells);
    expect(truths.late).toEqual([]);
  });

  test("of the engine, in every stage: the runs go on and are found again", async () => {
    const subjects = addAll("engine");
    await wanted();
    const cells = await reachAll(subjects);
    await world.kill();
    // While nobody looks they go on: to the door of their state at most, and wait there.
    const { subject: artifact, runId: extracting } = cellOf(cells, "artifact");
    artifact.hold("init");
    for (const cell of cells) release(cell);
    const inInit = () => artifact.stage(extracting) === "init";
    await until(`${artifact.name} is in init`, inInit, 60_000);
    const answersMs = await world.start();
    await Promise.all(
      cells.map(async ({ stage, subject, runId }) => {
        const told = await subject.when("its stage is told", ({ status }) => {
          const { run, lastRun } = status ?? {};
          if (lastRun?.id === runId) return lastRun.outcome === "succeeded";
          return run?.verdict === "alive" && run.stage === subject.stage(runId);
        });
        truths.add(`engine killed in ${stage}`, told.atMs - answersMs);
      }),
    );
    artifact.letGo("init");
    await allEndWell(cells);
    const { items } = await world.client.store.list("Event", {}, world.call());
    expect(items.filter(({ reason }) => reason === "RunnerLost")).toEqual([]);
    expect(truths.late).toEqual([]);
  });

  test("of the engine and all runners at once, in every stage", async () => {
    const subjects = addAll("both");
    await wanted();
    const cells = await reachAll(subjects);
    const killing = world.kill();
    for (const { runner } of cells) await runner.kill();
    await killing;
    const answersMs = await world.start();
    await Promise.all(
      cells.map(async ({ stage, subject, runId }) => {
        const told = await subject.when("the loss is told", (each) => tellsLoss(each, runId));
        truths.add(`engine and runner killed in ${stage}`, told.atMs - answersMs);
      }),
    );
    for (const cell of cells) release(cell);
    await allEndWell(cells);
    expect(truths.late).toEqual([]);
  });
});
