import type { Stage } from "../api/terraform.ts";
import type { RunOutcome } from "../domain/facts.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import type { RunnerConnection, RunnerPlatform } from "../ports/runner.ts";
import { bounded, messageOf } from "./bounded.ts";
import type { Janitor } from "./janitor.ts";
import { callMs, helloMs } from "./limits.ts";

const AGAIN_MS = 600_000;
/** As long as something is left that could not be judged. */
const SOON_MS = 30_000;
const HARMLESS: readonly Stage[] = ["launch", "artifact", "init", "workspace", "plan", "show"];

export interface OrphanPorts {
  /** Of the engine: its calls to runners bear it. */
  readonly epoch: number;
  readonly store: ObjectStore;
  readonly platform: RunnerPlatform;
  readonly janitor: Janitor;
  readonly clock: Clock;
  readonly log: Log;
}

/** What is known of a run that no object names. */
type Known =
  /** `isNeeded`: nobody has stored what came of it, and its folder may tell it. */
  | { readonly state: "ended"; readonly isNeeded: boolean }
  /** Its runner waits for an order that will not come. */
  | { readonly state: "idle" }
  | { readonly state: "goes-on" };

/**
 * Looks for runs that no object names: at the start, and now and then. One that has ended and left
 * nothing that is needed is removed, and so is one whose outcome its object has stored; one that
 * goes on is left alone; one of which a trace may still be needed is kept and reported, for its
 * folder may hold the only one. Never fails.
 */
export async function sweepOrphans(ports: OrphanPorts, signal: AbortSignal): Promise<void> {
  const reported = new Set<string>();
  while (!signal.aborted) {
    let allJudged = false;
    try {
      allJudged = await sweepOnce(ports, reported, signal);
    } catch (error) {
      ports.log.warn("Runs without an object cannot be looked for", { error: messageOf(error) });
    }
    await ports.clock.sleep(allJudged ? AGAIN_MS : SOON_MS, signal);
  }
}

/** False if a run goes on. */
async function sweepOnce(
  ports: OrphanPorts,
  reported: Set<string>,
  parent: AbortSignal,
): Promise<boolean> {
  const { clock, platform, store, janitor } = ports;
  const bound = (what: string) => ({ what, ms: callMs(), parent });
  // First the runs, then the objects: a run is launched only after an object names it.
  const runs = await bounded(clock, bound("Listing runs"), (call) => platform.list(call));
  const objects = await bounded(clock, bound("Listing objects"), (call) =>
    store.list("Terraform", {}, call),
  );
  const named = new Set(objects.items.map(({ status }) => status?.run?.id));
  const collected = new Set(objects.items.map(({ status }) => status?.lastRun?.id));
  const owners = new Set(objects.items.map(({ metadata }) => metadata.uid));
  let allJudged = true;
  for (const runId of runs) {
    if (named.has(runId)) continue;
    if (collected.has(runId)) janitor.remove(runId);
    else if ((await lookInto(runId, { ...ports, owners }, reported, parent)) === "goes-on") {
      allJudged = false;
    }
  }
  return allJudged;
}

interface Seen extends OrphanPorts {
  /** Uids of the objects that there are. */
  readonly owners: ReadonlySet<string | undefined>;
}

async function lookInto(
  runId: string,
  ports: Seen,
  reported: Set<string>,
  parent: AbortSignal,
): Promise<Known["state"]> {
  const known = await whatIsKnown(runId, ports, parent);
  if (known.state === "idle" || (known.state === "ended" && !known.isNeeded)) {
    ports.janitor.remove(runId);
  } else if (!reported.has(runId)) {
    reported.add(runId);
    const message =
      known.state === "ended"
        ? "A run that no object names may have left something; its folder is kept"
        : "A run that no object names goes on; it is left alone";
    ports.log.warn(message, { run: runId });
  }
  return known.state;
}

async function whatIsKnown(
  runId: string,
  { clock, platform, log, epoch, owners }: Seen,
  parent: AbortSignal,
): Promise<Known> {
  const bound = (what: string) => ({ what, ms: callMs(), parent });
  const fact = await bounded(clock, bound("Inspecting a run"), (call) =>
    platform.inspect(runId, call),
  );
  // An object goes on from a run only with its outcome stored.
  const isJudged = fact.uid !== undefined && owners.has(fact.uid);
  const ended = (outcome: RunOutcome): Known => {
    return { state: "ended", isNeeded: !isJudged && !leavesNothing(outcome) };
  };
  if (fact.runner === "gone" && fact.workersAlive === 0) {
    const outcome = await bounded(clock, bound("Collecting a run"), (call) =>
      platform.collect(runId, call),
    );
    return ended(outcome);
  }
  const connection = platform.connect(runId, epoch);
  try {
    const answer = await ask(connection, clock, parent);
    return typeof answer === "string" ? { state: answer } : ended(answer);
  } catch (error) {
    log.debug("A run that no object names does not answer", { error: messageOf(error) });
    return { state: "goes-on" };
  } finally {
    connection.close();
  }
}

async function ask(
  connection: RunnerConnection,
  clock: Clock,
  parent: AbortSignal,
): Promise<RunOutcome | "idle" | "goes-on"> {
  const greeting = { what: "Greeting a runner", ms: helloMs(), parent };
  const hello = await bounded(clock, greeting, (call) => connection.hello(call));
  if (!hello.started) return "idle";
  if (!hello.finished) return "goes-on";
  const hearing = { what: "Hearing a run's outcome", ms: callMs(), parent };
  return await bounded(clock, hearing, async (call) => {
    const place = { fromSequence: 1, logOffset: Number.MAX_SAFE_INTEGER };
    for await (const event of connection.watch(place, call)) {
      if (event.type === "outcome") return event.outcome;
    }
    return "goes-on";
  });
}

/** Neither a state that was not written nor resources that are not in it. */
function leavesNothing(outcome: RunOutcome): boolean {
  if (outcome.kind === "planned" || outcome.kind === "applied") return true;
  return HARMLESS.includes(outcome.stage);
}
