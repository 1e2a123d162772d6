import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seededRandom } from "../../src/testing/fakes/clock.ts";
import { EngineWorld } from "../../src/testing/harness/engine-world.ts";
import { until } from "../../src/testing/harness/victims.ts";
import { Writer } from "../../src/testing/harness/writer.ts";

// The engine is killed a hundred times, at moments that a seed chooses, some of them before it
// answers; sometimes all runners with it. What was acknowledged is there, and no effect is had
// twice.

const KILLS = 100;
const SEED = 20_260_101;
/** How often an engine is killed while it comes up, and how long others live after that. */
const EARLY = 0.3;
const EARLY_MS = 800;
const LIFE_MS = 500;
const RUNNERS_TOO = 0.1;
const OBJECTS = 3;
/** Of each object, in one change after the other. */
const STEPS = 4;

let world: EngineWorld;
beforeAll(() => {
  world = new EngineWorld();
});
afterAll(() => world.close());

function resourcesOf(step: number) {
  return Array.from({ length: step }, (_, index) => ({ name: `r${index + 1}` }));
}

test(`${KILLS} kills of the engine lose nothing that was acknowledged`, async () => {
  const random = seededRandom(SEED);
  const spec = { retryInterval: "1s" };
  const subjects = Array.from({ length: OBJECTS }, (_, index) =>
    world.add(`often-${index}`, { resources: resourcesOf(1), spec }),
  );
  world.estate.commit();
  const writer = new Writer(world);
  writer.begin();
  const epochs: number[] = [];
  for (let kill = 1; kill <= KILLS; kill += 1) {
    if (kill % Math.floor(KILLS / STEPS) === 0) {
      const step = Math.min(STEPS, 1 + kill / Math.floor(KILLS / STEPS));
      for (const each of subjects) world.change(each, { resources: resourcesOf(step), spec });
      world.estate.commit();
    }
    if (random.next() < EARLY) {
      world.launch();
      await sleep(random.next() * EARLY_MS);
    } else {
      await world.start();
      epochs.push((await world.info()).epoch);
      await sleep(random.next() * LIFE_MS);
    }
    await world.kill();
    if (random.next() < RUNNERS_TOO) world.traces.killRunners();
  }
  await writer.stop();
  await world.start();
  const startedMs = performance.now();
  expect(await writer.lost()).toEqual([]);
  expect(writer.acknowledged.length).toBeGreaterThan(KILLS);
  expect(epochs).toEqual([...new Set(epochs)].sort((a, b) => a - b));
  for (const subject of subjects) {
    await subject.settled();
    await until(
      `${subject.name} has all`,
      async () => {
        return (await world.state(subject.name))?.resources.length === STEPS;
      },
      60_000,
    );
    const { workspace, name } = subject;
    const once = resourcesOf(STEPS).map((each) => [`create ${workspace.address(each.name)}`, 1]);
    expect(workspace.actions(), name).toEqual(Object.fromEntries(once));
    expect(await world.state(name), name).toMatchObject({ tainted: [], locked: false, aside: 0 });
  }
  const settledMs = performance.now() - startedMs;
  await world.untilQuiet();
  expect(world.bugs()).toEqual([]);
  process.stdout.write(
    `${KILLS} kills, ${epochs.length} of engines that answered: ` +
      `${writer.acknowledged.length} writes acknowledged and kept; ` +
      `settled ${Math.round(settledMs)} ms after the last\n`,
  );
});
