import type { ObjectKey } from "../api/kinds.ts";
import { keyText } from "../api/kinds.ts";
import type { RunStatus } from "../api/terraform.ts";
import type { Call } from "../ports/call.ts";
import type { Log } from "../ports/log.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import type { RunnerPlatform } from "../ports/runner.ts";
import { type StateDoor, StateRefused } from "../ports/state.ts";
import { stateIdOf, usesDoor } from "./order.ts";

export interface RescuePorts {
  readonly store: ObjectStore;
  readonly platform: RunnerPlatform;
  readonly door: StateDoor | undefined;
  readonly log: Log;
}

/**
 * Looks whether tofu left a state behind that it could not write, and keeps it. True if a person
 * must look at it; false if there was none or it could be made the current one. Safe to do again;
 * fails with the errors of the ports, and then nothing may be removed.
 */
export async function rescueState(
  key: ObjectKey,
  run: RunStatus,
  ports: RescuePorts,
  call: Call,
): Promise<boolean> {
  const { platform, door, store, log } = ports;
  const content = await platform.readFile(run.id, "errored.tfstate", call);
  if (content === undefined) return false;
  const fields = { object: keyText(key), run: run.id };
  const terraform = await store.get({ kind: "Terraform", ...key }, call);
  if (door === undefined || terraform === undefined) {
    log.warn("A state that a run left behind stays in the run's folder", fields);
    return true;
  }
  try {
    const { became } = await door.rescue(stateIdOf(terraform), run.id, content, call);
    log.warn("A state that a run left behind was kept", { ...fields, became });
    return became === "aside";
  } catch (error) {
    if (!(error instanceof StateRefused)) throw error;
    log.error("What a run left behind as its state is none", { ...fields, error: error.message });
    return true;
  }
}

/** What is read of a state at once; of a larger one nothing is known here. */
const STATE_BYTES_MAX = 16 * 1_048_576;

/** The state of an object as it is now; undefined if there is none or it is kept elsewhere. */
export async function currentState(
  key: ObjectKey,
  ports: Pick<RescuePorts, "store" | "door">,
  call: Call,
): Promise<Uint8Array | undefined> {
  const { door, store } = ports;
  const terraform = await store.get({ kind: "Terraform", ...key }, call);
  if (door === undefined || terraform === undefined || !usesDoor(terraform, door)) return undefined;
  const content = await door.read(stateIdOf(terraform), call);
  if (content === undefined || content.sizeBytes > STATE_BYTES_MAX) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of content.chunks) chunks.push(chunk);
  return Buffer.concat(chunks);
}
