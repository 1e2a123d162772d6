import { describe } from "vitest";
import { stateStorageContract } from "../contracts/state-storage.ts";
import { MemoryStates } from "./memory-states.ts";

describe("states in memory", () => {
  stateStorageContract((clock) => new MemoryStates(clock));
});
