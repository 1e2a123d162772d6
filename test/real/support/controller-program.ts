// The cluster's controller as a program of its own, with runners as processes of this machine and
// states behind a door of its own: for tests on an API server that has no nodes.
import { join } from "node:path";
import { ProcessPlatform } from "../../../src/adapters/process/platform.ts";
import { openDatabase } from "../../../src/adapters/sqlite/database.ts";
import { SqliteStates } from "../../../src/adapters/sqlite/state.ts";
import { openStateDoor } from "../../../src/adapters/state-door/server.ts";
import { createClock } from "../../../src/adapters/system/clock.ts";
import { systemRandom } from "../../../src/adapters/system/random.ts";
import { type MakeRunnerParts, runController } from "../../../src/main/cluster-controller.ts";
import { controllerSettings } from "../../../src/main/controller-settings.ts";
import { childEnvironment } from "../../../src/main/environment.ts";
import { programFile } from "../../../src/main/package.ts";
import { pinnedTools } from "../../../src/testing/pinned-tools.ts";

process.umask(0o077);
const clock = createClock();
const interrupt = new AbortController();
process.on("SIGTERM", () => interrupt.abort(new Error("Told to stop")));

const makeRunners: MakeRunnerParts = async ({ dataDir, log }, signal) => {
  // What runs of an engine before know of: shared by all controllers of the test.
  const shared = process.env.TEST_RUNNERS ?? dataDir;
  const database = openDatabase(join(shared, "states.db"));
  const storage = new SqliteStates({ database, folder: join(shared, "states"), clock });
  const portFile = join(shared, "state-door.json");
  const runsMayWait = true;
  const { door, close } = await openStateDoor(
    { storage, log, clock, random: systemRandom, portFile, runsMayWait },
    { signal },
  );
  const platform = new ProcessPlatform({
    runsFolder: join(shared, "runs"),
    runnerCommand: [
      process.execPath,
      "--disable-warning=ExperimentalWarning",
      programFile("runner"),
    ],
    runtimeFolder: undefined,
    ...{ clock, random: systemRandom, log },
  });
  return {
    ...{ platform, door, runnersArePods: false },
    runnerEnv: { ...childEnvironment(process.env, []).env, NIGARI_TOFU: pinnedTools().tofu },
    async close() {
      await close({ signal: clock.deadline("Closing", 10_000) });
      database.close();
    },
  };
};

const ended = new AbortController();
const alive = clock.sleep(Number.MAX_SAFE_INTEGER, ended.signal);
const settings = controllerSettings(process.argv.slice(2), process.env);
process.exitCode = await runController(settings, makeRunners, {
  clock,
  env: process.env,
  interrupted: interrupt.signal,
});
ended.abort();
await alive;
clock.close();
