import type { Terraform } from "../api/terraform.ts";
import type { Decision, Effect, FailedEffect, Observed } from "../domain/facts.ts";
import type { Call } from "../ports/call.ts";
import { isStoreError } from "../ports/object-store.ts";
import { bounded } from "./bounded.ts";
import { sameJson } from "./canonical.ts";
import { doEffect, type EffectPorts, type Work } from "./effects.ts";
import type { Gathered } from "./gather.ts";
import { storeMs } from "./limits.ts";
import type { Pass } from "./pass.ts";

/** A decision that fails is taken anew at most so often in one pass. */
const DECISIONS_MAX = 4;

/** What a pass came to. */
export interface Done {
  readonly decision: Decision;
  readonly statusWritten: boolean;
  /** An effect after the status failed: the next pass asks for it again. */
  readonly failed: FailedEffect | undefined;
}

export type Decide = (observed: Observed) => Decision;

/**
 * Decides about what was gathered and carries it out: the effects the status tells of, then the
 * status, under optimistic lock, then the effects the status intends. An effect that fails before
 * the status is stored leads to another decision. Fails with Conflict if the object changed since.
 */
export async function execute(
  pass: Pass,
  gathered: Gathered,
  decide: Decide,
  ports: EffectPorts,
): Promise<Done> {
  const { terraform, run } = gathered.observed;
  const { sensitive, inputs } = gathered;
  const work: Work = { pass, sensitive, inputs, outcome: run?.outcome, terraform };
  let { observed } = gathered;
  for (let count = 0; count < DECISIONS_MAX; count++) {
    const decision = decide(observed);
    if (!claimSlot(decision, observed, ports)) {
      observed = { ...observed, engine: { ...observed.engine, slotFree: false } };
      continue;
    }
    try {
      const failedEffect = await doAll(decision.before, work, ports);
      if (failedEffect !== undefined) {
        observed = { ...observed, failedEffect };
        continue;
      }
      const statusWritten = await storeStatus(decision, work, ports);
      const failed = await doAll(decision.after, work, ports);
      ports.supervisors.follow(work.terraform);
      return { decision, statusWritten, failed };
    } finally {
      ports.supervisors.settle(observed.engine.nextRunId);
    }
  }
  throw new Error("decide asks again and again for what has failed");
}

/** A run that starts takes its slot now: passes go on side by side, and gathered before. */
function claimSlot(decision: Decision, observed: Observed, ports: EffectPorts): boolean {
  const { nextRunId, slotFree } = observed.engine;
  if (decision.status.run?.id !== nextRunId || !slotFree) return true;
  return ports.supervisors.claim(nextRunId);
}

/** In their order; the first that fails ends it. */
async function doAll(
  effects: readonly Effect[],
  work: Work,
  ports: EffectPorts,
): Promise<FailedEffect | undefined> {
  for (const effect of effects) {
    const failed = await doEffect(effect, work, ports);
    if (failed !== undefined) return failed;
  }
  return undefined;
}

async function storeStatus(decision: Decision, work: Work, ports: EffectPorts): Promise<boolean> {
  if (sameJson(work.terraform.status ?? {}, decision.status)) return false;
  const next: Terraform = { ...work.terraform, status: decision.status };
  const bound = { what: "Storing the status", ms: storeMs(), parent: work.pass.signal };
  work.pass.check();
  try {
    const update = (call: Call) => ports.store.update(next, "status", call);
    work.terraform = await bounded(ports.clock, bound, update);
    return true;
  } catch (error) {
    // An object whose last finalizer has just been removed has no status any more.
    if (isStoreError(error, "NotFound")) return false;
    throw error;
  }
}
