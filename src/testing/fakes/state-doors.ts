import {
  KubernetesStates,
  type KubernetesStatesParts,
} from "../../adapters/kubernetes/states/states.ts";
import { createStateDoor } from "../../adapters/state-door/door.ts";
import type { Terraform } from "../../api/terraform.ts";
import { noLog } from "../../ports/log.ts";
import { isStoreError, type ObjectStore } from "../../ports/object-store.ts";
import type { StateId } from "../../ports/state.ts";
import type { StateDoorSubject } from "../contracts/state-door.ts";
import { lockOf } from "../contracts/state-storage.ts";
import { seededRandom, VirtualClock } from "./clock.ts";
import { MemoryStates } from "./memory-states.ts";
import { TofuInSecrets } from "./tofu-in-secrets.ts";

/** Doors made ready for their contract: with what the OpenTofu of a run does behind them. */

const call = { signal: new AbortController().signal };

export function httpDoor(): StateDoorSubject {
  const random = seededRandom(1);
  const states = new MemoryStates(new VirtualClock());
  const address = "http://127.0.0.1:1";
  return {
    door: createStateDoor({ storage: states, log: noLog, random, address }),
    async takeLock(state, runId, lockId) {
      const answer = await states.takeLock(lockOf(runId, lockId, state), call);
      if (!answer.taken) throw new Error("The state is locked already");
    },
    async returnLock(state, runId, lockId) {
      await states.returnLock(state, runId, lockId, call);
    },
    async write(state, runId, text) {
      const lock = await states.lock(state, call);
      await states.write({ state, runId, lockId: lock?.id }, once(text));
    },
    async note() {},
    async close() {},
  };
}

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}

export function kubernetesStates(
  store: ObjectStore,
  more: Partial<KubernetesStatesParts> = {},
): KubernetesStates {
  return new KubernetesStates({
    ...{ store, log: noLog, clock: new VirtualClock(), random: seededRandom(2) },
    reach: { by: "pod" },
    runOfHost: (host) => /-tf-runner-(.+)$/.exec(host)?.[1],
    ...more,
  });
}

export function doorInSecrets(
  store: ObjectStore,
  more: Pick<StateDoorSubject, "close" | "makeNamespace">,
): StateDoorSubject {
  const tofu = new TofuInSecrets(store);
  const door = kubernetesStates(store);
  return {
    door,
    ...more,
    takeLock: (state, runId, id) =>
      tofu.takeLock(state, { id, who: `runner@${state.name}-tf-runner-${runId}` }),
    returnLock: (state, _runId, id) => tofu.returnLock(state, id),
    write: (state, _runId, text) => tofu.write(state, text),
    async note(state) {
      const head = await door.head(state, call);
      const seen = head.state === "present" ? head : { serial: 0, lineage: "" };
      const { serial, lineage } = seen;
      const present = head.state === "present";
      const known = { present, serial, ...(present ? { lineage } : {}) };
      const where = { workspace: state.workspace, place: "door", seenAt: "2026-01-01T00:00:00Z" };
      await noteState(store, state, { ...known, ...where });
    },
  };
}

/** Puts this into the status of the state's object, which is made if it is not there. */
async function noteState(
  store: ObjectStore,
  { namespace, name }: StateId,
  state: NonNullable<Terraform["status"]>["state"],
): Promise<void> {
  const object: Terraform = {
    ...{ apiVersion: "infra.contrib.fluxcd.io/v1alpha2", kind: "Terraform" },
    metadata: { namespace, name },
    spec: { interval: "1h", sourceRef: { kind: "GitRepository", name: "repository" } },
  };
  try {
    await store.create(object, call);
  } catch (error) {
    if (!isStoreError(error, "AlreadyExists")) throw error;
  }
  const made = await store.get({ kind: "Terraform", namespace, name }, call);
  if (made === undefined) throw new Error("The object was not made");
  await store.update(
    { ...made, status: { ...made.status, ...(state && { state }) } },
    "status",
    call,
  );
}
