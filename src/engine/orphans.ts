import type { Stage } from "../api/terraform.ts";
import type { RunOutcome } from "../domain/facts.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import type { RunnerPlatform } from "../ports/runner.ts";
import { bounded, messageOf } from "./bounded.ts";
import type { Janitor } from "./janitor.ts";

const CALL_MS = 10_000;
const AGAIN_MS = 600_000;
const HARMLESS: readonly Stage[] = ["launch", "artifact", "init", "workspace", "plan", "show"];

export interface OrphanPorts {
  readonly store: ObjectStore;
  readonly platform: RunnerPlatform;
  readonly janitor: Janitor;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Looks for runs that no object names: at the start, and now and then. What was collected or wrote
 * nothing is removed; what may have changed the world is kept and reported, for its folder may hold
 * the only trace of a result. Never fails.
 */
export async function sweepOrphans(ports: OrphanPorts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await sweepOnce(ports, signal);
    } catch (error) {
      ports.log.warn("Runs without an object cannot be looked for", { error: messageOf(error) });
    }
    await ports.clock.sleep(AGAIN_MS, signal);
  }
}

async function sweepOnce(ports: OrphanPorts, parent: AbortSignal): Promise<void> {
  const { clock, platform, store, janitor } = ports;
  const bound = (what: string) => ({ what, ms: CALL_MS, parent });
  // First the runs, then the objects: a run is launched only after an object names it.
  const runs = await bounded(clock, bound("Listing runs"), (call) => platform.list(call));
  const objects = await bounded(clock, bound("Listing objects"), (call) =>
    store.list("Terraform", {}, call),
  );
  const named = new Set(objects.items.map(({ status }) => status?.run?.id));
  const collected = new Set(objects.items.map(({ status }) => status?.lastRun?.id));
  for (const runId of runs) {
    if (named.has(runId)) continue;
    if (collected.has(runId)) janitor.remove(runId);
    else await judgeUnknown(runId, ports, parent);
  }
}

async function judgeUnknown(runId: string, ports: OrphanPorts, parent: AbortSignal): Promise<void> {
  const { clock, platform, janitor, log } = ports;
  const bound = (what: string) => ({ what, ms: CALL_MS, parent });
  const fact = await bounded(clock, bound("Inspecting a run"), (call) =>
    platform.inspect(runId, call),
  );
  if (fact.runner !== "gone" || fact.workersAlive !== 0) {
    log.warn("A run that no object names goes on; it is left alone", { run: runId });
    return;
  }
  const outcome = await bounded(clock, bound("Collecting a run"), (call) =>
    platform.collect(runId, call),
  );
  if (isHarmless(outcome)) {
    janitor.remove(runId);
  } else {
    const message = "A run that no object names may have changed the world; its folder is kept";
    log.warn(message, { run: runId, outcome: outcome.kind });
  }
}

function isHarmless(outcome: RunOutcome): boolean {
  if (outcome.kind === "planned") return true;
  return outcome.kind !== "applied" && HARMLESS.includes(outcome.stage);
}
