import { readdirSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EngineWorld } from "../../src/testing/harness/engine-world.ts";
import { readyText, type Subject } from "../../src/testing/harness/subject.ts";
import { until } from "../../src/testing/harness/victims.ts";

// SIGSTOP of runners: their processes are there and their kernel answers for them, so nothing is
// proven, and nothing may be done to an apply that could not be undone.

/** From the SIGSTOP until the status names it. */
const NAMED_MS = 10_000;
/** Until a plan's new attempt is as far as the frozen one was. */
const RECOVERED_MS = 45_000;
/** When an apply is asked to stop, and how late that may be on a busy machine. */
const INTERRUPT_MS = 30_000;
const LATE_MS = 10_000;

const resources = [{ name: "first" }, { name: "slow", gated: true }, { name: "last" }];

let world: EngineWorld;
beforeAll(() => {
  world = new EngineWorld();
});
afterAll(() => world.close());

async function freeze(subject: Subject): Promise<{ runId: string; frozenMs: number }> {
  const runId = subject.runId();
  const frozenMs = performance.now();
  await subject.runner().freeze();
  const named = await subject.when("its runner is called unreachable", (object) => {
    const { run } = object.status ?? {};
    return run?.id === runId && run.verdict === "unreachable";
  });
  expect(named.atMs - frozenMs, subject.name).toBeLessThanOrEqual(NAMED_MS);
  const words = /^Unknown RunnerUnreachable: The runner does not answer during/;
  expect(readyText(named.object), subject.name).toMatch(words);
  return { runId, frozenMs };
}

/** A plan's runner is frozen: its run is ended, and another goes through. */
async function frozenIn(stage: "init" | "plan", subject: Subject): Promise<void> {
  subject.workspace.passGate("slow");
  await subject.begun(stage);
  await until(`${subject.name} is in ${stage}`, () => subject.run?.stage === stage);
  const { runId, frozenMs } = await freeze(subject);
  const looks = () => looksThatFailed(runId);
  const again = subject.begun(stage, 2);
  await until("the engine has called three more times", () => looks() >= 3, RECOVERED_MS);
  expect(await world.answers()).toBe(true);
  await again;
  expect(performance.now() - frozenMs, subject.name).toBeLessThanOrEqual(RECOVERED_MS);
  subject.letGo(stage);
  await subject.settled();
}

/** Calls of the engine to the runner that came to nothing. */
function looksThatFailed(runId: string): number {
  const failed = world.said().split("\n");
  return failed.filter((line) => line.includes(runId) && line.includes("look at a run")).length;
}

/**
 * An apply's runner is frozen: OpenTofu is asked to stop once. Only when it has ended is the runner
 * ended too, which nobody ever wakes, and what the apply left is collected.
 */
async function frozenInApply(subject: Subject): Promise<void> {
  const { workspace } = subject;
  await subject.effect("slow");
  const { runId, frozenMs } = await freeze(subject);
  const { steps } = subject.folder(runId);
  const asked = () => readdirSync(steps).includes("apply.interrupted");
  await until("it is asked to stop", asked, INTERRUPT_MS + LATE_MS);
  expect(performance.now() - frozenMs).toBeGreaterThan(INTERRUPT_MS);
  const told = await subject.when("that is told", ({ status }) => {
    return /it was asked to stop and has until/.test(status?.run?.note ?? "");
  });
  expect(told.object.status?.run?.id).toBe(runId);
  const ended = await subject.when("its end is told", ({ status }) => {
    return status?.lastRun?.id === runId;
  });
  expect(ended.object.status?.lastRun).toMatchObject({ outcome: "failed", stage: "apply" });
  const { out } = await world.nigari("logs", subject.name, "--run", runId);
  expect(out.match(/Interrupt received/g)).toHaveLength(1);
  const once = { "create terraform_data.first": 1, "create terraform_data.slow": 1 };
  expect(workspace.actions(runId)).toEqual(once);
  // A fresh plan repairs what was cut off.
  workspace.passGate("slow");
  await subject.settled();
  expect(workspace.actions(runId)).toEqual(once);
  const addresses = resources.map(({ name }) => workspace.address(name)).sort();
  const whole = { resources: addresses, tainted: [], locked: false, aside: 0 };
  expect(await world.state(subject.name)).toMatchObject(whole);
}

test("frozen runners are named, plans made anew, and an apply asked to stop once", async () => {
  const init = world.add("frozen-init", { resources });
  const plan = world.add("frozen-plan", { resources });
  const apply = world.add("frozen-apply", { resources });
  init.hold("init");
  plan.hold("plan");
  world.estate.commit();
  await world.start({ NIGARI_LOG_LEVEL: "debug" });
  await Promise.all([frozenIn("init", init), frozenIn("plan", plan), frozenInApply(apply)]);
  await world.untilQuiet();
  expect(world.bugs()).toEqual([]);
});
