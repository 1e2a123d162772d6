import { describe } from "vitest";
import { stateDoorContract } from "../../../testing/contracts/state-door.ts";
import { seededRandom, VirtualClock } from "../../../testing/fakes/clock.ts";
import { doorInSecrets } from "../../../testing/fakes/state-doors.ts";
import { memoryObjectStore } from "../../memory/object-store.ts";

describe("on a store in memory", () => {
  stateDoorContract(async () => {
    const store = memoryObjectStore({ clock: new VirtualClock(), random: seededRandom(1) });
    return doorInSecrets(store, { async close() {} });
  });
});
