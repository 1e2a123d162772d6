// The cluster's controller as a program of its own, with runners as processes of this machine and
// states behind a door of its own: for tests on an API server that has no nodes.
import { join } from "node:path";
import { openDatabase } from "../../../src/adapters/sqlite/database.ts";
import { SqliteStates } from "../../../src/adapters/sqlite/state.ts";
import { openStateDoor } from "../../../src/adapters/state-door/server.ts";
import { systemRandom } from "../../../src/adapters/system/random.ts";
import { runTestController, sharedFolder } from "./controller-runners.ts";

await runTestController(async (cluster, clock, signal) => {
  const shared = sharedFolder(cluster);
  const database = openDatabase(join(shared, "states.db"));
  const storage = new SqliteStates({ database, folder: join(shared, "states"), clock });
  const portFile = join(shared, "state-door.json");
  const { log } = cluster;
  const runsMayWait = true;
  const { door, close } = await openStateDoor(
    { storage, log, clock, random: systemRandom, portFile, runsMayWait },
    { signal },
  );
  return {
    door,
    async close() {
      await close({ signal: clock.deadline("Closing", 10_000) });
      database.close();
    },
  };
});
