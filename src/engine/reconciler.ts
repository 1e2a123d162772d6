import { keyText, type ObjectKey } from "../api/kinds.ts";
import type { Log } from "../ports/log.ts";
import { isStoreError, StoreError } from "../ports/object-store.ts";
import { bounded, messageOf, orAbort } from "./bounded.ts";
import type { EffectPorts } from "./effects.ts";
import { type Done, execute } from "./execute.ts";
import { type GatherPorts, gather } from "./gather.ts";
import { gatherMs, passMs } from "./limits.ts";
import { Pass, PassOver, storeOf } from "./pass.ts";
import type { EnginePorts } from "./ports.ts";

export interface ReconcilerPorts {
  readonly gather: GatherPorts;
  readonly effects: EffectPorts;
  readonly decide: EnginePorts["decide"];
  readonly log: Log;
}

/** When the object wants its next pass. */
export type Next =
  | { readonly after: "ms"; readonly ms: number | undefined }
  /** The object changed under the pass: at once. */
  | { readonly after: "conflict" }
  /** Something failed: after a growing pause. */
  | { readonly after: "failure"; readonly isBug?: boolean }
  /** There is no such object. */
  | { readonly after: "gone" };

/**
 * One pass of one object: gather, decide, execute. Never fails and always ends in time: trouble
 * with the world and bugs alike end in another pass, of this object alone.
 */
export async function reconcile(
  key: ObjectKey,
  ports: ReconcilerPorts,
  parent: AbortSignal,
): Promise<Next> {
  const { clock } = ports.effects;
  const pass = new Pass(key, clock, { ms: passMs(), parent });
  try {
    return await orAbort(onePass(pass, ports), pass.signal);
  } catch (error) {
    return troubled(error, key, ports.log, parent);
  } finally {
    pass.end();
  }
}

async function onePass(pass: Pass, ports: ReconcilerPorts): Promise<Next> {
  const { key } = pass;
  const effects = { ...ports.effects, store: storeOf(pass, ports.effects.store) };
  const { clock } = effects;
  const bound = { what: `Reading ${keyText(key)}`, ms: gatherMs(), parent: pass.signal };
  const gathered = await bounded(clock, bound, (call) => gather(key, ports.gather, call));
  if (gathered === undefined) return { after: "gone" };
  const decide = ports.decide;
  const done = await execute(pass, gathered, (seen) => decide(seen, clock.now()), effects);
  tell(key, done, ports.log);
  return done.failed === undefined
    ? { after: "ms", ms: done.decision.requeueAfterMs }
    : { after: "failure" };
}

function tell(key: ObjectKey, done: Done, log: Log): void {
  const { decision, statusWritten, failed } = done;
  const effects = [...decision.before, ...decision.after].map((effect) => effect.do).join(" ");
  const fields = { object: keyText(key), why: decision.why, effects };
  if (failed !== undefined) {
    log.warn("An effect failed", { ...fields, effect: failed.effect, error: failed.message });
  } else if (statusWritten || effects !== "") {
    log.info("Decided", fields);
  } else {
    log.debug("Nothing to do", fields);
  }
}

function troubled(error: unknown, key: ObjectKey, log: Log, parent: AbortSignal): Next {
  if (isStoreError(error, "Conflict")) return { after: "conflict" };
  if (parent.aborted) return { after: "failure" };
  const fields = { object: keyText(key), error: messageOf(error) };
  const isBug = !(error instanceof StoreError || isTimeout(error));
  if (isBug) log.error("A pass failed by a bug", { ...fields, stack: stackOf(error) });
  else log.warn("A pass failed", fields);
  return { after: "failure", isBug };
}

function isTimeout(error: unknown): boolean {
  const late = error instanceof Error && /Timeout|Deadline|Abort/.test(error.name);
  return late || error instanceof PassOver;
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}
