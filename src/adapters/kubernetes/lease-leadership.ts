import type { Lease } from "../../api/core.ts";
import type { Call } from "../../ports/call.ts";
import type { Clock, Random } from "../../ports/clock.ts";
import { type Lead, type Leadership, NotLeader } from "../../ports/leadership.ts";
import { isStoreError, type ObjectStore } from "../../ports/object-store.ts";
import { messageOf } from "./api-error.ts";

/** The annotation that keeps the epoch, whoever else counts `leaseTransitions`. */
export const EPOCH_ANNOTATION = "nigari.dev/epoch";

/** Who does not renew for so long has lost the right, in seconds; stands in the Lease. */
const DURATION_SECONDS = 15;
/** Who cannot renew for so long gives the right up: well before somebody else may take it. */
const GIVE_UP_MS = 10_000;
const RENEW_MS = 2_000;
const RETRY_MS = 2_000;
const REQUEST_MS = 5_000;

export interface LeaseOptions {
  readonly namespace: string;
  readonly name: string;
  /** Unique for this process, such as `<pod>_<uid>`; shown to people. */
  readonly identity: string;
  /** Told at each look at which the Lease could not be taken. */
  readonly waiting?: (seen: Waiting) => void;
}

/** Why the Lease could not be taken. */
export type Waiting =
  | { readonly for: "holder"; readonly identity: string }
  | { readonly for: "answer"; readonly trouble: string };

export interface LeasePorts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * One leader among the replicas that share a Lease, in the way of Kubernetes' own controllers: a
 * holder counts as gone when its Lease has not changed for as long as it says, measured on the
 * clock of the one who waits, so that no two clocks are compared.
 */
export function createLeaseLeadership(options: LeaseOptions, ports: LeasePorts): Leadership {
  return {
    async acquire(call) {
      const watch: Sighting = { version: undefined, sinceMs: 0 };
      let trouble: unknown;
      for (;;) {
        try {
          const taken = await tryTake(options, ports, watch, call);
          if (taken !== undefined) return new Leader(options, ports, taken);
          trouble = undefined;
          const identity = watch.lease?.spec?.holderIdentity ?? "";
          if (identity !== "") options.waiting?.({ for: "holder", identity });
        } catch (error) {
          trouble = error;
          options.waiting?.({ for: "answer", trouble: messageOf(error) });
        }
        if (call.signal.aborted) throw turnedAway(options, watch, trouble, call);
        await ports.clock.sleep(RETRY_MS * (0.5 + ports.random.next()), call.signal);
        if (call.signal.aborted) throw turnedAway(options, watch, trouble, call);
      }
    },
  };
}

/** The newest epoch that anybody has led with, by this Lease; 0 if nobody has. */
export async function newestEpoch(
  store: ObjectStore,
  { namespace, name }: Pick<LeaseOptions, "namespace" | "name">,
  call: Call,
): Promise<number> {
  return epochOf(await store.get({ kind: "Lease", namespace, name }, call));
}

/** What was last seen of the Lease, and since when it has been like that. */
interface Sighting {
  version: string | undefined;
  sinceMs: number;
  lease?: Lease;
}

async function tryTake(
  options: LeaseOptions,
  { store, clock }: LeasePorts,
  watch: Sighting,
  call: Call,
): Promise<Lease | undefined> {
  const { namespace, name, identity } = options;
  const signal = clock.deadline(`Taking Lease ${namespace}/${name}`, REQUEST_MS, call.signal);
  const found = await store.get({ kind: "Lease", namespace, name }, { signal });
  const nowMs = clock.now();
  if (found === undefined) {
    const metadata = { name, namespace, annotations: epochAfter(undefined, nowMs) };
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata } as const;
    return await written(() => store.create(held(lease, identity, nowMs), { signal }));
  }
  if (found.metadata.resourceVersion !== watch.version) {
    watch.version = found.metadata.resourceVersion;
    watch.sinceMs = clock.monotonic();
    watch.lease = found;
  }
  if (!isFree(found, watch, clock)) return undefined;
  const annotations = { ...found.metadata.annotations, ...epochAfter(found, nowMs) };
  const next = { ...found, metadata: { ...found.metadata, annotations } };
  return await written(() => store.update(held(next, identity, nowMs), "main", { signal }));
}

/** The Lease as written, or undefined if somebody was faster. */
async function written(write: () => Promise<Lease>): Promise<Lease | undefined> {
  try {
    return await write();
  } catch (error) {
    if (isStoreError(error, "Conflict") || isStoreError(error, "AlreadyExists")) return undefined;
    throw error;
  }
}

function isFree({ spec }: Lease, watch: Sighting, clock: Clock): boolean {
  if ((spec?.holderIdentity ?? "") === "") return true;
  const durationMs = (spec?.leaseDurationSeconds ?? DURATION_SECONDS) * 1_000;
  return clock.monotonic() - watch.sinceMs > durationMs;
}

/**
 * Above every epoch before, also if somebody deleted the Lease in between: it is at least the
 * milliseconds since 1970, which no count of leaders overtakes.
 */
