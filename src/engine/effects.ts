import { keyOf } from "../api/kinds.ts";
import { DEPENDENCY_FINALIZER_PREFIX, FINALIZER, REASON, type Reason } from "../api/names.ts";
import type { Terraform } from "../api/terraform.ts";
import type { Effect, FailedEffect, RunOutcome } from "../domain/facts.ts";
import { isOfDependant } from "../domain/steps/finalize.ts";
import type { Call } from "../ports/call.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { isStoreError, type ObjectStore, StoreError } from "../ports/object-store.ts";
import { type RunFile, RunnerError, type RunnerPlatform } from "../ports/runner.ts";
import type { StateDoor } from "../ports/state.ts";
import type { ArtifactFetches } from "./artifact-fetches.ts";
import { bounded, messageOf } from "./bounded.ts";
import { sha256Hex } from "./canonical.ts";
import type { Events } from "./events.ts";
import type { Inputs } from "./inputs.ts";
import type { Janitor } from "./janitor.ts";
import { CannotKeep, forgetInputs, keepInputs } from "./kept-inputs.ts";
import { effectMs } from "./limits.ts";
import { stateIdOf } from "./order.ts";
import { deleteOutputs, OutputsTrouble, writeOutputs } from "./outputs.ts";
import type { Pass } from "./pass.ts";
import { deletePlan, savePlan } from "./plans.ts";
import type { Supervisors } from "./supervisors.ts";

export interface EffectPorts {
  /** Refuses writes of a pass that was given up. */
  readonly store: ObjectStore;
  readonly platform: RunnerPlatform;
  readonly door: StateDoor | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly supervisors: Supervisors;
  readonly janitor: Janitor;
  readonly fetches: ArtifactFetches;
  readonly events: Events;
}

/** What one pass works on; an effect that changes the object's metadata puts the new one here. */
export interface Work {
  readonly pass: Pass;
  readonly sensitive: readonly string[];
  readonly outcome: RunOutcome | undefined;
  /** As they are now; undefined if they cannot be had. */
  readonly inputs: Inputs | undefined;
  terraform: Terraform;
}

type Do<K extends Effect["do"]> = (
  effect: Extract<Effect, { readonly do: K }>,
  work: Work,
  ports: EffectPorts,
  call: Call,
) => Promise<void>;

/** Every effect, and how it is done. Each may be done again without harm. */
const deeds: { readonly [K in Effect["do"]]: Do<K> } = {
  "add-finalizer": async (_effect, work, { store }, call) => {
    const finalizers = work.terraform.metadata.finalizers ?? [];
    if (finalizers.includes(FINALIZER)) return;
    work.terraform = await setFinalizers(work, [...finalizers, FINALIZER], store, call);
  },
  "remove-finalizer": async (_effect, work, { store }, call) => {
    await leaveDependencies(work.terraform, store, call);
    const finalizers = work.terraform.metadata.finalizers ?? [];
    const rest = finalizers.filter((each) => each !== FINALIZER && !isOfDependant(each));
    if (rest.length === finalizers.length) return;
    work.terraform = await setFinalizers(work, rest, store, call);
  },
  "save-plan": async ({ runId, planId }, work, { store, platform }, call) => {
    const readable = work.terraform.spec.storeReadablePlan ?? "none";
    const file = (name: RunFile) => platform.readFile(runId, name, call);
    const binary = await file("plan.bin");
    if (binary === undefined) throw new EffectTrouble(`Run ${runId} left no plan file`);
    checkPlan(work, binary);
    const json = readable === "json" ? await file("plan.json") : undefined;
    const text = await file("plan.txt");
    const textForAll = readable === "human";
    await savePlan(work.terraform, { id: planId, binary, json, text, textForAll }, store, call);
  },
  "delete-plan": (_effect, work, { store }, call) => deletePlan(work.terraform, store, call),
  "write-outputs": async ({ runId }, work, { store, platform }, call) => {
    const outputs = await platform.readFile(runId, "outputs.json", call);
    if (outputs === undefined) throw new EffectTrouble(`Run ${runId} left no outputs`);
    await writeOutputs(work.terraform, outputs, store, call);
  },
  "delete-outputs": (_effect, work, { store }, call) => deleteOutputs(work.terraform, store, call),
  "release-lock": async ({ lockId, why }, work, { door }, call) => {
    if (door === undefined) {
      throw new EffectTrouble("Only locks of states that Nigari keeps itself can be released");
    }
    await door.release(stateIdOf(work.terraform), lockId, why, call);
  },
  "keep-inputs": ({ digest, as }, work, { store }, call) =>
    keepInputs(work.terraform, { digest, as, inputs: work.inputs }, store, call),
  "forget-inputs": (_effect, work, { store }, call) => forgetInputs(work.terraform, store, call),
  "revoke-credentials": async ({ runId, proof }, _work, { door }, call) => {
    await door?.revoke(runId, proof, call);
  },
  "interrupt-run": async ({ runId }, _work, { platform }, call) => {
    await platform.signal(runId, "interrupt", call);
  },
  "terminate-run": async ({ runId }, _work, { platform, supervisors }, call) => {
    await platform.signal(runId, "terminate", call);
    await supervisors.news(runId);
  },
  "end-runner": async ({ runId }, _work, { platform, supervisors }, call) => {
    await platform.signal(runId, "end-runner", call);
    await supervisors.news(runId);
  },
  "fetch-artifact": async ({ artifact }, work, { fetches }) => {
    fetches.begin(artifact, keyOf(work.terraform));
  },
  "launch-run": async (_effect, work, { supervisors }) => {
    supervisors.follow(work.terraform);
  },
  "remove-run": async ({ runId }, _work, { janitor }) => {
    janitor.remove(runId);
  },
  event: async (effect, work, { events, log }, call) => {
    const { type, reason, message } = effect;
    try {
      await events.say(work.terraform, { type, reason, message }, work.sensitive, call);
    } catch (error) {
      // An event is for people; nothing that an object needs waits for one.
      log.warn("An event cannot be stored", { reason, error: messageOf(error) });
    }
  },
};

