import { afterAll, describe, expect, test } from "vitest";
import { createClock } from "../../adapters/system/clock.ts";
import { RunnerError, type StartOrder } from "../../ports/runner.ts";
import {
  type PreparedRun,
  type RunnerPlatformBench,
  runnerPlatformContract,
} from "../contracts/runner-platform.ts";
import { type RunScript, sha256 } from "./fake-run.ts";
import { FakeRunnerPlatform } from "./runner-platform.ts";

const clock = createClock();
afterAll(() => clock.close());

const ARTIFACT = new TextEncoder().encode("an archive");
const resources = ["terraform_data.quick", "terraform_data.slow"] as const;
let runs = 0;

async function* chunks() {
  yield ARTIFACT;
}

function prepared(operation: "plan" | "apply"): PreparedRun {
  runs += 1;
  const runId = `run-${runs}`;
  const digest = sha256(ARTIFACT);
  const order: StartOrder = {
    runId,
    epoch: 7,
    namespace: "default",
    name: "one",
    operation,
    destroy: false,
    path: ".",
    artifactDigest: digest,
    planDigest: undefined,
    env: {},
    variables: "{}",
    backend: undefined,
    backendConfig: {},
    backendRequired: false,
    files: [],
    cliConfig: undefined,
    workspace: "default",
    workspaceByAddress: true,
    upgrade: false,
    lock: true,
    lockTimeout: "0s",
    refresh: true,
    targets: [],
    parallelism: 0,
    varFiles: [],
    readablePlan: "none",
    outputs: false,
    sensitive: [],
    stageLimitMs: {},
    outputLimitBytes: 1 << 20,
    healthChecks: [],
    outputNames: {},
    inventory: false,
    unlock: undefined,
    stateTofuVersion: undefined,
  };
  const inputs = [
    { name: "artifact.tar.gz" as const, digest, sizeBytes: ARTIFACT.length, chunks: chunks() },
  ];
  const launch = { runId, namespace: "default", name: "one", uid: "u-1", epoch: 7, env: {} };
  return { launch, inputs, order };
}

async function bench(): Promise<RunnerPlatformBench> {
  const slowMs = 250;
  const stubborn = new Set<string>();
  const script = (order: StartOrder): RunScript => ({
    stageMs: { artifact: 5, init: 5, workspace: 5, plan: 5, show: 5, apply: 2 * slowMs },
    resources,
    ignoresInterrupt: stubborn.has(order.runId),
  });
  const platform = new FakeRunnerPlatform({ clock, script, launchMs: 10 });
  return {
    platform,
    slowMs,
    resources,
    async prepare(kind) {
      const run = prepared(kind === "plan" ? "plan" : "apply");
      if (kind === "stubborn") stubborn.add(run.launch.runId);
      return run;
    },
    killRunner: async (runId) => platform.killRunner(runId),
    killWorkers: async (runId) => platform.killWorkers(runId),
    freezeRunner: async (runId) => platform.freeze(runId),
    async effects(runId) {
      const counts: Record<string, number> = {};
      for (const effect of platform.world.effects) {
        if (effect.runId !== runId) continue;
        counts[effect.resource] = (counts[effect.resource] ?? 0) + 1;
      }
      return counts;
    },
    async close() {},
  };
}

runnerPlatformContract("in memory", bench);

describe("the faults of the fake", () => {
  const call = (ms = 5_000) => ({ signal: AbortSignal.timeout(ms) });
  const launched = async () => {
    const { platform } = await bench();
    const run = prepared("plan");
    await platform.launch(run.launch, call());
    await clock.sleep(30, call().signal);
    return { platform: platform as FakeRunnerPlatform, run, runId: run.launch.runId };
  };

  test("failNext fails once and does nothing", async () => {
    const { platform, runId } = await launched();
    platform.failNext("inspect", new RunnerError("Internal", "Disk on fire"));
    await expect(platform.inspect(runId, call())).rejects.toThrow("Disk on fire");
    expect(await platform.inspect(runId, call())).toMatchObject({ runner: "running" });
  });

  test("loseNextAnswer does the work and loses the answer", async () => {
    const { platform } = await launched();
    const run = prepared("plan");
    platform.loseNextAnswer("launch");
    await expect(platform.launch(run.launch, call())).rejects.toMatchObject({
      code: "Unavailable",
    });
    expect(await platform.list(call())).toContain(run.launch.runId);
  });

  test("cutOff: nothing can be known; reconnect: all is as it became meanwhile", async () => {
    const { platform, runId } = await launched();
    platform.cutOff(runId);
    expect(await platform.inspect(runId, call())).toMatchObject({
      runner: "unknown",
      workersAlive: undefined,
    });
    await expect(platform.connect(runId).hello(call(50))).rejects.toMatchObject({
      code: "DeadlineExceeded",
    });
    await expect(platform.signal(runId, "terminate", call(50))).rejects.toMatchObject({
      code: "DeadlineExceeded",
    });
    platform.reconnect(runId);
    expect(await platform.connect(runId).hello(call())).toMatchObject({ runId });
  });

  test("vanish leaves no trace", async () => {
    const { platform, runId } = await launched();
    platform.vanish(runId);
    expect(await platform.inspect(runId, call())).toMatchObject({
      runner: "unknown",
      workersAlive: 0,
    });
  });

  test("reboot ends everything, and says how it is known", async () => {
    const { platform, runId } = await launched();
    platform.reboot();
    expect(await platform.inspect(runId, call())).toMatchObject({
      runner: "gone",
      proof: "the machine was started anew",
      workersAlive: 0,
    });
  });

  test("a thawed runner goes on where it stood", async () => {
    const { platform, runId, run } = await launched();
    const connection = platform.connect(runId);
    for (const file of run.inputs) await connection.putFile(file, call());
    await connection.start(run.order, call());
    platform.freeze(runId);
    await clock.sleep(100, call().signal);
    expect(platform.run(runId).outcome).toBeUndefined();
    platform.thaw(runId);
    const kinds: string[] = [];
    for await (const event of connection.watch({ fromSequence: 1, logOffset: 0 }, call())) {
      kinds.push(event.type);
    }
    expect(kinds.at(-1)).toBe("outcome");
  });
});
