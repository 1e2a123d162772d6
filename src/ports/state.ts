import type { LockFact, RescuedState } from "../domain/facts.ts";
import type { Call } from "./call.ts";

/** Which state: one of an object and a workspace. */
export interface StateId {
  readonly namespace: string;
  readonly name: string;
  readonly workspace: string;
}

/**
 * The state Nigari keeps itself (standalone default), seen from the engine. Runs reach it over
 * HTTP with credentials of their own.
 */
export interface StateDoor {
  /** HCL and environment by which a run reaches this state. The password is in `env` alone. */
  access(state: StateId, runId: string, call: Call): Promise<StateAccess>;
  /** The run's later writes are kept aside, never current; it may still read. */
  revoke(runId: string, proof: string, call: Call): Promise<void>;
  lock(state: StateId, call: Call): Promise<LockFact | undefined>;
  /** Releases the lock if it still has this id; true if it was released. */
  release(state: StateId, lockId: string, why: string, call: Call): Promise<boolean>;
  rescued(state: StateId, call: Call): Promise<RescuedState[]>;
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
}

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
  /** Drops a version that was kept aside. */
  drop(state: StateId, rescuedId: string, call: Call): Promise<void>;
}
export interface StateSummary extends StateId {
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
