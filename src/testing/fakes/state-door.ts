import type { LockFact, RescuedState, StateHeadFact } from "../../domain/facts.ts";
import { isEpochCurrent } from "../../domain/guards.ts";
import type { Call } from "../../ports/call.ts";
import { EpochOver, type StateAccess, type StateDoor, type StateId } from "../../ports/state.ts";

/** A door whose states nobody reads: it notes what the engine asks of it, and answers as told. */
export class FakeStateDoor implements StateDoor {
  readonly inSecrets = false;
  /** Ids of revoked runs. */
  readonly revoked = new Set<string>();
  readonly released: string[] = [];
  readonly locks = new Map<string, LockFact>();
  readonly heads = new Map<string, StateHeadFact>();
  readonly kept = new Map<string, RescuedState[]>();
  /** What it did for an older epoch than it had met: a bug. */
  readonly outdated: string[] = [];
  /** Told of each lock that is released. */
  onRelease: (lockId: string) => void = () => {};
  /** What becomes of a state that a run left behind. */
  becomes: "current" | "aside" = "aside";

  #newestEpoch = 0;

  async access(state: StateId, runId: string, call: Call): Promise<StateAccess> {
    this.#obey("access", call);
    const env = { TF_HTTP_USERNAME: runId, TF_HTTP_PASSWORD: `password-of-${runId}` };
    return { backend: `terraform {\n  backend "http" {} # ${idOf(state)}\n}\n`, env };
  }
  async revoke(runId: string, _proof: string, call: Call): Promise<void> {
    this.#obey("revoke", call);
    this.revoked.add(runId);
  }
  async lock(state: StateId): Promise<LockFact | undefined> {
    return this.locks.get(idOf(state));
  }
  async release(state: StateId, lockId: string, _why: string, call: Call): Promise<boolean> {
    this.#obey("release", call);
    if (this.locks.get(idOf(state))?.id !== lockId) return false;
    this.released.push(lockId);
    this.onRelease(lockId);
    return this.locks.delete(idOf(state));
  }
  async rescued(state: StateId): Promise<RescuedState[]> {
    return [...(this.kept.get(idOf(state)) ?? [])];
  }
  async head(state: StateId): Promise<StateHeadFact> {
    return this.heads.get(idOf(state)) ?? { state: "absent", former: undefined };
  }
  async read(): Promise<undefined> {
    return undefined;
  }
  async rescue(state: StateId, runId: string, _content: Uint8Array, call: Call) {
    this.#obey("rescue", call);
    const kept = this.kept.get(idOf(state)) ?? [];
    const id = `rescued-${runId}`;
    if (this.becomes === "aside" && kept.every((each) => each.id !== id)) {
      kept.push({ id, runId, serial: 1, at: "2026-01-01T00:00:00Z" });
    }
    this.kept.set(idOf(state), kept);
    return { id, became: this.becomes };
  }

  /** Refuses who leads no longer. */
  #obey(what: string, { epoch }: Call): void {
    if (epoch === undefined) return;
    if (!isEpochCurrent(epoch, this.#newestEpoch)) throw new EpochOver(epoch, this.#newestEpoch);
    if (epoch < this.#newestEpoch) this.outdated.push(`${what} of epoch ${epoch}`);
    this.#newestEpoch = Math.max(this.#newestEpoch, epoch);
  }
}

function idOf(state: StateId): string {
  return `${state.namespace}/${state.name}/${state.workspace}`;
}
