import { ProcessPlatform } from "../../../src/adapters/process/platform.ts";
import { createClock } from "../../../src/adapters/system/clock.ts";
import { systemRandom } from "../../../src/adapters/system/random.ts";
import {
  type ClusterParts,
  type MakeRunnerParts,
  type RunnerParts,
  runController,
} from "../../../src/main/cluster-controller.ts";
import { controllerSettings } from "../../../src/main/controller-settings.ts";
import { childEnvironment } from "../../../src/main/environment.ts";
import { programFile } from "../../../src/main/package.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import { pinnedTools } from "../../../src/testing/pinned-tools.ts";

/** The part that a test's controller chooses: what keeps the states, and how runners are begun. */
export type TestParts = Pick<RunnerParts, "door" | "close"> & {
  /** Goes before the runner's own command. */
  readonly runnersBehind?: readonly string[];
  /** What specs say of pods is taken as obeyed; false if left out. */
  readonly runnersArePods?: boolean;
};

/** What all controllers of a test share: the runs of those before must be known to the next. */
export function sharedFolder({ dataDir }: ClusterParts): string {
  return process.env.TEST_RUNNERS ?? dataDir;
}

/** A controller whose runners are processes of this machine, as a program. */
export async function runTestController(
  make: (cluster: ClusterParts, clock: Clock, signal: AbortSignal) => Promise<TestParts>,
): Promise<void> {
  process.umask(0o077);
  const clock = createClock();
  const interrupt = new AbortController();
  process.on("SIGTERM", () => interrupt.abort(new Error("Told to stop")));
  const makeRunners: MakeRunnerParts = async (cluster, signal) => {
    const made = await make(cluster, clock, signal);
    const { door, close, runnersBehind = [], runnersArePods = false } = made;
    const program = programFile("runner");
    const platform = new ProcessPlatform({
      runsFolder: `${sharedFolder(cluster)}/runs`,
      runnerCommand: [
        ...runnersBehind,
        ...[process.execPath, "--disable-warning=ExperimentalWarning", program],
      ],
      runtimeFolder: undefined,
      ...{ clock, random: systemRandom, log: cluster.log },
    });
    const runnerEnv = {
      ...childEnvironment(process.env, []).env,
      NIGARI_TOFU: pinnedTools().tofu,
    };
    return { platform, door, close, runnerEnv, runnersArePods };
  };
  const ended = new AbortController();
  const alive = clock.sleep(Number.MAX_SAFE_INTEGER, ended.signal);
  const settings = controllerSettings(process.argv.slice(2), process.env);
  process.exitCode = await runController(settings, makeRunners, {
    ...{ clock, env: process.env, interrupted: interrupt.signal },
  });
  ended.abort();
  await alive;
  clock.close();
}