function epochAfter(lease: Lease | undefined, nowMs: number): Record<string, string> {
  const epoch = Math.max(epochOf(lease) + 1, Math.ceil(nowMs));
  return { [EPOCH_ANNOTATION]: String(epoch) };
}

function epochOf(lease: Lease | undefined): number {
  const value = Number(lease?.metadata.annotations?.[EPOCH_ANNOTATION] ?? 0);
  return Number.isSafeInteger(value) && value > 0 ? value : 0;
}

function held(lease: Lease, holderIdentity: string, nowMs: number): Lease {
  const time = microTime(nowMs);
  const transitions = lease.spec?.leaseTransitions;
  return {
    ...lease,
    spec: {
      holderIdentity,
      leaseDurationSeconds: DURATION_SECONDS,
      acquireTime: time,
      renewTime: time,
      leaseTransitions: transitions === undefined ? 0 : transitions + 1,
    },
  };
}

/** The form of metav1.MicroTime. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}

function turnedAway(
  { namespace, name }: LeaseOptions,
  { lease }: Sighting,
  trouble: unknown,
  { signal }: Call,
): NotLeader {
  const what = `Lease ${namespace}/${name}`;
  const held = `is held by ${lease?.spec?.holderIdentity}, renewed at ${lease?.spec?.renewTime}`;
  const text = trouble === undefined ? held : `cannot be taken: ${messageOf(trouble)}`;
  return new NotLeader(`${what} ${text}`, { cause: trouble ?? signal.reason });
}

/** Holds the right and renews it until it is released or lost. */
class Leader implements Lead {
  readonly epoch: number;
  readonly lost: AbortSignal;
  readonly #options: LeaseOptions;
  readonly #ports: LeasePorts;
  readonly #lost = new AbortController();
  readonly #released = new AbortController();
  readonly #renewing: Promise<void>;
  #lease: Lease;

  constructor(options: LeaseOptions, ports: LeasePorts, lease: Lease) {
    this.#options = options;
    this.#ports = ports;
    this.#lease = lease;
    this.epoch = epochOf(lease);
    this.lost = this.#lost.signal;
    this.#renewing = this.#renew();
  }

  /** Lets the next one take it at once. One that was lost is somebody else's by now. */
  async release(): Promise<void> {
    this.#released.abort();
    await this.#renewing;
    if (this.#lost.signal.aborted) return;
    this.#lost.abort(new NotLeader("The Lease was released"));
    const { store, clock } = this.#ports;
    const spec = { ...this.#lease.spec, holderIdentity: "", leaseDurationSeconds: 1 };
    const signal = clock.deadline("Releasing the Lease", REQUEST_MS);
    // If it fails, the Lease runs out by itself.
    await store.update({ ...this.#lease, spec }, "main", { signal }).catch(() => {});
  }

  async #renew(): Promise<void> {
    const { clock } = this.#ports;
    const over = AbortSignal.any([this.#released.signal, this.#lost.signal]);
    while (!over.aborted) {
      // Measured from the begin of the last renewal that went well; fires also while one hangs.
      const renewed = new AbortController();
      const late = clock.deadline("Renewing the Lease", GIVE_UP_MS, renewed.signal);
      late.addEventListener("abort", () => {
        if (!renewed.signal.aborted) this.#lose("could not be renewed in time");
      });
      await this.#renewOnce(over);
      renewed.abort();
    }
  }

  /** Tries until it is renewed, lost or released. */
  async #renewOnce(over: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    while (!over.aborted) {
      await clock.sleep(RENEW_MS, over);
      if (over.aborted || (await this.#write(over))) return;
    }
  }

  async #write(over: AbortSignal): Promise<boolean> {
    const { store, clock } = this.#ports;
    const signal = clock.deadline("Renewing the Lease", REQUEST_MS, over);
    const spec = { ...this.#lease.spec, renewTime: microTime(clock.now()) };
    try {
      this.#lease = await store.update({ ...this.#lease, spec }, "main", { signal });
      return true;
    } catch (error) {
      if (isStoreError(error, "Conflict")) await this.#lookAgain(signal);
      else if (isStoreError(error, "NotFound")) this.#lose("was deleted");
      return false;
    }
  }

  /** Somebody wrote it: a label by a person, our own answer that got lost, or another holder. */
  async #lookAgain(signal: AbortSignal): Promise<void> {
    const { namespace, name, identity } = this.#options;
    const found = await this.#ports.store
      .get({ kind: "Lease", namespace, name }, { signal })
      .catch(() => this.#lease);
    if (found === undefined) return this.#lose("was deleted");
    const holder = found.spec?.holderIdentity ?? "";
    if (holder === identity && epochOf(found) === this.epoch) this.#lease = found;
    else this.#lose(`is held by ${holder === "" ? "nobody" : holder}`);
  }

  #lose(why: string): void {
    const { namespace, name } = this.#options;
    this.#lost.abort(new NotLeader(`Lease ${namespace}/${name} ${why}`));
  }
}
