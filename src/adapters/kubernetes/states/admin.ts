import type { Lease, Secret } from "../../../api/core.ts";
import type { Terraform } from "../../../api/terraform.ts";
import { readStateHead } from "../../../domain/state-file.ts";
import { judgeSecretPush } from "../../../domain/state-rules.ts";
import type { Call } from "../../../ports/call.ts";
import type { ObjectStore } from "../../../ports/object-store.ts";
import {
  describeState,
  type StateAdmin,
  StateDamaged,
  type StateId,
  type StatePush,
  StateRefused,
  type StateRollback,
  type StateSummary,
  type StateVersion,
} from "../../../ports/state.ts";
import { type LockParts, StateLocks } from "./locks.ts";
import { IS_STATE, namesOf, type StateNames } from "./names.ts";
import { Unreadable } from "./packed.ts";
import { type Rescued, RescuedStates, rescuedFact, stateOf } from "./rescued.ts";
import { contentOf, damageText, type Found, StateSecrets } from "./secrets.ts";

export interface StateAdminParts extends LockParts {
  readonly store: ObjectStore;
  /** The Secret that the spec of an object names for its state. */
  readonly secretOf: (terraform: Terraform) => StateId["secret"];
  /** Only states of this namespace are listed; undefined: of all. */
  readonly namespace?: string | undefined;
}

/**
 * The states of a cluster, seen by a person. Kubernetes keeps no earlier versions, nor who wrote
 * or when.
 */
export class KubernetesStateAdmin implements StateAdmin {
  readonly #parts: StateAdminParts;
  readonly #locks: StateLocks;
  readonly #rescued: RescuedStates;
  readonly #secrets: StateSecrets;

  constructor(parts: StateAdminParts) {
    this.#parts = parts;
    this.#locks = new StateLocks(parts);
    this.#rescued = new RescuedStates(parts);
    this.#secrets = new StateSecrets(parts);
  }

  async list(call: Call): Promise<StateSummary[]> {
    const { store, namespace } = this.#parts;
    const where = namespace === undefined ? {} : { namespace };
    const labelled = { ...where, labels: IS_STATE };
    const [objects, secrets, leases, aside] = [
      (await store.list("Terraform", where, call)).items,
      (await store.list("Secret", labelled, call)).items,
      (await store.list("Lease", labelled, call)).items,
      await this.#rescued.all(namespace, call),
    ];
    const found = new Map<string, StateId>();
    // A Lease stays when its state is gone.
    const held = leases.filter((each) => this.#locks.fact(each) !== undefined);
    for (const each of [...secrets, ...held]) found.set(placeOf(each), idFrom(each));
    for (const each of aside) found.set(placeOfRescued(each), idFromRescued(each));
    // Who has an object goes by its name, whatever the Secret is called.
    for (const each of objects) {
      const id = this.#idOf(each);
      const place = placeOfState(id);
      if (place !== undefined && found.has(place)) found.set(place, id);
    }
    const all = await Promise.all(
      [...found].map(([place, id]) => {
        const secret = secrets.find((each) => placeOf(each) === place);
        const lease = leases.find((each) => placeOf(each) === place);
        const rescued = aside.filter((each) => placeOfRescued(each) === place);
        return this.#summary(id, { secret, lease, rescued });
      }),
    );
    return all.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  async show(
    state: StateId,
    version: string | undefined,
    call: Call,
  ): Promise<Uint8Array | undefined> {
    const names = await this.#names(state, call);
    if (version !== undefined && version !== names.secret) {
      const rescued = (await this.#rescued.list(names, call)).find(({ id }) => id === version);
      return rescued && (await this.#contentOf(state, rescued, call));
    }
    return readable(state, names, await this.#current(names, call))?.content;
  }

  async push(state: StateId, push: StatePush, call: Call): Promise<StateSummary> {
    const names = await this.#names(state, call);
    const rescued = push.from === "rescued" ? await this.#aside(state, push.id, call) : undefined;
    const content = await this.#pushed(state, push, rescued, call);
    const order = { runId: undefined, operation: "push" };
    const lock = await this.#locks.take(names, order, call);
    if (!lock.taken) {
      const { who, id } = lock.holder;
      throw refused(state, `is locked by ${who || "somebody unnamed"} (lock ${id})`);
    }
    try {
      await this.#replace(state, names, { content, force: push.force }, call);
    } finally {
      if (lock.ownId !== undefined) await this.#locks.release(names, lock.ownId, call);
    }
    if (rescued !== undefined) await this.#rescued.drop(rescued, call);
    const secret = await this.#secrets.get(names, call);
    const rest = await this.#rescued.list(names, call);
    return await this.#summary(state, { secret, lease: undefined, rescued: rest });
  }

  async versions(state: StateId, call: Call): Promise<StateVersion[]> {
    const names = await this.#names(state, call);
    const found = await this.#current(names, call);
    const aside = (await this.#rescued.list(names, call)).map((each): StateVersion => {
      const { id, serial, lineage, at, runId } = each;
      return { id, serial, lineage, at, runId, sizeBytes: each.sizeBytes, kept: "aside" };
    });
    if (found === undefined || "damage" in found) return aside;
    const { serial, lineage, resources } = found.head;
    const content = { serial, lineage, resources, sizeBytes: found.content.length };
    const unknown = { at: "", runId: undefined } as const;
    return [{ id: names.secret, ...content, ...unknown, kept: "current" }, ...aside];
  }

  async rollback(state: StateId, to: StateRollback, _call: Call): Promise<StateSummary> {
    throw refused(
      state,
      `cannot be rolled back to ${to.version}: Kubernetes keeps no earlier versions; take a copy ` +
        "from a backup of the cluster and make it current with nigari state push --force",
    );
  }

  async drop(state: StateId, rescuedId: string, call: Call): Promise<void> {
    await this.#rescued.drop(await this.#aside(state, rescuedId, call), call);
  }

  async #pushed(
    state: StateId,
    push: StatePush,
    rescued: Rescued | undefined,
    call: Call,
  ): Promise<Uint8Array> {
    if (push.from === "content") return push.content;
    if (rescued === undefined) throw refused(state, `has no version ${push.id} kept aside`);
    return await this.#contentOf(state, rescued, call);
  }

  async #replace(
    state: StateId,
    names: StateNames,
    { content, force }: { readonly content: Uint8Array; readonly force: boolean },
    call: Call,
  ): Promise<void> {
    const head = readStateHead(content);
    if ("problem" in head) {
      const what = `what was given is no state file: ${head.problem}`;
      throw refused(state, `is left as it is, ${what}`);
    }
    const secret = await this.#secrets.get(names, call);
    const found = await contentOf(secret);
    // What is damaged has nothing left to lose.
    const current = found !== undefined && "head" in found ? found : undefined;
    if (current?.content.equals(content) === true) return;
    const refusal = judgeSecretPush(head, current?.head, force);
    if (refusal !== undefined) throw refused(state, refusal);
    const trouble = await this.#secrets.write(names, secret, content, call);
    if (trouble !== undefined) throw refused(state, `is left as it is: ${trouble}`);
  }

  async #contentOf(state: StateId, rescued: Rescued, call: Call): Promise<Uint8Array> {
    try {
      return await this.#rescued.read(rescued, call);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      const where = `${rescued.secret.metadata.namespace}/${rescued.id}`;
      throw new StateDamaged(
        `${describeState(state)}: Secret ${where} cannot be read, ${error.message}`,
      );
    }
  }

  async #aside(state: StateId, id: string, call: Call): Promise<Rescued> {
    const all = await this.#rescued.list(await this.#names(state, call), call);
    const found = all.find((each) => each.id === id);
    if (found !== undefined) return found;
    throw refused(
      state,
      `has no version ${id} that was kept aside; "nigari state list ` +
        `${state.namespace}/${state.name}" shows which there are`,
    );
  }

