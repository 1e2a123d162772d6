// The state door of one data directory as a program of its own, so that a test can kill it. It is
// told by messages which method to call, and answers each with the result or the error.
import { join } from "node:path";
import { openDatabase } from "../../../src/adapters/sqlite/database.ts";
import { SqliteStates } from "../../../src/adapters/sqlite/state.ts";
import { openStateDoor } from "../../../src/adapters/state-door/server.ts";
import { createClock } from "../../../src/adapters/system/clock.ts";
import { systemRandom } from "../../../src/adapters/system/random.ts";
import type { Order } from "./door.ts";

const [dataDir = "", dieAfterWrite] = process.argv.slice(2);
const call = { signal: new AbortController().signal };
const clock = createClock();
const lines: string[] = [];
function note(message: string, fields?: object): void {
  lines.push(`${message} ${JSON.stringify(fields ?? {})}`);
}

const database = openDatabase(join(dataDir, "nigari.db"));
const states = new SqliteStates({ database, folder: join(dataDir, "states"), clock });
if (dieAfterWrite === "die-after-write") {
  const write = states.write.bind(states);
  states.write = async (...of) => {
    await write(...of);
    // What is written is written; the answer is lost.
    process.kill(process.pid, "SIGKILL");
    throw new Error("Killed");
  };
}
const { door, port } = await openStateDoor(
  {
    storage: states,
    log: { info: note, warn: note, error: note, debug: note },
    clock,
    random: systemRandom,
    portFile: join(dataDir, "state-door.json"),
    runsMayWait: true,
  },
  call,
);

async function obey({ method, args }: Order): Promise<unknown> {
  if (method === "log") return lines;
  if (method === "memory") return process.resourceUsage().maxRSS * 1024;
  const object: object = Reflect.has(door, method) ? door : states;
  const found: unknown = Reflect.get(object, method);
  if (typeof found !== "function") throw new TypeError(`No method ${method}`);
  return Reflect.apply(found, object, [...args, call]);
}
process.on("message", (order: Order) => {
  void obey(order).then(
    (result) => process.send?.({ id: order.id, result }),
    (error: unknown) => process.send?.({ id: order.id, error: String(error) }),
  );
});
process.on("disconnect", () => process.exit());
process.send?.({ port });
