import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  eventsOf,
  LocalRuns,
  outcomeOf,
  untilEvent,
  within,
} from "../../src/testing/harness/local-runs.ts";
import { livingOf, runnerOf, until } from "../../src/testing/harness/victims.ts";

// Children as nobody wants them. Whatever they do, the run ends in its bound, says what it was, and
// nothing of it stays.

const resources = [{ name: "one" }];
/** More than enough for a run without misbehaviour on a busy machine. */
const BOUND_MS = 30_000;

let runs: LocalRuns;
beforeEach(() => {
  runs = new LocalRuns();
});
afterEach(() => runs.close());

/** Nothing lives of the run but its runner. */
async function onlyTheRunnerLives(runId: string): Promise<void> {
  const runner = runnerOf(runs.folder(runId)).identity.pid;
  await until("only the runner lives", async () => {
    const living = await livingOf(runs.folder(runId));
    return living.length === 1 && living[0] === runner;
  });
}

/** Bytes of all files of the run, the work of OpenTofu left out. */
function bytesIn(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== "work") bytes += bytesIn(path);
    else if (entry.isFile()) bytes += statSync(path).size;
  }
  return bytes;
}

describe("a child that", () => {
  test("ignores all signals is killed when the grace is over", async () => {
    runs.gate.set("plan", "ignore-signals");
    const run = await runs.prepare(resources);
    const connection = await runs.begin(run);
    await until("plan has begun", () => runs.gate.calls("plan") === 1);
    const asked = performance.now();
    await connection.cancel(500, within());
    expect(await outcomeOf(connection)).toMatchObject({ kind: "cancelled", stage: "plan" });
    expect(performance.now() - asked).toBeLessThan(5_000);
    await onlyTheRunnerLives(run.launch.runId);
  });

  test("ignores all signals is ended by terminate, its runner too", async () => {
    runs.gate.set("init", "ignore-signals");
    const run = await runs.prepare(resources);
    const { runId } = run.launch;
    await runs.begin(run);
    await until("init has begun", () => runs.gate.calls("init") === 1);
    const asked = performance.now();
    await runs.platform.signal(runId, "terminate", within());
    expect(performance.now() - asked).toBeLessThan(2_000);
    expect(await livingOf(runs.folder(runId))).toEqual([]);
    await runs.platform.remove(runId, within());
  });

  test("floods 100 MB fills no disk and hides no result", async () => {
    runs.gate.set("plan", "flood");
    const run = await runs.prepare(resources, { outputLimitBytes: 1 << 20 });
    const { runId } = run.launch;
    const connection = await runs.begin(run);
    let most = 0;
    const measuring = setInterval(() => {
      most = Math.max(most, bytesIn(runs.folder(runId).root));
    }, 50);
    const begun = performance.now();
    const events = await eventsOf(connection).finally(() => clearInterval(measuring));
    expect(events.at(-1)).toMatchObject({ outcome: { kind: "planned", changes: true } });
    expect(performance.now() - begun).toBeLessThan(BOUND_MS);
    // Far less than the flood: what a child can write between two looks.
    expect(most).toBeLessThan(32 << 20);
    expect(bytesIn(runs.folder(runId).root)).toBeLessThan(8 << 20);
  });

  test("leaves a grandchild in a session of its own keeps neither run nor grandchild", async () => {
    runs.gate.set("plan", "leave-grandchild");
    const run = await runs.prepare(resources);
    const connection = await runs.begin(run);
    expect(await outcomeOf(connection)).toMatchObject({ kind: "planned", changes: true });
    await onlyTheRunnerLives(run.launch.runId);
  });

  test("asks for input gets none and fails", async () => {
    runs.gate.set("init", "ask");
    const connection = await runs.begin(await runs.prepare(resources));
    expect(await outcomeOf(connection)).toMatchObject({
      kind: "failed",
      stage: "init",
      exitCode: 1,
      message: expect.stringContaining("no input"),
    });
  });

  test("panics in apply fails with its own words", async () => {
    const run = await runs.prepareApply(resources);
    runs.gate.set("apply", "panic");
    const connection = await runs.begin(run);
    expect(await outcomeOf(connection)).toMatchObject({
      kind: "failed",
      stage: "apply",
      exitCode: 2,
      message: expect.stringContaining("panic: runtime error"),
      unrecorded: [],
    });
    expect(runs.workspace.effects()).toEqual([]);
  });

  test("panics in plan is not taken for one that found changes", async () => {
    runs.gate.set("plan", "panic");
    const connection = await runs.begin(await runs.prepare(resources));
    expect(await outcomeOf(connection)).toMatchObject({ kind: "failed" });
  });

  test("is a resource's own command that asks for input gets none", async () => {
    const files = {
      "main.tf": `resource "terraform_data" "asks" {
  provisioner "local-exec" {
    command = "read -r answer || exit 7"
  }
}
`,
    };
    const plan = await runs.begin(await runs.prepareFiles(files));
    expect(await outcomeOf(plan)).toMatchObject({ kind: "planned" });
    const content = await runs.platform.readFile("run-1", "plan.bin", within());
    const apply = await runs.begin(await runs.prepareFiles(files, {}, content));
    await untilEvent(apply, "apply", (each) => each.type === "stage" && each.stage === "apply");
    expect(await outcomeOf(apply)).toMatchObject({
      kind: "failed",
      stage: "apply",
      message: expect.stringContaining("exit status 7"),
    });
  });
});
