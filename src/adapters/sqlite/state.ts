import type { DatabaseSync } from "node:sqlite";
import type { LockFact, RescuedState, StateHeadFact } from "../../domain/facts.ts";
import { isEpochCurrent } from "../../domain/guards.ts";
import { type StateHead, StateScanner, withSerial } from "../../domain/state-file.ts";
import { holdsLock, isCoveredBy } from "../../domain/state-guards.ts";
import {
  beyondHistory,
  type FormerVersion,
  judgePush,
  judgeRescue,
  judgeRollback,
  judgeWrite,
  type KeptState,
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
import { databaseError, transaction } from "./database.ts";
import { StateFiles, type StoredFile } from "./state-files.ts";
import { StateRows, type VersionRow } from "./state-rows.ts";

export interface SqliteStatesOptions {
  readonly database: DatabaseSync;
  /** Folder for the contents. */
  readonly folder: string;
  readonly clock: Pick<Clock, "now">;
}

/** A run's access is forgotten after this time: long after its last read. */
const GRANT_KEPT_MS = 90 * 24 * 60 * 60 * 1000;

type NewVersion = StoredFile & StateHead & { readonly runId: string | undefined };

/** The states of a data directory: rows in its database, contents in files beside it. */
export class SqliteStates implements StateStorage, StateAdmin {
  readonly #database: DatabaseSync;
  readonly #rows: StateRows;
  readonly #files: StateFiles;
  readonly #clock: Pick<Clock, "now">;

  /** Sweeps what an earlier crash has left in the folder. */
  constructor({ database, folder, clock }: SqliteStatesOptions) {
    this.#database = database;
    this.#rows = new StateRows(database);
    this.#files = new StateFiles(folder);
    this.#clock = clock;
    this.#files.sweep(this.#rows.files(), clock.now());
  }

  /** The newest epoch of an engine that has asked for something; 0: none has. */
  newestEpoch(): number {
    return this.#rows.newestEpoch();
  }

  async grant(state: StateId, runId: string, hash: Uint8Array, call: Call): Promise<void> {
    this.#atomic(call, () => {
      this.#rows.forgetGrants(this.#time(-GRANT_KEPT_MS));
      const known = this.#rows.grant(runId);
      if (known?.revoked) throw new StateRefused(`Run ${runId} was revoked; start a new run`);
      if (known !== undefined && describeState(known.state) !== describeState(state)) {
        throw new StateRefused(`Run ${runId} has access to another state; start a new run`);
      }
      if (known === undefined) this.#rows.addGrant(runId, state, this.#time());
      this.#rows.addPassword(runId, hash);
    });
  }

  async granted(runId: string, call: Call): Promise<StateGrant | undefined> {
    return this.#atomic(call, () => {
      const grant = this.#rows.grant(runId);
      return grant && { ...grant, passwordHashes: this.#rows.passwords(runId) };
    });
  }

  async revoke(runId: string, proof: string, call: Call): Promise<void> {
    this.#atomic(call, () => this.#rows.revoke(runId, proof));
  }

  async head(state: StateId, call: Call): Promise<StateHeadFact> {
    const versions = this.#atomic(call, () => this.#rows.versions(state));
    const current = versions.find(({ kept }) => kept === "current");
    const damage = current && this.#files.damageOf(current);
    const head = headOf(versions);
    return head.state === "absent" || damage === undefined ? head : { ...head, damage };
  }

  async read(state: StateId, call: Call): Promise<StateContent | undefined> {
    const current = this.#atomic(call, () => this.#rows.current(state));
    if (current === undefined) return undefined;
    const chunks = await this.#files.read(current, call);
    return { sizeBytes: current.sizeBytes, chunks };
  }

  async write(
    write: StateWrite,
    content: AsyncIterable<Uint8Array>,
    call: Call,
  ): Promise<StateWritten> {
    const { state, runId, lockId } = write;
    const { stored, head } = await this.#files.store(content, call);
    return this.#settle(stored, call, (): StateWritten => {
      if ("problem" in head) return { became: "nothing", why: head.problem };
      const { digest } = stored;
      const revoked = this.#rows.grant(runId)?.revoked ?? true;
      const version = { ...stored, ...head, runId };
      const verdict = judgeWrite({ head, digest, runId, revoked }, lockId, this.#kept(state));
      if (verdict.become === "aside") {
        return { became: "aside", id: this.#keepAside(state, version), why: verdict.why };
      }
      const repeated = verdict.become === "repeated";
      return { became: "current", id: this.#makeCurrent(state, version), repeated };
    });
  }

  async remove(state: StateId, runId: string, call: Call): Promise<"removed" | "refused"> {
    return this.#atomic(call, () => {
      const revoked = this.#rows.grant(runId)?.revoked ?? true;
      if (revoked || !holdsLock(runId, this.#rows.lock(state))) return "refused";
      const current = this.#rows.current(state);
      if (current !== undefined) this.#rows.retire(current);
      return "removed";
    });
  }

  async takeLock(lock: StateLock, call: Call): Promise<LockTaken> {
    return this.#atomic(call, (): LockTaken => {
      if (this.#rows.grant(lock.runId)?.revoked ?? true) return { taken: false, holder: undefined };
      const holder = this.#rows.lock(lock.state);
      const same = holder?.id === lock.id && holder.runId === lock.runId;
      if (holder !== undefined && !same) return { taken: false, holder };
      this.#rows.takeLock(lock);
      return { taken: true };
    });
  }

  async returnLock(
    state: StateId,
    runId: string,
    lockId: string,
    call: Call,
  ): Promise<LockReturned> {
    return this.#atomic(call, (): LockReturned => {
      const holder = this.#rows.lock(state);
      const gone = holder === undefined || this.#rows.returnedLockId(state) === lockId;
      if (gone) return { returned: true };
      if (holder.id !== lockId || holder.runId !== runId) return { returned: false, holder };
      this.#rows.returnLock(state, lockId);
      return { returned: true };
    });
  }

  async lock(state: StateId, call: Call): Promise<LockFact | undefined> {
    return this.#atomic(call, () => factOf(this.#rows.lock(state)));
  }

  async release(state: StateId, lockId: string, _why: string, call: Call): Promise<boolean> {
    return this.#atomic(call, () => {
      if (this.#rows.lock(state)?.id !== lockId) return false;
      this.#rows.returnLock(state, lockId);
      return true;
    });
  }

  async rescued(state: StateId, call: Call): Promise<RescuedState[]> {
    return this.#atomic(call, () => rescuedOf(this.#rows.versions(state)));
  }

  async rescue(
    state: StateId,
    runId: string,
    content: Uint8Array,
    call: Call,
  ): Promise<{ id: string; became: "current" | "aside" }> {
    const version = await this.#store(state, content, runId, call);
    return this.#settle(version, call, () => {
      const { digest } = version;
      const was = this.#rows
        .versions(state)
        .find((old) => old.kept === "history" && old.digest === digest && old.runId === runId);
      if (was !== undefined) return { id: nameOf(was), became: "current" as const };
      const grant = this.#rows.grant(runId);
      const incoming = { head: version, digest, runId, revoked: grant?.revoked ?? false };
      const verdict = judgeRescue(incoming, grant?.order, this.#kept(state));
      return verdict.become === "aside"
        ? { id: this.#keepAside(state, version), became: "aside" as const }
        : { id: this.#makeCurrent(state, version), became: "current" as const };
    });
  }

  async list(call: Call): Promise<StateSummary[]> {
    return this.#atomic(call, () => {
      const all = this.#rows.states().map((state) => this.#summary(state));
      return all.filter(
        ({ updatedAt, lock, rescued }) =>
          updatedAt !== "" || lock !== undefined || rescued.length > 0,
      );
    });
  }

  async show(
    state: StateId,
    version: string | undefined,
    call: Call,
  ): Promise<Uint8Array | undefined> {
    const found = this.#atomic(call, () =>
      version === undefined
        ? this.#rows.current(state)
        : this.#rows.versions(state).find((each) => nameOf(each) === version),
    );
    if (found === undefined) return undefined;
    const chunks: Uint8Array[] = [];
    for await (const chunk of await this.#files.read(found, call)) chunks.push(chunk);
    return new Uint8Array(Buffer.concat(chunks));
  }

  async versions(state: StateId, call: Call): Promise<StateVersion[]> {
    const found = this.#atomic(call, () => this.#rows.versions(state));
    return found.map((version) => {
      const { serial, lineage, resources, sizeBytes, at, runId, kept } = version;
      return { id: nameOf(version), serial, lineage, resources, sizeBytes, at, runId, kept };
    });
  }

  async rollback(state: StateId, to: StateRollback, call: Call): Promise<StateSummary> {
    const row = this.#atomic(call, () => this.#formerVersion(state, to.version));
    const scanner = new StateScanner();
    for await (const chunk of await this.#files.read(row, call)) scanner.feed(chunk);
    // What the row says of its resources is not known of versions of before that was asked.
    const version = { ...row, ...scanner.end() };
    const serial = this.#atomic(call, () => this.#serialBack(state, version, to.force));
    const old = await this.#files.read(row, call);
    const { stored, head } = await this.#files.store(
      withSerial(old, scanner.serialPlace(), serial),
      call,
    );
    return this.#settle(stored, call, () => {
      // Somebody may have written in between.
      const again = this.#serialBack(state, version, to.force);
      if ("problem" in head || head.serial < again) {
        throw new StateRefused(
          `${describeState(state)} was changed in the meantime; look at it and try again`,
        );
      }
      this.#makeCurrent(state, { ...stored, ...head, runId: undefined });
      return this.#summary(state);
    });
  }

  async push(state: StateId, push: StatePush, call: Call): Promise<StateSummary> {
    if (push.from === "rescued") {
      return this.#settle(undefined, call, () => this.#accept(state, push.id, push.force));
    }
    const version = await this.#store(state, push.content, undefined, call);
    return this.#settle(version, call, () => {
      this.#mayPush(state, version, push.force);
      this.#makeCurrent(state, version);
      return this.#summary(state);
    });
  }

  async drop(state: StateId, rescuedId: string, call: Call): Promise<void> {
    this.#settle(undefined, call, () => this.#rows.remove([this.#aside(state, rescuedId)]));
  }

  /** The version kept aside goes, and comes back as a new one: its number tells when. */
  #accept(state: StateId, id: string, force: boolean): StateSummary {
    const version = this.#aside(state, id);
    this.#mayPush(state, version, force);
    this.#rows.remove([version]);
    this.#makeCurrent(state, version);
    return this.#summary(state);
  }

  #mayPush(state: StateId, version: NewVersion, force: boolean): void {
    const kept = this.#kept(state);
    if (kept.current?.digest === version.digest) return;
    const refusal = judgePush(version, force, kept);
    if (refusal !== undefined) throw new StateRefused(`${describeState(state)} ${refusal}`);
  }

  #formerVersion(state: StateId, id: string): VersionRow {
    const versions = this.#rows.versions(state);
    const found = versions.find((each) => each.kept !== "aside" && nameOf(each) === id);
    if (found !== undefined) return found;
    throw new StateRefused(noSuchVersion(state, id));
  }

  /** The serial that a version gets when it becomes current once more. */
  #serialBack(state: StateId, version: FormerVersion, force: boolean): number {
    const serials = this.#rows.versions(state).map(({ serial }) => serial);
    const verdict = judgeRollback(version, force, { ...this.#kept(state), serials });
    if ("serial" in verdict) return verdict.serial;
    throw new StateRefused(`${describeState(state)} ${verdict.refusal}`);
  }

  #aside(state: StateId, id: string): VersionRow {
    const found = this.#rows
      .versions(state)
      .find((version) => version.kept === "aside" && nameOf(version) === id);
    if (found !== undefined) return found;
    throw new StateRefused(
      `${describeState(state)} has no version ${id} that was kept aside; ` +
        `"nigari state list ${state.namespace}/${state.name}" shows which there are`,
    );
  }

  #makeCurrent(state: StateId, version: NewVersion): string {
    const before = this.#rows.current(state);
    if (before?.digest === version.digest) {
      // The same content is how a damaged file is mended: what a person gives is always taken.
      const mends = version.runId === undefined || this.#files.damageOf(before) !== undefined;
      if (mends) this.#rows.refile(before, version.file);
      return nameOf(before);
    }
    if (before !== undefined) this.#rows.retire(before);
    const added = this.#add(state, version, "current");
    const others = this.#rows.versions(state);
    this.#rows.remove(beyondHistory(others.filter(({ kept }) => kept === "history")));
    this.#rows.remove(others.filter((each) => each.kept === "aside" && isCoveredBy(each, added)));
    return nameOf(added);
  }

  #keepAside(state: StateId, version: NewVersion): string {
    const aside = this.#rows.versions(state).filter(({ kept }) => kept === "aside");
    const same = aside.find(({ digest }) => digest === version.digest);
    if (same !== undefined) return nameOf(same);
    this.#rows.remove(aside.filter((each) => isCoveredBy(each, version)));
    return nameOf(this.#add(state, version, "aside"));
  }

  #add(state: StateId, version: NewVersion, kept: "current" | "aside"): VersionRow {
    const { serial, lineage, resources, sizeBytes, digest, file, runId } = version;
    const content = { serial, lineage, resources, sizeBytes, digest, file };
    const row = { ...content, runId, kept, at: this.#time() };
    return this.#rows.add(state, row);
  }

  #kept(state: StateId): KeptState {
    return { current: this.#rows.current(state), lock: this.#rows.lock(state) };
  }

  #summary(state: StateId): StateSummary {
    const versions = this.#rows.versions(state);
    const current = versions.find(({ kept }) => kept === "current");
    return {
      ...state,
      serial: current?.serial ?? 0,
      lineage: current?.lineage ?? "",
      sizeBytes: current?.sizeBytes ?? 0,
      updatedAt: current?.at ?? "",
      lock: factOf(this.#rows.lock(state)),
      rescued: rescuedOf(versions),
    };
  }

  #store(
    state: StateId,
    content: Uint8Array,
    runId: string | undefined,
    call: Call,
  ): Promise<NewVersion> {
    return this.#files.store([content], call).then(({ stored, head }) => {
      if (!("problem" in head)) return { ...stored, ...head, runId };
      this.#files.remove([stored.file]);
      throw new StateRefused(
        `${describeState(state)} is left as it is, what was given is no state file: ` +
          `${head.problem}; give a whole file as tofu wrote it`,
      );
    });
  }

  /** A transaction after which every file that no row names any more is removed. */
  #settle<T>(stored: StoredFile | undefined, call: Call, work: () => T): T {
    try {
      return this.#atomic(call, work);
    } finally {
      const files = [...this.#rows.takeRemovedFiles(), ...(stored ? [stored.file] : [])];
      this.#files.remove(files.filter((file) => !this.#rows.names(file)));
    }
  }

  #atomic<T>(call: Call, work: () => T): T {
    call.signal.throwIfAborted();
    try {
      return transaction(this.#database, () => {
        this.#meet(call.epoch);
        return work();
      });
    } catch (error) {
      throw databaseError(error, this.#database.location() ?? "in memory");
    }
  }

  /** Part of each transaction: whoever led before does nothing from here on. */
  #meet(epoch: number | undefined): void {
    if (epoch === undefined) return;
    const newest = this.#rows.newestEpoch();
    if (!isEpochCurrent(epoch, newest)) throw new EpochOver(epoch, newest);
    if (epoch !== newest) this.#rows.raiseEpoch(epoch);
  }

  #time(offsetMs = 0): string {
    return new Date(this.#clock.now() + offsetMs).toISOString();
  }
}

