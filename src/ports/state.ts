import type { LockFact, RescuedState, StateHeadFact } from "../domain/facts.ts";
import type { Call } from "./call.ts";

/** Which state: one of an object and a workspace. */
export interface StateId {
  readonly namespace: string;
  readonly name: string;
  readonly workspace: string;
  /** What the spec says of the Secret that it lies in; only a door with `inSecrets` reads it. */
  readonly secret?: StateSecret;
}
/** What spec.backendConfig says of a state's Secret; what it leaves out is as by default. */
export interface StateSecret {
  /** The object's name by default. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** The run uses its pod's own credentials; true by default. */
  readonly inCluster?: boolean;
}

/**
 * Where the states lie that the engine can look at without a run: with Nigari itself (standalone
 * default; runs reach them over HTTP with credentials of their own), or in Secrets of a cluster.
 * `access`, `revoke`, `release` and `rescue` fail with `EpochOver`, and change nothing, if the call
 * bears an older epoch than one before did; the newest is kept with the states, and judged in the
 * very transaction that acts.
 */
export interface StateDoor {
  /** States lie in Secrets, as OpenTofu's backend "kubernetes" writes them. */
  readonly inSecrets: boolean;
  /** HCL and environment by which a run reaches this state. The password is in `env` alone. */
  access(state: StateId, runId: string, call: Call): Promise<StateAccess>;
  /** The run's later writes are kept aside, never current; it may still read. */
  revoke(runId: string, proof: string, call: Call): Promise<void>;
  lock(state: StateId, call: Call): Promise<LockFact | undefined>;
  /** Releases the lock if it still has this id; true if it was released. */
  release(state: StateId, lockId: string, why: string, call: Call): Promise<boolean>;
  rescued(state: StateId, call: Call): Promise<RescuedState[]>;
  /** What the current state is, or the last one that there was. Reads no content. */
  head(state: StateId, call: Call): Promise<StateHeadFact>;
  /** The current state; fails with `StateDamaged` rather than to pass for an absent one. */
  read(state: StateId, call: Call): Promise<StateContent | undefined>;
  /**
   * Keeps a state that a run left behind (errored.tfstate). It becomes current if it has the same
   * lineage and a higher serial, the run is not revoked, the lock is the run's or free, and nobody
   * else has written since the run was given access; otherwise it is kept aside for a person. So
   * collect first and revoke afterwards. Safe to do again. Fails with `StateRefused` if the content
   * is no state.
   */
  rescue(
    state: StateId,
    runId: string,
    content: Uint8Array,
    call: Call,
  ): Promise<{ readonly id: string; readonly became: "current" | "aside" }>;
}

export interface StateAccess {
  /** Body of backend_override.tf. */
  readonly backend: string;
  readonly env: Readonly<Record<string, string>>;
  /** The backend has workspaces, of which the run selects its own; else the address names it. */
  readonly hasWorkspaces?: boolean;
}

/**
 * Whatever keeps the states, seen from the HTTP part of the door: `StateDoor` without the address,
 * and what a run asks for over HTTP. Everything acknowledged is on the disk. What a run may do is
 * judged at the moment it takes effect, so a write that is under way while its run is revoked is
 * kept aside. The same contract suite runs on every implementation
 * (`src/testing/contracts/state-storage.ts`).
 */
export interface StateStorage extends Omit<StateDoor, "access" | "inSecrets"> {
  /**
   * Adds a password of this run, by its SHA-256; earlier ones stay good. Fails with `StateRefused`
   * if the run is revoked or has access to another state, and with `EpochOver` as `access` does.
   */
  grant(state: StateId, runId: string, passwordHash: Uint8Array, call: Call): Promise<void>;
  granted(runId: string, call: Call): Promise<StateGrant | undefined>;
  /** Keeps nothing if `content` throws, and fails with its error. */
  write(write: StateWrite, content: AsyncIterable<Uint8Array>, call: Call): Promise<StateWritten>;
  /** Taking the very same lock again is fine: the first answer may have been lost. */
  takeLock(lock: StateLock, call: Call): Promise<LockTaken>;
  /** Returning a lock that is gone is fine, for the same reason. */
  returnLock(state: StateId, runId: string, lockId: string, call: Call): Promise<LockReturned>;
  /** The current state becomes history. Needs the lock, as a write does. */
  remove(state: StateId, runId: string, call: Call): Promise<"removed" | "refused">;
}

