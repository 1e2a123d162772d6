import { createHash } from "node:crypto";
import type { LockFact, RescuedState, StateHeadFact } from "../../domain/facts.ts";
import { isEpochCurrent } from "../../domain/guards.ts";
import {
  readStateHead,
  type StateHead,
  StateScanner,
  withSerial,
} from "../../domain/state-file.ts";
import { holdsLock, isCoveredBy } from "../../domain/state-guards.ts";
import {
  beyondHistory,
  judgePush,
  judgeRescue,
  judgeRollback,
  judgeWrite,
  type KeptState,
  type KeptVersion,
} from "../../domain/state-rules.ts";
import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";
import {
  describeState,
  EpochOver,
  type LockReturned,
  type LockTaken,
  type StateAdmin,
  type StateContent,
  type StateGrant,
  type StateId,
  type StateLock,
  type StatePush,
  StateRefused,
  type StateRollback,
  type StateStorage,
  type StateSummary,
  type StateVersion,
  type StateWrite,
  type StateWritten,
} from "../../ports/state.ts";

interface Version extends KeptVersion {
  kept: StateVersion["kept"];
  readonly content: Uint8Array;
  readonly sizeBytes: number;
  readonly at: string;
}
interface State {
  readonly id: StateId;
  lock: StateLock | undefined;
  returnedLockId: string | undefined;
  versions: Version[];
}
interface Grant {
  readonly state: StateId;
  readonly order: number;
  readonly passwordHashes: Uint8Array[];
  revoked: boolean;
}

/** The states of a test, in memory; the same contract as the real storage. */
export class MemoryStates implements StateStorage, StateAdmin {
  readonly #clock: Pick<Clock, "now">;
  readonly #states = new Map<string, State>();
  readonly #grants = new Map<string, Grant>();
  #order = 0;
  #newestEpoch = 0;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  async grant(state: StateId, runId: string, hash: Uint8Array, call: Call): Promise<void> {
    this.#meet(call);
    const known = this.#grants.get(runId);
    if (known?.revoked) throw new StateRefused(`Run ${runId} was revoked; start a new run`);
    if (known !== undefined && key(known.state) !== key(state)) {
      throw new StateRefused(`Run ${runId} has access to ${describeState(known.state)} already`);
    }
    if (known !== undefined) known.passwordHashes.push(hash);
    else {
      const grant = { state, order: this.#order, passwordHashes: [hash], revoked: false };
      this.#grants.set(runId, grant);
    }
  }

  async granted(runId: string, call: Call): Promise<StateGrant | undefined> {
    call.signal.throwIfAborted();
    return this.#grants.get(runId);
  }

  async revoke(runId: string, _proof: string, call: Call): Promise<void> {
    this.#meet(call);
    const grant = this.#grants.get(runId);
    if (grant !== undefined) grant.revoked = true;
  }

  async read(state: StateId, call: Call): Promise<StateContent | undefined> {
    const content = await this.show(state, undefined, call);
    if (content === undefined) return undefined;
    return { sizeBytes: content.length, chunks: chunksOf(content) };
  }

