import type { Random } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { describeState, type StateDoor, type StateStorage } from "../../ports/state.ts";
import { accessTo, hashPassword } from "./access.ts";

export interface StateDoorParts {
  readonly storage: StateStorage;
  readonly log: Log;
  readonly random: Random;
  /** Where the door is served, such as `http://127.0.0.1:20815`. */
  readonly address: string;
}

/** The door as the engine sees it: a storage with an address, of which passwords are handed out. */
export function createStateDoor({ storage, log, random, address }: StateDoorParts): StateDoor {
  return {
    inSecrets: false,
    async access(state, runId, call) {
      const password = random.hex(32);
      const access = accessTo(state, address, { runId, password });
      await storage.grant(state, runId, hashPassword(password), call);
      return access;
    },
    async revoke(runId, proof, call) {
      await storage.revoke(runId, proof, call);
      log.info("Revoked a run's access to its state", { run: runId, proof });
    },
    async release(state, lockId, why, call) {
      const released = await storage.release(state, lockId, why, call);
      if (released) log.info("Released a lock", { state: describeState(state), lock: lockId, why });
      return released;
    },
    async rescue(state, runId, content, call) {
      const answer = await storage.rescue(state, runId, content, call);
      const fields = { state: describeState(state), run: runId, version: answer.id };
      if (answer.became === "current") log.info("Took over a state that a run left behind", fields);
      else log.warn("Kept a state aside that a run left behind", fields);
      return answer;
    },
    head: (state, call) => storage.head(state, call),
    lock: (state, call) => storage.lock(state, call),
    rescued: (state, call) => storage.rescued(state, call),
    read: (state, call) => storage.read(state, call),
  };
}