export interface StateGrant {
  readonly state: StateId;
  readonly revoked: boolean;
  /** SHA-256 of each password. */
  readonly passwordHashes: readonly Uint8Array[];
}
export interface StateContent {
  readonly sizeBytes: number;
  readonly chunks: AsyncIterable<Uint8Array>;
}
export interface StateWrite {
  readonly state: StateId;
  readonly runId: string;
  /** Id of the lock that the writer says it holds. */
  readonly lockId: string | undefined;
}
export type StateWritten =
  /** `repeated`: this very content was current already. */
  | { readonly became: "current"; readonly id: string; readonly repeated: boolean }
  | { readonly became: "aside"; readonly id: string; readonly why: string }
  /** Not a state; nothing is kept. */
  | { readonly became: "nothing"; readonly why: string };

/** A lock as tofu describes it (statemgr.LockInfo), and the run of ours that took it. */
export interface StateLock {
  readonly state: StateId;
  readonly runId: string;
  readonly id: string;
  readonly operation: string;
  readonly info: string;
  readonly who: string;
  readonly version: string;
  /** RFC 3339. */
  readonly created: string;
  readonly path: string;
}
export type LockTaken =
  | { readonly taken: true }
  /** `holder` undefined: the run is revoked. */
  | { readonly taken: false; readonly holder: StateLock | undefined };
export type LockReturned =
  | { readonly returned: true }
  | { readonly returned: false; readonly holder: StateLock };

/** The same states, seen by a person with the CLI. */
export interface StateAdmin {
  list(call: Call): Promise<StateSummary[]>;
  show(state: StateId, version: string | undefined, call: Call): Promise<Uint8Array | undefined>;
  /**
   * Makes this content the current state: same lineage, higher serial, no lock held; `force` skips
   * the first two. Fails with `StateRefused`.
   */
  push(state: StateId, push: StatePush, call: Call): Promise<StateSummary>;
  versions(state: StateId, call: Call): Promise<StateVersion[]>;
  /**
   * Makes the content of an earlier version current once more, as a new version whose serial is
   * above all that were, so that tofu takes it. Refused while a lock is held; another lineage needs
   * `force`. Fails with `StateRefused`.
   */
  rollback(state: StateId, to: StateRollback, call: Call): Promise<StateSummary>;
  /** Drops a version that was kept aside. */
  drop(state: StateId, rescuedId: string, call: Call): Promise<void>;
}
export interface StateRollback {
  /** Id of a version that is history. */
  readonly version: string;
  readonly force: boolean;
}
/** Releases a lock at a person's word, if its holder is dead on proof: only an engine can tell. */
export interface StateUnlocker {
  /** `lockId`: only this one. Fails with `StateRefused`, which names the holder. */
  unlock(state: StateId, lockId: string | undefined, call: Call): Promise<LockFact>;
}
export interface StateSummary extends Omit<StateId, "secret"> {
  readonly serial: number;
  readonly lineage: string;
  readonly sizeBytes: number;
  readonly updatedAt: string;
  readonly lock: LockFact | undefined;
  readonly rescued: readonly RescuedState[];
}
export interface StateVersion {
  readonly id: string;
  readonly serial: number;
  readonly lineage: string;
  /** Managed resources in it; undefined where it does not say, as an encrypted one. */
  readonly resources?: number | undefined;
  readonly sizeBytes: number;
  readonly at: string;
  readonly runId: string | undefined;
  readonly kept: "current" | "history" | "aside";
}
export type StatePush =
  | { readonly from: "content"; readonly content: Uint8Array; readonly force: boolean }
  /** A version kept aside, by its id. */
  | { readonly from: "rescued"; readonly id: string; readonly force: boolean };

export class StateRefused extends Error {
  override readonly name = "StateRefused";
}
/** The call bears an epoch that is over: another engine leads. */
export class EpochOver extends Error {
  override readonly name = "EpochOver";
  constructor(epoch: number, newest: number) {
    super(`Epoch ${epoch} is over: an engine of epoch ${newest} leads; stop this one`);
  }
}
/** A kept state that cannot be read back as it was written. */
export class StateDamaged extends Error {
  override readonly name = "StateDamaged";
}

/** The start of a message about this state. */
export function describeState(state: StateId): string {
  return `State ${state.namespace}/${state.name} (workspace ${state.workspace})`;
}
