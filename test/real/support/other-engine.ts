import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { ProcessPlatform } from "../../../src/adapters/process/platform.ts";
import { createClock } from "../../../src/adapters/system/clock.ts";
import { systemRandom } from "../../../src/adapters/system/random.ts";
import { noLog } from "../../../src/ports/log.ts";
import type { InputFile, RunnerLaunch, StartOrder } from "../../../src/ports/runner.ts";
import { inputOf } from "../../../src/testing/real-runner.ts";

/** What another engine is to do, as JSON in its first argument. */
export interface OtherEngineOrder {
  readonly runsFolder: string;
  readonly runnerCommand: readonly string[];
  readonly launch: RunnerLaunch;
  /** It keeps a spare runner with this environment once the run has its own. */
  readonly spareEnv?: Readonly<Record<string, string>>;
  /** Absent: it launches and no more. Inputs are paths. */
  readonly start?: {
    readonly inputs: readonly { readonly name: InputFile["name"]; readonly path: string }[];
    readonly order: StartOrder;
  };
}

/** An engine's part in a run, in a process that can be killed. Says "launched", then watches. */
async function main({ runsFolder, runnerCommand, launch, spareEnv, start }: OtherEngineOrder) {
  const platform = new ProcessPlatform({
    runsFolder,
    runnerCommand,
    runtimeFolder: undefined,
    ...(spareEnv === undefined ? {} : { spareEnv }),
    clock: createClock(),
    random: systemRandom,
    log: noLog,
  });
  await platform.launch(launch, within());
  process.stdout.write("launched\n");
  while (spareEnv !== undefined) {
    const { runner } = await platform.inspect(launch.runId, within());
    if (runner === "running") break;
    await sleep(20);
  }
  if (start === undefined) return await sleep(600_000);
  const connection = platform.connect(launch.runId);
  for (let up = false; !up; ) {
    up = await connection.hello(within()).then(
      () => true,
      () => sleep(20, false),
    );
  }
  for (const { name, path } of start.inputs) {
    await connection.putFile(inputOf(name, readFileSync(path)), within());
  }
  await connection.start(start.order, within());
  const call = { signal: AbortSignal.timeout(600_000) };
  for await (const _ of connection.watch({ fromSequence: 1, logOffset: 0 }, call));
}

function within() {
  return { signal: AbortSignal.timeout(10_000) };
}

const [order] = process.argv.slice(2);
if (order !== undefined) await main(JSON.parse(order));
