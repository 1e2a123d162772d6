import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import { LocalEngine } from "../../src/testing/harness/local-engine.ts";
import { runnerOf, until } from "../../src/testing/harness/victims.ts";

// SIGKILL of the runner, of the engine, of both, in each stage, with everything real: each effect
// happens once, the state is whole, nothing is left running and no slot is taken.

/** From a SIGKILL until the status tells it, or, if the engine is dead, from its next answer. */
const TRUTH_MS = 1_000;
const resources = [{ name: "first" }, { name: "slow", gated: true }, { name: "last" }];
const ADDRESSES = resources.map(({ name }) => `terraform_data.${name}`).sort();
const ONCE = Object.fromEntries(ADDRESSES.map((each) => [each, 1]));

type Victims = "runner" | "engine" | "both";
const victims: readonly Victims[] = ["runner", "engine", "both"];

let engine: LocalEngine;
afterEach(() => engine.close());

/** Kills, and starts the engine again if it was killed; the status must soon tell the truth. */
async function kill(whom: Victims, runId: string): Promise<void> {
  const runner = whom === "engine" ? undefined : runnerOf(engine.folder(runId));
  if (whom !== "runner") await engine.kill();
  await runner?.kill();
  if (whom !== "runner") await engine.start();
  if (whom === "engine") return;
  const killedAt = performance.now();
  await until("the status tells it", async () => {
    const run = await engine.run();
    return run?.id !== runId || run.verdict === "dead" || run.verdict === "unreachable";
  });
  expect(performance.now() - killedAt).toBeLessThanOrEqual(TRUTH_MS);
}

async function runIn(stage: string): Promise<string> {
  let runId = "";
  await until(
    `a run is in ${stage}`,
    async () => {
      const run = await engine.run();
      runId = run?.id ?? "";
      return run?.stage === stage;
    },
    60_000,
  );
  return runId;
}

async function endsWell(): Promise<void> {
  await engine.untilReady();
  await engine.untilAtRest();
  expect(engine.workspace.counts()).toEqual(ONCE);
  expect(await engine.state()).toEqual(ADDRESSES);
}

describe.each(victims)("SIGKILL of %s", (whom) => {
  test("in artifact", async () => {
    // Large enough that the kill comes in the middle.
    const padding = randomBytes(24 << 20).toString("base64");
    engine = new LocalEngine(resources, { "padding.txt": padding });
    engine.workspace.passGate("slow");
    await engine.start();
    await kill(whom, await runIn("artifact"));
    await endsWell();
  });

  test.each(["init", "plan"] as const)("in %s", async (stage) => {
    engine = new LocalEngine(resources);
    engine.workspace.passGate("slow");
    engine.gate.set(stage, "hold");
    await engine.start();
    const runId = await runIn(stage);
    await until("OpenTofu has begun", () => engine.gate.calls(stage) > 0);
    await kill(whom, runId);
    engine.gate.clear(stage);
    await endsWell();
  });

  test("in apply, in the middle of a resource", async () => {
    engine = new LocalEngine(resources);
    await engine.start();
    const runId = await runIn("apply");
    await until("the resource has taken effect", () => engine.workspace.hasEffect("slow"), 60_000);
    await kill(whom, runId);
    engine.workspace.passGate("slow");
    await endsWell();
    expect(engine.workspace.counts(runId)).toEqual(ONCE);
  });

  test("in outputs", async () => {
    engine = new LocalEngine(resources);
    engine.workspace.passGate("slow");
    engine.gate.set("output", "hold");
    await engine.start();
    const runId = await runIn("outputs");
    await until("OpenTofu has begun", () => engine.gate.calls("output") > 0);
    await kill(whom, runId);
    engine.gate.clear("output");
    await endsWell();
  });

  test("in destroy", async () => {
    engine = new LocalEngine(resources);
    engine.workspace.passGate("slow");
    await engine.start();
    await engine.untilReady();
    await engine.untilAtRest();
    engine.gate.set("apply", "hold");
    await engine.delete();
    const runId = await runIn("apply");
    await until("OpenTofu has begun", () => engine.gate.calls("apply") === 2);
    await kill(whom, runId);
    engine.gate.clear("apply");
    const gone = async () => (await engine.terraform()) === undefined;
    await until("the object has gone", gone, 90_000);
    await engine.untilAtRest();
    const effects = engine.workspace.effects();
    expect(effects.filter(({ action }) => action === "create")).toHaveLength(3);
    expect(effects.filter(({ action }) => action === "destroy")).toHaveLength(3);
    expect(await engine.state()).toEqual([]);
  });
});