  async #current(names: StateNames, call: Call): Promise<Found | undefined> {
    return await contentOf(await this.#secrets.get(names, call));
  }

  /** A person names an object; its spec tells where the state lies. */
  async #names(state: StateId, call: Call): Promise<StateNames> {
    if (state.secret !== undefined) return namesOf(state);
    const { namespace, name } = state;
    const object = await this.#parts.store.get({ kind: "Terraform", namespace, name }, call);
    const secret = object && this.#parts.secretOf(object);
    return namesOf(secret === undefined ? state : { ...state, secret });
  }

  #idOf(terraform: Terraform): StateId {
    const { namespace = "default", name } = terraform.metadata;
    const id = { namespace, name, workspace: terraform.spec.workspace ?? "default" };
    const secret = this.#parts.secretOf(terraform);
    return secret === undefined ? id : { ...id, secret };
  }

  async #summary(
    { namespace, name, workspace }: StateId,
    parts: {
      readonly secret: Secret | undefined;
      readonly lease: Lease | undefined;
      readonly rescued: readonly Rescued[];
    },
  ): Promise<StateSummary> {
    const found = await contentOf(parts.secret);
    const whole = found !== undefined && "head" in found ? found : undefined;
    return {
      ...{ namespace, name, workspace },
      serial: whole?.head.serial ?? 0,
      lineage: whole?.head.lineage ?? "",
      sizeBytes: whole?.content.length ?? 0,
      updatedAt: "",
      lock: this.#locks.fact(parts.lease),
      rescued: parts.rescued.map(rescuedFact),
    };
  }
}

function readable(state: StateId, names: StateNames, found: Found | undefined) {
  if (found === undefined || "content" in found) return found;
  throw new StateDamaged(`${describeState(state)}: ${damageText(names, found.damage)}`);
}

function placeOf({ kind, metadata: { namespace, name } }: Secret | Lease): string {
  return `${namespace}/${kind === "Lease" ? name.replace(/^lock-/, "") : name}`;
}

function placeOfRescued({ secret }: Rescued): string {
  return `${secret.metadata.namespace}/${stateOf(secret)}`;
}

function placeOfState(state: StateId): string | undefined {
  try {
    const { namespace, secret } = namesOf(state);
    return `${namespace}/${secret}`;
  } catch (error) {
    if (error instanceof StateRefused) return undefined;
    throw error;
  }
}

/** A state that no object names goes by its suffix. */
function idFrom({ metadata }: Secret | Lease): StateId {
  const { namespace = "default", labels } = metadata;
  const { tfstateSecretSuffix: name = "", tfstateWorkspace: workspace = "default" } = labels ?? {};
  return { namespace, name, workspace };
}

/** Of the state itself nothing is left but its name. */
function idFromRescued({ secret }: Rescued): StateId {
  const { namespace = "default" } = secret.metadata;
  const parts = /^tfstate-([^-]+)-(.+)$/.exec(stateOf(secret) ?? "");
  return { namespace, name: parts?.[2] ?? "", workspace: parts?.[1] ?? "default" };
}

function keyOf({ namespace, name, workspace }: StateId | StateSummary): string {
  return JSON.stringify([namespace, name, workspace]);
}

function refused(state: StateId, clause: string): StateRefused {
  return new StateRefused(`${describeState(state)} ${clause}`);
}
