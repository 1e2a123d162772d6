import {
  type RunnerPlatformBench,
  runnerPlatformContract,
} from "../../src/testing/contracts/runner-platform.ts";
import { LocalRuns } from "../../src/testing/harness/local-runs.ts";
import { runnerOf, tofuOf } from "../../src/testing/harness/victims.ts";

// The contract on the real platform: local processes, the real runner, the real OpenTofu.

const SLOW_S = 1.5;

async function bench(): Promise<RunnerPlatformBench> {
  const runs = new LocalRuns();
  const resources = [{ name: "quick" }, { name: "slow", seconds: SLOW_S }];
  const { platform, workspace } = runs;
  return {
    platform,
    slowMs: SLOW_S * 1000,
    resources: [workspace.address("quick"), workspace.address("slow")],
    async prepare(kind) {
      if (kind === "plan") return await runs.prepare(resources);
      const run = await runs.prepareApply(resources);
      if (kind === "stubborn") runs.gate.set("apply", "stubborn");
      return run;
    },
    killRunner: (runId) => runnerOf(runs.folder(runId)).kill(),
    killWorkers: async (runId) => (await tofuOf(runs.folder(runId), "apply")).kill(),
    freezeRunner: (runId) => runnerOf(runs.folder(runId)).freeze(),
    effects: async (runId) => workspace.counts(runId),
    close: () => runs.close(),
  };
}

runnerPlatformContract("local processes", bench);
