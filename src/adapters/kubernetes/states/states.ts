import type { Secret } from "../../../api/core.ts";
import type { Terraform } from "../../../api/terraform.ts";
import type { LockFact, RescuedState, StateHeadFact } from "../../../domain/facts.ts";
import { isEpochCurrent } from "../../../domain/guards.ts";
import { kubernetesBackendText } from "../../../domain/kubernetes-backend.ts";
import { readStateHead, type StateHead } from "../../../domain/state-file.ts";
import { judgeSecretRescue, type SecretState } from "../../../domain/state-rules.ts";
import type { Call } from "../../../ports/call.ts";
import type { Log } from "../../../ports/log.ts";
import type { ObjectStore } from "../../../ports/object-store.ts";
import {
  describeState,
  EpochOver,
  type StateAccess,
  type StateContent,
  StateDamaged,
  type StateDoor,
  type StateId,
  StateRefused,
} from "../../../ports/state.ts";
import { type LockParts, StateLocks } from "./locks.ts";
import { namesOf, type StateNames, suffixOf } from "./names.ts";
import { digestOf, inChunks } from "./packed.ts";
import { RescuedStates, rescuedFact } from "./rescued.ts";
import { contentOf, damageText, StateSecrets } from "./secrets.ts";

export interface KubernetesStatesParts extends LockParts {
  /** Asked at every pass; it must answer with what is there now, and not from a cache. */
  readonly store: ObjectStore;
  readonly log: Log;
  /** How runs come to this cluster: by their pod's own account, or by a kubeconfig file. */
  readonly reach: { readonly by: "pod" } | { readonly by: "kubeconfig"; readonly path: string };
  /** The epoch of who leads now, as the cluster has it; undefined: it cannot be told. */
  readonly leaderEpoch?: (call: Call) => Promise<number | undefined>;
}

/** So many heads are remembered, of which each is read anew once its Secret has changed. */
const HEADS_MAX = 4_096;

/**
 * States where OpenTofu's backend "kubernetes" keeps them, in a Secret and a Lease for each: runs
 * reach them by themselves, and tofu-controller finds them as it left them. Kubernetes asks nobody
 * for a lock before a write, so a revoked run could still write: what keeps it from that is the
 * proof of its death alone. `revoke` sees to it that nothing of it is taken over any more.
 */
export class KubernetesStates implements StateDoor {
  readonly inSecrets = true;
  readonly #parts: KubernetesStatesParts;
  readonly #locks: StateLocks;
  readonly #rescued: RescuedStates;
  readonly #secrets: StateSecrets;
  readonly #heads = new Map<string, { readonly version: string; readonly fact: StateHeadFact }>();
  readonly #revoked = new Set<string>();
  #newestEpoch = 0;

  constructor(parts: KubernetesStatesParts) {
    this.#parts = parts;
    this.#locks = new StateLocks(parts);
    this.#rescued = new RescuedStates(parts);
    this.#secrets = new StateSecrets(parts);
  }

  async access(state: StateId, runId: string, call: Call): Promise<StateAccess> {
    await this.#meet(call);
    namesOf(state);
    if (this.#revoked.has(runId)) {
      throw new StateRefused(`Run ${runId} was revoked; start a new run`);
    }
    const { reach } = this.#parts;
    const { inCluster = true, labels = {} } = state.secret ?? {};
    const backend = kubernetesBackendText({
      secretSuffix: suffixOf(state),
      inCluster: reach.by === "pod" && inCluster,
      configPath: reach.by === "kubeconfig" ? reach.path : "",
      namespace: state.namespace,
      labels,
    });
    return { backend, env: {}, hasWorkspaces: true };
  }

  async revoke(runId: string, proof: string, call: Call): Promise<void> {
    await this.#meet(call);
    this.#revoked.add(runId);
    this.#parts.log.info("Takes over no state of a run any more", { run: runId, proof });
  }

  async lock(state: StateId, call: Call): Promise<LockFact | undefined> {
    return await this.#locks.judged(state, namesOf(state), call);
  }

  async release(state: StateId, lockId: string, why: string, call: Call): Promise<boolean> {
    await this.#meet(call);
    const released = await this.#locks.release(namesOf(state), lockId, call);
    const fields = { state: describeState(state), lock: lockId, why };
    if (released) this.#parts.log.info("Released a lock", fields);
    return released;
  }

