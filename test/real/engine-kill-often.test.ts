import { afterAll, beforeAll, expect, test } from "vitest";
import { EngineWorld } from "../../src/testing/harness/engine-world.ts";
import type { Subject } from "../../src/testing/harness/subject.ts";
import { Truths, tellsLoss } from "../../src/testing/harness/truth.ts";

// Losses again and again, of many objects side by side: each is told within a second, and every
// object is planned in the end.

const OBJECTS = 18;
const LOSSES = ["init", "init", "plan"] as const;
const truths = new Truths();

let world: EngineWorld;
beforeAll(() => {
  world = new EngineWorld({ concurrent: 6 });
});
afterAll(async () => {
  process.stdout.write(`${truths.text}\n`);
  await world.close();
});

/** The runner dies in each of the stages; then the object is left in peace. */
async function loseAgainAndAgain(subject: Subject): Promise<void> {
  for (const [index, stage] of LOSSES.entries()) {
    subject.hold(stage);
    const attempt = index + 1;
    await subject.when(`attempt ${attempt} is in ${stage}`, ({ status }) => {
      return status?.run?.stage === stage && status.run.attempt === attempt;
    });
    const runId = subject.runId();
    const told = subject.when("the loss is told", (object) => tellsLoss(object, runId));
    const runner = subject.runner();
    const killedMs = performance.now();
    await runner.kill();
    truths.add(`loss ${attempt} of ${subject.name} in ${stage}`, (await told).atMs - killedMs);
    subject.letGo(stage);
  }
}

test(`${OBJECTS * LOSSES.length} losses are told within a second`, async () => {
  const subjects = Array.from({ length: OBJECTS }, (_, index) =>
    world.add(`often-${index}`, { resources: [{ name: "one" }], spec: { approvePlan: "" } }),
  );
  world.estate.commit();
  await world.start();
  await Promise.all(subjects.map(loseAgainAndAgain));
  for (const subject of subjects) {
    const { object } = await subject.when("it is planned", ({ status }) => {
      return status?.run === undefined && status?.plan?.pending !== undefined;
    });
    expect(subject.ready).toMatch(/^Unknown TerraformPlannedWithChanges/);
    const attempt = LOSSES.length + 1;
    expect(object.status?.lastRun).toMatchObject({ outcome: "succeeded", attempt });
    expect(subject.workspace.effects()).toEqual([]);
  }
  await world.untilQuiet();
  expect(world.bugs()).toEqual([]);
  expect(truths.count).toBeGreaterThanOrEqual(50);
  expect(truths.late).toEqual([]);
});