  async write(write: StateWrite, chunks: AsyncIterable<Uint8Array>): Promise<StateWritten> {
    const parts: Uint8Array[] = [];
    for await (const chunk of chunks) parts.push(chunk.slice());
    const content = new Uint8Array(Buffer.concat(parts));
    const head = readStateHead(content);
    if ("problem" in head) return { became: "nothing", why: head.problem };
    const state = this.#state(write.state);
    const version = this.#version(content, head, write.runId);
    const revoked = this.#grants.get(write.runId)?.revoked ?? true;
    const incoming = { head, digest: version.digest, runId: write.runId, revoked };
    const verdict = judgeWrite(incoming, write.lockId, kept(state));
    if (verdict.become === "aside") {
      return { became: "aside", id: this.#keepAside(state, version), why: verdict.why };
    }
    const repeated = verdict.become === "repeated";
    return { became: "current", id: this.#makeCurrent(state, version), repeated };
  }

  async takeLock(lock: StateLock, call: Call): Promise<LockTaken> {
    call.signal.throwIfAborted();
    if (this.#grants.get(lock.runId)?.revoked ?? true) return { taken: false, holder: undefined };
    const state = this.#state(lock.state);
    const same = state.lock?.id === lock.id && state.lock.runId === lock.runId;
    if (state.lock !== undefined && !same) return { taken: false, holder: state.lock };
    state.lock = lock;
    return { taken: true };
  }

  async returnLock(id: StateId, runId: string, lockId: string, call: Call): Promise<LockReturned> {
    call.signal.throwIfAborted();
    const state = this.#state(id);
    const holder = state.lock;
    if (holder === undefined || state.returnedLockId === lockId) return { returned: true };
    if (holder.id !== lockId || holder.runId !== runId) return { returned: false, holder };
    state.lock = undefined;
    state.returnedLockId = lockId;
    return { returned: true };
  }

  async remove(id: StateId, runId: string, call: Call): Promise<"removed" | "refused"> {
    call.signal.throwIfAborted();
    const state = this.#state(id);
    const revoked = this.#grants.get(runId)?.revoked ?? true;
    if (revoked || !holdsLock(runId, state.lock)) return "refused";
    this.#retire(state);
    return "removed";
  }

  async head(id: StateId, call: Call): Promise<StateHeadFact> {
    call.signal.throwIfAborted();
    const found = ({ serial, lineage, resources }: Version) => ({ serial, lineage, resources });
    const state = this.#state(id);
    const now = current(state);
    if (now !== undefined) return { state: "present", runId: now.runId, ...found(now) };
    const former = state.versions.filter(({ kept }) => kept === "history").at(-1);
    return { state: "absent", former: former && found(former) };
  }

  async lock(id: StateId, call: Call): Promise<LockFact | undefined> {
    call.signal.throwIfAborted();
    return lockFact(this.#state(id).lock);
  }

  async release(id: StateId, lockId: string, _why: string, call: Call): Promise<boolean> {
    this.#meet(call);
    const state = this.#state(id);
    if (state.lock?.id !== lockId) return false;
    state.lock = undefined;
    state.returnedLockId = lockId;
    return true;
  }

  async rescued(id: StateId, call: Call): Promise<RescuedState[]> {
    call.signal.throwIfAborted();
    return rescuedOf(this.#state(id));
  }

  async rescue(
    id: StateId,
    runId: string,
    content: Uint8Array,
    call: Call,
  ): Promise<{ id: string; became: "current" | "aside" }> {
    this.#meet(call);
    const head = readStateHead(content);
    if ("problem" in head) throw notAState(id, head.problem);
    const state = this.#state(id);
    const version = this.#version(content, head, runId);
    const was = state.versions.find(
      ({ kept, digest, ...old }) =>
        kept === "history" && digest === version.digest && old.runId === runId,
    );
    if (was !== undefined) return { id: name(was), became: "current" };
    const grant = this.#grants.get(runId);
    const revoked = grant?.revoked ?? false;
    const incoming = { head, digest: version.digest, runId, revoked };
    if (judgeRescue(incoming, grant?.order, kept(state)).become === "aside") {
      return { id: this.#keepAside(state, version), became: "aside" };
    }
    return { id: this.#makeCurrent(state, version), became: "current" };
  }

  async list(call: Call): Promise<StateSummary[]> {
    call.signal.throwIfAborted();
    return [...this.#states.values()]
      .filter((state) => state.versions.length > 0 || state.lock !== undefined)
      .map(summaryOf)
      .sort((a, b) => (key(a) < key(b) ? -1 : 1));
  }

  async show(
    id: StateId,
    version: string | undefined,
    call: Call,
  ): Promise<Uint8Array | undefined> {
    call.signal.throwIfAborted();
    const found = this.#state(id).versions.find((each) =>
      version === undefined ? each.kept === "current" : name(each) === version,
    );
    return found?.content;
  }

  async push(id: StateId, push: StatePush, call: Call): Promise<StateSummary> {
    call.signal.throwIfAborted();
    const state = this.#state(id);
    const version = push.from === "content" ? this.#pushed(id, push.content) : find(state, push.id);
    if (current(state)?.digest !== version.digest) {
      const refusal = judgePush(version, push.force, kept(state));
      if (refusal !== undefined) throw refused(id, refusal);
    }
    state.versions = state.versions.filter((each) => each !== version);
    this.#makeCurrent(state, { ...version, order: ++this.#order });
    return summaryOf(state);
  }

  async versions(id: StateId, call: Call): Promise<StateVersion[]> {
    call.signal.throwIfAborted();
    return this.#state(id)
      .versions.toSorted((a, b) => b.order - a.order)
      .map(({ kept, serial, lineage, resources, sizeBytes, at, runId, ...version }) => ({
        id: name(version),
        ...{ kept, serial, lineage, resources, sizeBytes, at, runId },
      }));
  }

  async rollback(id: StateId, to: StateRollback, call: Call): Promise<StateSummary> {
    call.signal.throwIfAborted();
    const state = this.#state(id);
    const found = state.versions.find((each) => each.kept !== "aside" && name(each) === to.version);
    if (found === undefined) throw refused(id, `has no version ${to.version} to roll back to`);
    const serials = state.versions.map(({ serial }) => serial);
    const verdict = judgeRollback(found, to.force, { ...kept(state), serials });
    if ("refusal" in verdict) throw refused(id, verdict.refusal);
    const scanner = new StateScanner();
    scanner.feed(found.content);
    scanner.end();
    const parts: Uint8Array[] = [];
    const content = withSerial(chunksOf(found.content), scanner.serialPlace(), verdict.serial);
    for await (const part of content) parts.push(part);
    this.#makeCurrent(state, this.#pushed(id, new Uint8Array(Buffer.concat(parts))));
    return summaryOf(state);
  }

  async drop(id: StateId, rescuedId: string, call: Call): Promise<void> {
    call.signal.throwIfAborted();
    const state = this.#state(id);
    const version = find(state, rescuedId);
    state.versions = state.versions.filter((each) => each !== version);
  }

  /** Before whatever an engine asks to be done. */
  #meet({ signal, epoch }: Call): void {
    signal.throwIfAborted();
    if (epoch === undefined) return;
    if (!isEpochCurrent(epoch, this.#newestEpoch)) throw new EpochOver(epoch, this.#newestEpoch);
    this.#newestEpoch = epoch;
  }

  #state(id: StateId): State {
    const { namespace, name, workspace } = id;
    const found = this.#states.get(key(id)) ?? {
      id: { namespace, name, workspace },
      lock: undefined,
      returnedLockId: undefined,
      versions: [],
    };
    this.#states.set(key(id), found);
    return found;
  }

  #version(content: Uint8Array, head: StateHead, runId: string | undefined): Version {
    const digest = createHash("sha256").update(content).digest("hex");
    const at = new Date(this.#clock.now()).toISOString();
    const order = ++this.#order;
    return { ...head, order, kept: "aside", digest, runId, at, content, sizeBytes: content.length };
  }

  #pushed(id: StateId, content: Uint8Array): Version {
    const head = readStateHead(content);
    if ("problem" in head) throw notAState(id, head.problem);
    return this.#version(content, head, undefined);
  }

  #makeCurrent(state: State, version: Version): string {
    const before = current(state);
    if (before?.digest === version.digest) return name(before);
    this.#retire(state);
    const rest = state.versions.filter(
      (each) => !(each.kept === "aside" && isCoveredBy(each, version)),
    );
    version.kept = "current";
    const history = rest.filter(({ kept }) => kept === "history").toReversed();
    const gone = new Set(beyondHistory(history));
    state.versions = [...rest.filter((each) => !gone.has(each)), version];
    return name(version);
  }

  #retire(state: State): void {
    const before = current(state);
    if (before !== undefined) before.kept = "history";
  }

  #keepAside(state: State, version: Version): string {
    const aside = state.versions.filter(({ kept }) => kept === "aside");
    const same = aside.find(({ digest }) => digest === version.digest);
    if (same !== undefined) return name(same);
    const covered = aside.filter((each) => isCoveredBy(each, version));
    state.versions = [...state.versions.filter((each) => !covered.includes(each)), version];
    return name(version);
  }
}

function key({ namespace, name, workspace }: StateId): string {
  return JSON.stringify([namespace, name, workspace]);
}
function name({ order }: { order: number }): string {
  return `v${order}`;
}
function current(state: State): Version | undefined {
  return state.versions.find(({ kept }) => kept === "current");
}
function kept(state: State): KeptState {
  return { current: current(state), lock: state.lock };
}
function find(state: State, id: string): Version {
  const found = state.versions.find((each) => name(each) === id && each.kept === "aside");
  if (found === undefined) throw refused(state.id, `has no version ${id} that was kept aside`);
  return found;
}
function lockFact(lock: StateLock | undefined): LockFact | undefined {
  if (lock === undefined) return undefined;
  const { id, operation, who, created, runId } = lock;
  return { id, operation, who, created, runId };
}
function rescuedOf(state: State): RescuedState[] {
  return state.versions
    .filter(({ kept }) => kept === "aside")
    .sort((a, b) => b.order - a.order)
    .map(({ serial, at, runId, ...version }) => {
      return { id: name(version), runId: runId ?? "", serial, at };
    });
}
function summaryOf(state: State): StateSummary {
  const found = current(state);
  return {
    ...state.id,
    serial: found?.serial ?? 0,
    lineage: found?.lineage ?? "",
    sizeBytes: found?.sizeBytes ?? 0,
    updatedAt: found?.at ?? "",
    lock: lockFact(state.lock),
    rescued: rescuedOf(state),
  };
}
function refused(id: StateId, clause: string): StateRefused {
  return new StateRefused(`${describeState(id)} ${clause}`);
}
function notAState(id: StateId, problem: string): StateRefused {
  return refused(id, `is left as it is, what was given is no state file: ${problem}`);
}
async function* chunksOf(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content;
}
