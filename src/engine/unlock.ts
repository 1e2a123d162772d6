import type { LockFact } from "../domain/facts.ts";
import { lockText } from "../domain/run-results.ts";
import type { Call } from "../ports/call.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import type { RunnerPlatform } from "../ports/runner.ts";
import { describeState, type StateDoor, type StateId, StateRefused } from "../ports/state.ts";

export interface UnlockPorts {
  readonly store: ObjectStore;
  readonly platform: RunnerPlatform;
  readonly door: StateDoor;
}

/**
 * Releases a state's lock whose holder is dead on proof, at a person's word; answers which it was.
 * `lockId`: only this one. Fails with StateRefused, which names the holder and what may be done.
 */
export async function unlockState(
  state: StateId,
  lockId: string | undefined,
  { store, platform, door }: UnlockPorts,
  call: Call,
): Promise<LockFact> {
  const refused = (clause: string) => new StateRefused(`${describeState(state)} ${clause}`);
  const lock = await door.lock(state, call);
  if (lock === undefined) throw refused("is not locked");
  const holder = `is locked by ${lockText(lock)}`;
  if (lockId !== undefined && lockId !== lock.id) throw refused(`${holder}, not by ${lockId}`);
  const { runId, abandoned } = lock;
  if (abandoned !== undefined) {
    const why = `A person ordered it; ${abandoned}, and a plan writes nothing`;
    await door.release(state, lock.id, why, call);
    return lock;
  }
  if (runId === undefined) {
    throw refused(`${holder}, which is no run of Nigari's; it is released where it was taken`);
  }
  const { namespace, name } = state;
  const object = await store.get({ kind: "Terraform", namespace, name }, call);
  const run = object?.status?.run;
  if (run?.id === runId) {
    throw refused(
      `${holder}: run ${runId} is under way (${run.operation}, stage ${run.stage}); wait for its ` +
        `end, or end it with "nigari end-run ${namespace}/${name}"`,
    );
  }
  const fact = await platform.inspect(runId, call);
  if (fact.workersAlive === undefined) {
    throw refused(`${holder}: whether run ${runId} lives cannot be known now; try again later`);
  }
  const lives = fact.runner === "starting" || fact.runner === "running";
  if (lives || fact.workersAlive > 0) {
    throw refused(
      `${holder}: run ${runId} lives, although no object names it; wait until its processes have ` +
        "ended by themselves",
    );
  }
  const proof = fact.proof ?? "no process of the run is left";
  // In this order: what still comes of that run must not take the place of what others write.
  await door.revoke(runId, proof, call);
  await door.release(
    state,
    lock.id,
    `A person ordered it, and run ${runId} is dead: ${proof}`,
    call,
  );
  return lock;
}
