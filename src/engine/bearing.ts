import type { Call } from "../ports/call.ts";
import type { RunnerPlatform } from "../ports/runner.ts";
import type { StateDoor } from "../ports/state.ts";

/** The platform as one leader sees it: every call bears his epoch. */
export function platformBearing(platform: RunnerPlatform, epoch: number): RunnerPlatform {
  const by = (call: Call): Call => ({ ...call, epoch });
  return {
    launch: (run, call) => platform.launch(run, by(call)),
    inspect: (runId, call) => platform.inspect(runId, by(call)),
    connect: (runId, older = epoch) => platform.connect(runId, older),
    signal: (runId, what, call) => platform.signal(runId, what, by(call)),
    collect: (runId, call, state) => platform.collect(runId, by(call), state),
    readFile: (runId, file, call) => platform.readFile(runId, file, by(call)),
    readLog: (runId, fromOffset, call) => platform.readLog(runId, fromOffset, by(call)),
    remove: (runId, call) => platform.remove(runId, by(call)),
    list: (call) => platform.list(by(call)),
    changes: (call) => platform.changes(by(call)),
  };
}

/** The state door as one leader sees it. */
export function doorBearing(door: StateDoor, epoch: number): StateDoor {
  const by = (call: Call): Call => ({ ...call, epoch });
  return {
    inSecrets: door.inSecrets,
    access: (state, runId, call) => door.access(state, runId, by(call)),
    revoke: (runId, proof, call) => door.revoke(runId, proof, by(call)),
    lock: (state, call) => door.lock(state, by(call)),
    release: (state, lockId, why, call) => door.release(state, lockId, why, by(call)),
    rescued: (state, call) => door.rescued(state, by(call)),
    head: (state, call) => door.head(state, by(call)),
    read: (state, call) => door.read(state, by(call)),
    rescue: (state, runId, content, call) => door.rescue(state, runId, content, by(call)),
  };
}
