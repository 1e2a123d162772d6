import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withoutCluster } from "../../src/testing/cluster/api-server.ts";
import { ControllerWorld, until } from "../../src/testing/cluster/controller-world.ts";

const PROGRAM = join(import.meta.dirname, "support/controller-program.ts");
const MODULE = { "main.tf": 'output "word" {\n  value = "hello"\n}\n' };
const OBJECTS = 1_000;
const MINUTES = 60_000;

/**
 * A thousand objects of which one was really applied; the status of the others says the same as
 * its own, as if they had been too. So none is due, and a run of any would be one too many.
 */
describe.skipIf(withoutCluster())("a controller of many objects", { timeout: 8 * MINUTES }, () => {
  let world: ControllerWorld;
  beforeAll(async () => {
    world = await ControllerWorld.open(PROGRAM);
  }, 2 * MINUTES);
  afterAll(() => world.close());

  test("plans none anew at a start or a change of labels, and stays lean", async () => {
    const name = `many-${Date.now() % 100_000}`;
    world.start();
    await world.commit(name, MODULE);
    // A state that nobody can ask for without a run, so that the copies need none of their own.
    const path = join(world.folder, "many.tfstate");
    const customConfiguration = `backend "local" {\n  path = "${path}"\n}`;
    await world.create(name, { interval: "24h", backendConfig: { customConfiguration } });
    await until(
      () => world.condition(name, "Ready"),
      (found) => found?.status === "True",
      2 * MINUTES,
    );
    await world.stopAll("SIGTERM");
    const runId = (await world.terraform(name)).status?.lastRun?.id;
    await world.copies(name, OBJECTS - 1);

    const controller = world.start();
    await until(
      () => world.log(controller),
      (lines) => lines.some(({ message }) => message === "Leading"),
      MINUTES,
    );
    const passes = await passesOnceQuiet(controller);
    expect(passes).toBeGreaterThanOrEqual(OBJECTS);
    expect(await othersThan(runId)).toEqual([]);
    expect(await memoryMiB(controller)).toBeLessThan(200);

    await world.change(`${name}-1`, (object) => ({
      ...object,
      metadata: { ...object.metadata, labels: { team: "other" } },
    }));
    await world.changeSource(name, { team: "other" });
    expect(await passesOnceQuiet(controller)).toBeLessThan(passes + 50);
    expect(await othersThan(runId)).toEqual([]);
  });

  /** How many passes there were, once none has come for some seconds and no key waits. */
  async function passesOnceQuiet(controller: number): Promise<number> {
    let before = -1;
    return await until(
      async () => {
        await sleep(3_000);
        const metrics = await world.ask(controller, "/metrics");
        const lines = metrics.matchAll(/^controller_runtime_reconcile_total\{.*\} (\d+)$/gm);
        const passes = [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
        const idle = /^workqueue_depth\{.*\} 0$/m.test(metrics);
        const quiet = idle && passes === before;
        before = passes;
        return quiet ? passes : 0;
      },
      (passes) => passes > 0,
      4 * MINUTES,
    );
  }

  /** Names of the objects that have a run, or have had another one than this. */
  async function othersThan(runId: string | undefined): Promise<string[]> {
    const found = await world.terraforms();
    expect(found.length).toBeGreaterThanOrEqual(OBJECTS);
    return found
      .filter(({ status }) => status?.run !== undefined || status?.lastRun?.id !== runId)
      .map(({ metadata }) => metadata.name);
  }

  async function memoryMiB(controller: number): Promise<number> {
    const status = readFileSync(`/proc/${world.pid(controller)}/status`, "utf8");
    const mib = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024;
    process.stderr.write(`A controller of ${OBJECTS} objects: ${Math.round(mib)} MiB\n`);
    return mib;
  }
});
