import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dialsEnv } from "../../src/testing/faults/dials.ts";
import { EngineWorld } from "../../src/testing/harness/engine-world.ts";
import { readyText, type Subject } from "../../src/testing/harness/subject.ts";
import { until } from "../../src/testing/harness/victims.ts";

// Twice as many frozen runners as there are workers, and twenty healthy objects beside them: the
// frozen are told of, give back their places, and cost nobody else a thing.

const WORKERS = 4;
const PLANS = 6;
const APPLIES = 2;
const HEALTHY = 20;
/** How late a pass of a healthy object may begin, beyond what the engine itself was held up. */
const LATE_MS = 1_000;
const UNREACHABLE_MS = 10_000;
const AGAIN_MS = 45_000;
const resources = [{ name: "first" }, { name: "slow", gated: true }];

let world: EngineWorld;
beforeAll(() => {
  world = new EngineWorld({ concurrent: PLANS + APPLIES + WORKERS });
});
afterAll(() => world.close());

/** By how many milliseconds each of its passes came late, until `over`. */
async function lateness(subject: Subject, over: () => boolean): Promise<number[]> {
  const late: number[] = [];
  while (!over()) {
    const { object } = await subject.when("it is at rest", ({ status }) => {
      return status?.run === undefined && Date.parse(status?.nextDueAt ?? "") > Date.now();
    });
    const due = Date.parse(object.status?.nextDueAt ?? "");
    const begun = await subject.when("its next pass begins", (each) => {
      const run = each.status?.run?.reason === "IntervalElapsed";
      return run || /Waits for a free slot/.test(readyText(each));
    });
    const { run } = begun.object.status ?? {};
    late.push((run === undefined ? Date.now() : Date.parse(run.intendedAt)) - due);
    await subject.when("it runs", ({ status }) => status?.run !== undefined);
  }
  return late;
}

/** Freezes its runner; it is told of, and a plan goes on again. */
async function freeze(subject: Subject, plans: boolean): Promise<void> {
  const runId = subject.runId();
  const frozenMs = performance.now();
  await subject.runner().freeze();
  const named = await subject.when("it is called unreachable", ({ status }) => {
    return status?.run?.id === runId && status.run.verdict === "unreachable";
  });
  expect(named.atMs - frozenMs, subject.name).toBeLessThanOrEqual(UNREACHABLE_MS);
  expect(subject.ready, subject.name).toMatch(/^Unknown RunnerUnreachable: The runner does not/);
  if (!plans) return;
  const again = await subject.when("another run goes on", ({ status }) => {
    const run = status?.run;
    return run !== undefined && run.id !== runId && run.startedAt !== undefined;
  });
  expect(again.atMs - frozenMs, subject.name).toBeLessThanOrEqual(AGAIN_MS);
}

/** The largest stall that the engine tells of: on a crowded machine nobody is in time. */
async function largestLag(over: () => boolean): Promise<number> {
  let largest = 0;
  while (!over()) {
    const info = await world.info().catch(() => undefined);
    largest = Math.max(largest, info?.lagMs ?? 0);
    await sleep(1_000);
  }
  return largest;
}

/** Places are held by the runs of healthy objects alone. */
async function placesAreFree(frozen: readonly Subject[]): Promise<boolean> {
  const { runs, slots } = await world.info();
  const names = new Set(frozen.map(({ name }) => name));
  return slots.taken <= runs.filter(({ name }) => !names.has(name)).length;
}

test("eight frozen runners are told of, and twenty healthy objects do not notice", async () => {
  // Not all due at once: how long a run then takes would tell of the machine alone.
  const healthy = Array.from({ length: HEALTHY }, (_, index) => {
    const spec = { interval: `${30 + 2 * index}s` };
    return world.add(`healthy-${index}`, { resources: [{ name: "one" }], spec });
  });
  const add = (kind: string) => (_: unknown, index: number) =>
    world.addModule(`frozen-${kind}-${index}`, { resources });
  const plans = Array.from({ length: PLANS }, add("plan"));
  const applies = Array.from({ length: APPLIES }, add("apply"));
  const frozen = [...plans, ...applies];
  for (const subject of plans) subject.hold("plan");
  world.estate.commit();
  await world.start(dialsEnv({ passWorkers: WORKERS }));
  await Promise.all(healthy.map((subject) => subject.settled()));
  for (const subject of frozen) world.want(subject, {});
  await Promise.all([
    ...plans.map((subject) => subject.begun("plan")),
    ...applies.map((subject) => subject.effect("slow")),
  ]);
  await Promise.all(
    frozen.map((subject) => {
      const stage = plans.includes(subject) ? "plan" : "apply";
      return subject.when("its stage is told", ({ status }) => status?.run?.stage === stage);
    }),
  );

  const struckMs = performance.now();
  const over = () => performance.now() - struckMs > AGAIN_MS;
  const beside = Promise.all(healthy.map((subject) => lateness(subject, over)));
  beside.catch(() => undefined);
  const lag = largestLag(over);
  const recovering = Promise.all(frozen.map((subject) => freeze(subject, plans.includes(subject))));
  recovering.catch(() => undefined);
  await until("their places are free", () => placesAreFree(frozen), UNREACHABLE_MS);
  await recovering;
  for (const subject of plans) subject.letGo("plan");
  for (const { workspace } of frozen) workspace.passGate("slow");

  const late = (await beside).flat();
  const lagMs = await lag;
  process.stdout.write(
    `${late.length} healthy passes beside eight frozen runners: the latest by ` +
      `${Math.max(...late)} ms, and the engine was held up by ${lagMs} ms at most\n`,
  );
  expect(late.length).toBeGreaterThanOrEqual(HEALTHY);
  expect(late.filter((ms) => ms > LATE_MS + lagMs)).toEqual([]);
  await Promise.all(frozen.map((subject) => subject.settled()));
  expect(world.bugs()).toEqual([]);
});
