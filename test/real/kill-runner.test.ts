import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SPARE_LOG } from "../../src/protocol/hand-over.ts";
import type { PreparedRun } from "../../src/testing/contracts/runner-platform.ts";
import { LocalRuns, outcomeOf, untilEvent, within } from "../../src/testing/harness/local-runs.ts";
import { livingOf, runnerOf, until } from "../../src/testing/harness/victims.ts";

// SIGKILL of the runner in each stage, on real parts but without an engine: the test does what the
// engine will do. Stages are held by the program in OpenTofu's place, so that no test hopes for its
// moment.

/** From a SIGKILL until the platform tells it. */
const TRUTH_MS = 1_000;
const resources = [{ name: "first" }, { name: "slow", gated: true }, { name: "last" }];

let runs: LocalRuns;
beforeEach(() => {
  runs = new LocalRuns();
});
afterEach(() => runs.close());

/** Kills the runner; returns when the platform says so, which is soon. */
async function killRunner(run: PreparedRun): Promise<void> {
  const { runId } = run.launch;
  const stop = new AbortController();
  const news = firstNews(runId, stop.signal);
  news.catch(() => undefined);
  const begun = performance.now();
  await runnerOf(runs.folder(runId)).kill();
  await until("the platform knows", async () => (await runs.fact(runId)).runner === "gone");
  expect(performance.now() - begun).toBeLessThan(TRUTH_MS);
  await news;
  expect(performance.now() - begun).toBeLessThan(TRUTH_MS);
  stop.abort();
  expect((await runs.fact(runId)).proof).toBe("killed by signal 9");
}

async function firstNews(runId: string, signal: AbortSignal): Promise<void> {
  for await (const each of runs.platform.changes({ signal })) {
    if (each === runId && (await runs.fact(runId)).runner === "gone") return;
  }
}

/** Nothing of the run lives, and after its removal nothing of it is on disk. */
async function leavesNothing(run: PreparedRun): Promise<void> {
  const { runId } = run.launch;
  expect(await livingOf(runs.folder(runId))).toEqual([]);
  const { socket } = JSON.parse(readFileSync(runs.folder(runId).identity, "utf8"));
  await runs.platform.remove(runId, within());
  const left = readdirSync(runs.runsFolder);
  expect(left.filter((name) => ![SPARE_LOG, ".epochs"].includes(name))).toEqual([]);
  expect(existsSync(socket)).toBe(false);
}

/** A new attempt in a fresh folder goes through as if nothing had been. */
async function goesThroughAnew(): Promise<void> {
  runs.workspace.passGate("slow");
  const run = await runs.prepareApply(resources);
  expect(await outcomeOf(await runs.begin(run))).toMatchObject({ kind: "applied" });
  await appliedOnce();
}

async function appliedOnce(): Promise<void> {
  const { workspace } = runs;
  const addresses = resources.map(({ name }) => workspace.address(name)).sort();
  expect(workspace.counts()).toEqual(Object.fromEntries(addresses.map((each) => [each, 1])));
  expect(runs.state()).toMatchObject({ resources: addresses, tainted: [] });
  // The state knows all that was done: a fresh plan has nothing to do.
  const { outcome } = await runs.plan(resources);
  expect(outcome).toMatchObject({ changes: false });
}

describe("SIGKILL of the runner", () => {
  test("in artifact: nothing was begun", async () => {
    // Large enough that the kill comes in the middle, and not suspiciously well compressed.
    const piece = () => randomBytes(8 << 10).toString("hex") + "x".repeat(1 << 20);
    const padding = Array.from({ length: 64 }, piece).join("");
    const files = { ...runs.workspace.files(resources), "padding.txt": padding };
    const run = await runs.prepareFiles(files);
    const { runId } = run.launch;
    const connection = await runs.begin(run);
    await untilEvent(connection, "artifact", (each) => each.type === "stage");
    await killRunner(run);
    expect(await runs.platform.collect(runId, within())).toEqual({
      kind: "orphaned",
      stage: "artifact",
      exitCode: undefined,
      unrecorded: [],
      stateRescued: false,
    });
    expect(runs.gate.calls("init")).toBe(0);
    await leavesNothing(run);
    await goesThroughAnew();
  });

  const planLike: [command: "init" | "plan", why: string][] = [
    ["init", "what it fetched is thrown away"],
    ["plan", "a plan nobody has seen is worth nothing"],
  ];
  test.each(planLike)("in %s: its tofu is ended, %s", async (command) => {
    const run = await runs.prepare(resources);
    const { runId } = run.launch;
    runs.gate.set(command, "hold");
    await runs.begin(run);
    await until(`${command} has begun`, () => runs.gate.calls(command) === 1);
    await killRunner(run);
    expect((await runs.fact(runId)).workersAlive).toBeGreaterThan(0);
    await runs.platform.signal(runId, "terminate", within());
    expect((await runs.fact(runId)).workersAlive).toBe(0);
    expect(await runs.platform.collect(runId, within())).toMatchObject({
      kind: "orphaned",
      stage: command,
      exitCode: undefined,
    });
    await leavesNothing(run);
    expect(runs.workspace.effects()).toEqual([]);
    expect(runs.state()).toBeUndefined();
    runs.gate.clear(command);
    await goesThroughAnew();
  });

  test("in apply: its tofu goes on, and all of it is collected", async () => {
    const run = await runs.prepareApply(resources);
    const { runId } = run.launch;
    await runs.begin(run);
    await until("slow is being made", () => runs.workspace.hasEffect("slow"));
    await killRunner(run);
    expect((await runs.fact(runId)).workersAlive).toBeGreaterThan(0);
    await expect(runs.platform.collect(runId, within())).rejects.toMatchObject({
      code: "StillAlive",
    });
    runs.workspace.passGate("slow");
    await runs.dead(runId);
    expect(await runs.platform.collect(runId, within())).toEqual({
      kind: "orphaned",
      stage: "apply",
      exitCode: 0,
      unrecorded: [],
      stateRescued: false,
    });
    const log = (await runs.platform.readLog(runId, 0, within())).map(({ line }) => line);
    for (const { name } of resources) {
      const made = new RegExp(`^${runs.workspace.address(name)}: Creation complete`);
      expect(log.filter((line) => made.test(line)).length, name).toBe(1);
    }
    expect(log.at(-1)).toContain("the runner died in apply, and OpenTofu ended with exit code 0");
    await leavesNothing(run);
    await appliedOnce();
  });

  test("in outputs: what was applied stands", async () => {
    const run = await runs.prepareApply(resources);
    const { runId } = run.launch;
    runs.workspace.passGate("slow");
    runs.gate.set("output", "hold");
    await runs.begin(run);
    await until("outputs are being read", () => runs.gate.calls("output") === 1);
    await killRunner(run);
    await runs.platform.signal(runId, "terminate", within());
    expect(await runs.platform.collect(runId, within())).toMatchObject({
      kind: "orphaned",
      stage: "outputs",
      unrecorded: [],
    });
    await leavesNothing(run);
    runs.gate.clear("output");
    await appliedOnce();
  });
});
