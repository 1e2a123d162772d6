import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { InputFile } from "../../src/ports/runner.ts";
import type { PreparedRun } from "../../src/testing/contracts/runner-platform.ts";
import {
  eventsOf,
  LocalRuns,
  outcomeOf,
  RUNNER_COMMAND,
  within,
} from "../../src/testing/harness/local-runs.ts";
import { livingOf, runnerOf, until } from "../../src/testing/harness/victims.ts";
import type { OtherEngineOrder } from "./support/other-engine.ts";

// The engine's side of a run is killed in the middle of an apply: the parent of the runner, and the
// one who listened to it.

const resources = [{ name: "first" }, { name: "slow", gated: true }, { name: "last" }];

let runs: LocalRuns;
beforeEach(() => {
  runs = new LocalRuns();
});
afterEach(() => runs.close());

/** The run goes on in a slow resource, and the engine that began it is dead. */
async function abandoned(): Promise<PreparedRun> {
  const run = await runs.prepareApply(resources);
  const inputs = [];
  for (const input of run.inputs) inputs.push({ name: input.name, path: await stored(input) });
  const order: OtherEngineOrder = {
    runsFolder: runs.runsFolder,
    runnerCommand: RUNNER_COMMAND,
    launch: run.launch,
    start: { inputs, order: run.order },
  };
  const script = join(import.meta.dirname, "support/other-engine.ts");
  const stdio: ["ignore", "ignore", "inherit"] = ["ignore", "ignore", "inherit"];
  const engine = spawn(process.execPath, [script, JSON.stringify(order)], { stdio });
  const exit = once(engine, "exit");
  const early = exit.then(() => {
    throw new Error("The other engine ended by itself");
  });
  await Promise.race([until("slow is made", () => runs.workspace.hasEffect("slow")), early]);
  early.catch(() => undefined);
  engine.kill("SIGKILL");
  await exit;
  return run;
}

async function stored(input: InputFile): Promise<string> {
  const path = join(runs.scratch, input.name);
  const chunks: Uint8Array[] = [];
  for await (const chunk of input.chunks) chunks.push(chunk);
  writeFileSync(path, Buffer.concat(chunks));
  return path;
}

function appliedOnce(): void {
  const addresses = resources.map(({ name }) => runs.workspace.address(name)).sort();
  expect(runs.workspace.counts()).toEqual(Object.fromEntries(addresses.map((each) => [each, 1])));
  expect(runs.state()).toMatchObject({ resources: addresses, tainted: [] });
}

describe("SIGKILL of the engine's side in apply", () => {
  test("its successor finds the run, hears all of it, and collects it", async () => {
    const { launch, order } = await abandoned();
    const { runId } = launch;
    expect(await runs.fact(runId)).toMatchObject({ runner: "running", proof: undefined });
    const connection = runs.connect(runId);
    expect(await connection.hello(within())).toMatchObject({ started: true, finished: false });
    // What the successor is not sure of, it may say again.
    await runs.platform.launch(launch, within());
    await connection.start(order, within());
    const events = eventsOf(connection);
    runs.workspace.passGate("slow");
    const stages = (await events).flatMap((each) => (each.type === "stage" ? [each.stage] : []));
    expect(stages).toEqual(["artifact", "init", "workspace", "apply", "outputs"]);
    expect(await outcomeOf(connection)).toMatchObject({ kind: "applied" });
    expect(await runs.platform.readFile(runId, "outputs.json", within())).toBeDefined();
    await connection.release(within());
    await runs.dead(runId);
    await runs.platform.remove(runId, within());
    appliedOnce();
  });

  test("and of the runner: the successor finds the orphan, and collects it", async () => {
    const { launch } = await abandoned();
    const { runId } = launch;
    const runner = runnerOf(runs.folder(runId));
    await runner.kill();
    const fact = await runs.fact(runId);
    expect(fact).toMatchObject({ runner: "gone", proof: `process ${runner.identity.pid} is gone` });
    expect(fact.workersAlive).toBeGreaterThan(0);
    runs.workspace.passGate("slow");
    await runs.dead(runId);
    expect(await runs.platform.collect(runId, within())).toMatchObject({
      kind: "orphaned",
      stage: "apply",
      exitCode: 0,
      unrecorded: [],
    });
    expect(await livingOf(runs.folder(runId))).toEqual([]);
    await runs.platform.remove(runId, within());
    appliedOnce();
  });
});