/**
 * Does one effect. Undefined: done. Else why it failed, as `decide` is told. Fails with a Conflict
 * if the object has changed meanwhile, and with PassOver if the pass was given up.
 */
export async function doEffect(
  effect: Effect,
  work: Work,
  ports: EffectPorts,
): Promise<FailedEffect | undefined> {
  work.pass.check();
  const bound = { what: `Effect ${effect.do}`, ms: effectMs(), parent: work.pass.signal };
  try {
    await bounded(ports.clock, bound, (call) => deed(effect)(effect, work, ports, call));
    return undefined;
  } catch (error) {
    work.pass.check();
    if (isStoreError(error, "Conflict")) throw error;
    return failureOf(effect, error);
  }
}

/** The table's row for this effect, with the two types tied together. */
function deed(effect: Effect): Do<Effect["do"]> {
  return deeds[effect.do] as Do<Effect["do"]>;
}

/** The effect cannot be done, now or later; the message says why. */
class EffectTrouble extends Error {
  override readonly name = "EffectTrouble";
}

const REASON_OF: Partial<Record<Effect["do"], Reason>> = {
  "save-plan": REASON.execPlanFailed,
  "write-outputs": REASON.outputsWritingFailed,
  "release-lock": REASON.lockHeld,
};

function failureOf(effect: Effect, error: unknown): FailedEffect {
  const reason = REASON_OF[effect.do] ?? REASON.reconciliationFailed;
  return { effect: effect.do, reason, message: messageOf(error), transient: isTransient(error) };
}

function isTransient(error: unknown): boolean {
  const lasting = [OutputsTrouble, EffectTrouble, CannotKeep];
  if (lasting.some((each) => error instanceof each)) return false;
  if (error instanceof StoreError) {
    return error.code !== "Invalid" && error.code !== "Forbidden";
  }
  if (error instanceof RunnerError) return error.code !== "NotFound";
  return true;
}

async function setFinalizers(
  work: Work,
  finalizers: string[],
  store: ObjectStore,
  call: Call,
): Promise<Terraform> {
  const metadata = { ...work.terraform.metadata, finalizers };
  try {
    return await store.update({ ...work.terraform, metadata }, "main", call);
  } catch (error) {
    // Removing the last finalizer of a deleted object is its end; an answer lost says no more.
    if (isStoreError(error, "NotFound")) return { ...work.terraform, metadata };
    throw error;
  }
}

/**
 * tofu-controller marked what an object depends on with a finalizer of its name, which would hold
 * the dependency for ever once nobody of that name is left.
 */
async function leaveDependencies(
  terraform: Terraform,
  store: ObjectStore,
  call: Call,
): Promise<void> {
  const own = keyOf(terraform);
  const mark = `${DEPENDENCY_FINALIZER_PREFIX}${own.name}`;
  for (const { name, namespace = own.namespace } of terraform.spec.dependsOn ?? []) {
    const found = await store.get({ kind: "Terraform", namespace, name }, call);
    const { finalizers = [] } = found?.metadata ?? {};
    if (found === undefined || !finalizers.includes(mark)) continue;
    const rest = finalizers.filter((each) => each !== mark);
    try {
      const metadata = { ...found.metadata, finalizers: rest };
      await store.update({ ...found, metadata }, "main", call);
    } catch (error) {
      if (!isStoreError(error, "NotFound")) throw error;
    }
  }
}

/** What is saved must be the very file that the run reported. */
function checkPlan(work: Work, binary: Uint8Array): void {
  const { outcome } = work;
  if (outcome?.kind !== "planned" || outcome.planDigest === sha256Hex(binary)) return;
  throw new EffectTrouble(
    `The plan file of ${keyOf(work.terraform).name} is not the one that its run reported`,
  );
}