function noSuchVersion(state: StateId, id: string): string {
  const name = `${state.namespace}/${state.name}`;
  return (
    `${describeState(state)} has no version ${id} to roll back to; ` +
    `"nigari state history ${name}" shows which there are (one that was kept aside is accepted ` +
    'with "nigari state push --accept")'
  );
}

/** What the versions, newest first, say of the current state. */
function headOf(versions: readonly VersionRow[]): StateHeadFact {
  const current = versions.find(({ kept }) => kept === "current");
  if (current !== undefined) {
    return { state: "present", runId: current.runId, ...foundIn(current) };
  }
  const former = versions.find(({ kept }) => kept === "history");
  return { state: "absent", former: former && foundIn(former) };
}

function foundIn({ serial, lineage, resources }: VersionRow) {
  return { serial, lineage, resources };
}

/** What people call a version. */
function nameOf({ order }: VersionRow): string {
  return `v${order}`;
}

function factOf(lock: StateLock | undefined): LockFact | undefined {
  if (lock === undefined) return undefined;
  const { id, operation, who, created, runId } = lock;
  return { id, operation, who, created, runId };
}

function rescuedOf(versions: readonly VersionRow[]): RescuedState[] {
  return versions
    .filter(({ kept }) => kept === "aside")
    .map((each) => {
      return { id: nameOf(each), runId: each.runId ?? "", serial: each.serial, at: each.at };
    });
}
