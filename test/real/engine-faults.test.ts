import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { LocalEngine } from "../../src/testing/harness/local-engine.ts";
import { runnerOf, tofuOf, until } from "../../src/testing/harness/victims.ts";

// What is not a clean death of runner or engine, with everything real.

const resources = [{ name: "first" }, { name: "slow", gated: true }, { name: "last" }];
const ADDRESSES = resources.map(({ name }) => `terraform_data.${name}`).sort();
const ONCE = Object.fromEntries(ADDRESSES.map((each) => [each, 1]));

let engine: LocalEngine;
afterEach(() => engine.close());

async function inSlowResource(): Promise<string> {
  engine = new LocalEngine(resources);
  await engine.start();
  await until("the resource takes effect", () => engine.workspace.hasEffect("slow"), 90_000);
  return (await engine.run())?.id ?? "";
}

async function endsWell(): Promise<void> {
  await engine.untilReady();
  await engine.untilAtRest();
  expect(engine.workspace.counts()).toEqual(ONCE);
  expect(await engine.state()).toEqual(ADDRESSES);
}

test("a frozen runner is unreachable within 10 s, and its plan is made anew", async () => {
  engine = new LocalEngine(resources);
  engine.workspace.passGate("slow");
  engine.gate.set("plan", "hold");
  await engine.start();
  await until("OpenTofu plans", () => engine.gate.calls("plan") > 0, 60_000);
  const runId = (await engine.run())?.id ?? "";
  await runnerOf(engine.folder(runId)).freeze();
  const frozenAt = performance.now();
  const unreachable = async () => (await engine.run())?.verdict === "unreachable";
  await until("it is unreachable", unreachable, 15_000);
  expect(performance.now() - frozenAt).toBeLessThanOrEqual(10_000);
  engine.gate.clear("plan");
  await endsWell();
  expect(engine.log()).not.toContain("by a bug");
});

test("the engine is down over the end of an apply: its state and lock are whole", async () => {
  const runId = await inSlowResource();
  await engine.kill();
  engine.workspace.passGate("slow");
  await sleep(15_000);
  await engine.start();
  await endsWell();
  expect(engine.workspace.counts(runId)).toEqual(ONCE);
  const terraform = await engine.terraform();
  expect(terraform?.status?.lastRun?.outcome).toBe("succeeded");
});

test("OpenTofu killed in an apply: what may be unrecorded is named", async () => {
  const runId = await inSlowResource();
  await (await tofuOf(engine.folder(runId), "apply")).kill();
  const stalled = async () => {
    const conditions = (await engine.terraform())?.status?.conditions ?? [];
    return conditions.some(({ type, status }) => type === "Stalled" && status === "True");
  };
  await until("the object is stalled", stalled, 60_000);
  await sleep(10_000);
  const effects = { "terraform_data.first": 1, "terraform_data.slow": 1 };
  expect(engine.workspace.counts()).toEqual(effects);
  // The state is written every 20 s at most: even what had ended may not be in it yet.
  const recorded = (await engine.state()) ?? [];
  const unrecorded = Object.keys(effects).filter((each) => !recorded.includes(each));
  expect(unrecorded).toContain("terraform_data.slow");
  const held = (await engine.terraform())?.status?.held;
  expect([...(held?.resources ?? [])].sort()).toEqual(unrecorded);
});
