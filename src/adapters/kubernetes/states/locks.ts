import type { Lease } from "../../../api/core.ts";
import type { LockFact } from "../../../domain/facts.ts";
import type { Call } from "../../../ports/call.ts";
import type { Clock, Random } from "../../../ports/clock.ts";
import { isStoreError, type ObjectStore } from "../../../ports/object-store.ts";
import type { StateId } from "../../../ports/state.ts";
import { runOfPod } from "../pods/names.ts";
import { LOCK_INFO, type StateNames } from "./names.ts";

export interface LockParts {
  readonly store: ObjectStore;
  readonly clock: Pick<Clock, "now">;
  readonly random: Pick<Random, "hex">;
  /**
   * The run of ours whose OpenTofu had this host name, for it notes nothing else of who holds a
   * lock. By default that of a pod named `<object>-tf-runner-<run>`.
   */
  readonly runOfHost?: ((host: string) => string | undefined) | undefined;
  /**
   * Asked of a lock that tofu-controller's runner of an object took for a plan: how it is known
   * that the runner has gone since, in words that follow "its runner". Undefined: it may live.
   */
  readonly formerRunnerGone?: (runner: FormerRunner, call: Call) => Promise<string | undefined>;
}

/** A pod of tofu-controller's, and when its OpenTofu took a lock (RFC 3339). */
export interface FormerRunner {
  readonly namespace: string;
  readonly pod: string;
  readonly since: string;
}

/** Somebody writes the Lease all the while. */
const ATTEMPTS = 5;
/** Begins the Info of a lock that Nigari takes itself; the run's id follows. */
const OWN = "nigari for run ";
const OWN_WHO = "nigari";

export type Taken =
  /** `returned`: by its id, unless the run's own lock was left as it is. */
  | { readonly taken: true; readonly ownId: string | undefined }
  | { readonly taken: false; readonly holder: LockFact };

/** The locks of states: Leases, held by whoever is their holder, as OpenTofu has it. */
export class StateLocks {
  readonly #parts: LockParts;

  constructor(parts: LockParts) {
    this.#parts = parts;
  }

  async holder(names: StateNames, call: Call): Promise<LockFact | undefined> {
    return this.fact(await this.#lease(names, call));
  }

  /**
   * The lock as far as it is somebody's: of a plan, which writes nothing, that tofu-controller's
   * runner of this object made and did not live to end, `abandoned` says so. That its name is that
   * of the pod alone proves nothing, for it is the same for each of its attempts.
   */
  async judged(state: StateId, names: StateNames, call: Call): Promise<LockFact | undefined> {
    const lock = await this.holder(names, call);
    const { formerRunnerGone } = this.#parts;
    if (lock === undefined || lock.runId !== undefined || formerRunnerGone === undefined) {
      return lock;
    }
    const pod = `${state.name}-tf-runner`;
    if (lock.operation !== "OperationTypePlan" || hostOf(lock.who) !== pod) return lock;
    const runner = { namespace: state.namespace, pod, since: lock.created };
    const proof = await formerRunnerGone(runner, call);
    return proof === undefined ? lock : { ...lock, abandoned: `its runner ${proof}` };
  }

  /** Whatever stands in the Lease: one without a description that can be read is held as well. */
  fact(lease: Lease | undefined): LockFact | undefined {
    const id = lease?.spec?.holderIdentity;
    if (id === undefined || id === "") return undefined;
    const info = infoOf(lease?.metadata.annotations?.[LOCK_INFO]);
    const { Operation: operation = "", Who: who = "", Created: created = "", Info = "" } = info;
    const ours = Info.startsWith(OWN) ? Info.slice(OWN.length) : undefined;
    const { runOfHost = runOfPod } = this.#parts;
    return { id, operation, who, created, runId: ours ?? runOfHost(hostOf(who)) };
  }

  /** Releases the lock if it still has this id, and leaves the Lease as OpenTofu would. */
  async release(names: StateNames, lockId: string, call: Call): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      const lease = await this.#lease(names, call);
      if (lease?.spec?.holderIdentity !== lockId) return false;
      const { holderIdentity: _, ...spec } = lease.spec;
      const { [LOCK_INFO]: __, ...annotations } = lease.metadata.annotations ?? {};
      const free = { ...lease, spec, metadata: { ...lease.metadata, annotations } };
      if (await this.#updated(free, attempt, call)) return true;
    }
  }

  /** Takes the lock for what is done about a run, so that no OpenTofu comes in between. */
  async take(
    names: StateNames,
    { runId, operation }: { readonly runId: string | undefined; readonly operation: string },
    call: Call,
  ): Promise<Taken> {
    for (let attempt = 1; ; attempt += 1) {
      const lease = await this.#lease(names, call);
      const holder = this.fact(lease);
      if (holder !== undefined) {
        if (runId === undefined || holder.runId !== runId) return { taken: false, holder };
        // An earlier attempt of ours was cut off, or the answer to it was lost.
        return { taken: true, ownId: holder.who === OWN_WHO ? holder.id : undefined };
      }
      const id = this.#parts.random.hex(16);
      const info = JSON.stringify({
        ...{ ID: id, Operation: operation, Info: runId === undefined ? "" : `${OWN}${runId}` },
        ...{ Who: OWN_WHO, Version: "", Path: "" },
        Created: new Date(this.#parts.clock.now()).toISOString(),
      });
      const held = heldBy(names, lease, { id, info });
      if (await this.#written(held, attempt, call)) return { taken: true, ownId: id };
    }
  }

  /** False: somebody else was faster, and it is to be looked at again. */
  async #written(lease: Lease, attempt: number, call: Call): Promise<boolean> {
    if (lease.metadata.resourceVersion !== undefined) {
      return await this.#updated(lease, attempt, call);
    }
    try {
      await this.#parts.store.create(lease, call);
      return true;
    } catch (error) {
      if (isStoreError(error, "AlreadyExists") && attempt < ATTEMPTS) return false;
      throw error;
    }
  }

  async #updated(lease: Lease, attempt: number, call: Call): Promise<boolean> {
    try {
      await this.#parts.store.update(lease, "main", call);
      return true;
    } catch (error) {
      const changed = isStoreError(error, "Conflict") || isStoreError(error, "NotFound");
      if (changed && attempt < ATTEMPTS) return false;
      throw error;
    }
  }

  async #lease({ namespace, lease }: StateNames, call: Call): Promise<Lease | undefined> {
    return await this.#parts.store.get({ kind: "Lease", namespace, name: lease }, call);
  }
}

function heldBy(
  names: StateNames,
  lease: Lease | undefined,
  { id, info }: { readonly id: string; readonly info: string },
): Lease {
  const { namespace, lease: name, labels } = names;
  const metadata = lease?.metadata ?? { namespace, name, labels: { ...labels } };
  return {
    ...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease" },
    metadata: { ...metadata, annotations: { ...metadata.annotations, [LOCK_INFO]: info } },
    spec: { ...lease?.spec, holderIdentity: id },
  };
}

function hostOf(who: string): string {
  return who.slice(who.lastIndexOf("@") + 1);
}

interface LockInfo {
  readonly Operation?: string;
  readonly Info?: string;
  readonly Who?: string;
  readonly Created?: string;
}

function infoOf(text: string | undefined): LockInfo {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    const entries = Object.entries(typeof value === "object" && value !== null ? value : {});
    return Object.fromEntries(entries.filter(([, each]) => typeof each === "string"));
  } catch {
    return {};
  }
}