  async rescued(state: StateId, call: Call): Promise<RescuedState[]> {
    return (await this.#rescued.list(namesOf(state), call)).map(rescuedFact);
  }

  async head(state: StateId, call: Call): Promise<StateHeadFact> {
    const names = namesOf(state);
    const secret = await this.#secrets.get(names, call);
    const key = `${names.namespace}/${names.secret}`;
    const version = secret?.metadata.resourceVersion ?? "";
    const known = this.#heads.get(key);
    if (known?.version === version && version !== "") return known.fact;
    const fact = await headOf(names, secret);
    this.#heads.delete(key);
    const [oldest] = this.#heads.keys();
    if (this.#heads.size >= HEADS_MAX && oldest !== undefined) this.#heads.delete(oldest);
    if (version !== "") this.#heads.set(key, { version, fact });
    return fact;
  }

  async read(state: StateId, call: Call): Promise<StateContent | undefined> {
    const names = namesOf(state);
    const found = await contentOf(await this.#secrets.get(names, call));
    if (found === undefined) return undefined;
    if ("damage" in found) {
      throw new StateDamaged(`${describeState(state)}: ${damageText(names, found.damage)}`);
    }
    return { sizeBytes: found.content.length, chunks: inChunks(found.content) };
  }

  async rescue(
    state: StateId,
    runId: string,
    content: Uint8Array,
    call: Call,
  ): Promise<{ id: string; became: "current" | "aside" }> {
    const head = readStateHead(content);
    if ("problem" in head) {
      const what = `what was given is no state file: ${head.problem}`;
      throw new StateRefused(`${describeState(state)} is left as it is, ${what}`);
    }
    await this.#meet(call);
    const names = namesOf(state);
    const why = await this.#takeOver(state, { runId, head, content }, call);
    const fields = { state: describeState(state), run: runId };
    if (why === undefined) {
      this.#parts.log.info("Took over a state that a run left behind", fields);
      return { id: names.secret, became: "current" };
    }
    const id = await this.#rescued.keep(names, { runId, head, content }, call);
    this.#parts.log.warn("Kept a state aside that a run left behind", { ...fields, id, why });
    return { id, became: "aside" };
  }

  /**
   * Kubernetes joins no two objects in a transaction, so who leads is asked before and not in the
   * act itself. A leader that was put to sleep in between does no harm: what it releases bears the
   * id of a lock whose run was proven dead, and what it takes over fits on the state as it is.
   */
  async #meet(call: Call): Promise<void> {
    call.signal.throwIfAborted();
    const { epoch } = call;
    if (epoch === undefined) return;
    const newest = Math.max(this.#newestEpoch, (await this.#parts.leaderEpoch?.(call)) ?? 0);
    if (!isEpochCurrent(epoch, newest)) throw new EpochOver(epoch, newest);
    this.#newestEpoch = Math.max(epoch, newest);
  }

  /** Makes it the current state under the lock; or why that must not be. */
  async #takeOver(state: StateId, left: Left, call: Call): Promise<string | undefined> {
    const { runId } = left;
    if (this.#revoked.has(runId)) return "the run was revoked before";
    const names = namesOf(state);
    const lock = await this.#locks.take(names, { runId, operation: "rescue" }, call);
    if (!lock.taken) return `${lock.holder.who} holds the lock ${lock.holder.id}`;
    try {
      // With the lock that the run's OpenTofu took, nobody else can have written.
      const known = lock.ownId === undefined ? "held" : await this.#knownBefore(state, call);
      return await this.#replace(names, { ...left, known }, call);
    } finally {
      if (lock.ownId !== undefined) await this.#locks.release(names, lock.ownId, call);
    }
  }

  async #replace(
    names: StateNames,
    left: Left & { readonly known: SecretState | "held" },
    call: Call,
  ): Promise<string | undefined> {
    const secret = await this.#secrets.get(names, call);
    const found = await contentOf(secret);
    if (found !== undefined && "damage" in found) return "the current state is damaged";
    if (found !== undefined && digestOf(found.content) === digestOf(left.content)) return undefined;
    const refusal = judgeSecretRescue(left.head, found?.head, left.known);
    return refusal ?? (await this.#secrets.write(names, secret, left.content, call));
  }

  /** The state that the object knew before its run; nothing is noted anew while one goes on. */
  async #knownBefore(state: StateId, call: Call): Promise<SecretState> {
    const { namespace, name, workspace } = state;
    const ref = { kind: "Terraform", namespace, name } as const;
    const object: Terraform | undefined = await this.#parts.store.get(ref, call);
    const known = object?.status?.state;
    return known?.workspace === workspace ? known : undefined;
  }
}

interface Left {
  readonly runId: string;
  readonly head: StateHead;
  readonly content: Uint8Array;
}

async function headOf(names: StateNames, secret: Secret | undefined): Promise<StateHeadFact> {
  const found = await contentOf(secret);
  if (found === undefined) return { state: "absent", former: undefined };
  const unknown = { state: "present", runId: undefined, writerHidden: true } as const;
  if ("damage" in found) {
    const none = { serial: 0, lineage: "", resources: undefined };
    return { ...unknown, ...none, damage: damageText(names, found.damage) };
  }
  const { serial, lineage, resources, tofuVersion } = found.head;
  const told = tofuVersion === undefined ? {} : { tofuVersion };
  return { ...unknown, serial, lineage, resources, ...told };
}
