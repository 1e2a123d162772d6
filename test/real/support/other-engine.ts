import { setTimeout as sleep } from "node:timers/promises";
import { ProcessPlatform } from "../../../src/adapters/process/platform.ts";
import { createClock } from "../../../src/adapters/system/clock.ts";
import { systemRandom } from "../../../src/adapters/system/random.ts";
import { noLog } from "../../../src/ports/log.ts";
import type { RunnerLaunch } from "../../../src/ports/runner.ts";

/** An engine's part in a launch, in a process that can be killed: launches, says so, and waits. */
interface Order {
  readonly runsFolder: string;
  readonly runnerCommand: readonly string[];
  readonly launch: RunnerLaunch;
}

const { runsFolder, runnerCommand, launch }: Order = JSON.parse(process.argv[2] ?? "");
const platform = new ProcessPlatform({
  runsFolder,
  runnerCommand,
  runtimeFolder: undefined,
  clock: createClock(),
  random: systemRandom,
  log: noLog,
});
await platform.launch(launch, { signal: AbortSignal.timeout(10_000) });
process.stdout.write("launched\n");
await sleep(600_000);
