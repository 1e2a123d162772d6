import { join } from "node:path";
import { createFolderStore } from "../adapters/artifacts/store.ts";
import { createGitSource } from "../adapters/git/source.ts";
import { ProcessPlatform } from "../adapters/process/platform.ts";
import { databaseError } from "../adapters/sqlite/database.ts";
import { openStateDoor } from "../adapters/state-door/server.ts";
import { createDataLock } from "../adapters/system/data-lock.ts";
import { createRegistry, processGauges } from "../adapters/system/meters.ts";
import { systemRandom } from "../adapters/system/random.ts";
import { decide } from "../domain/decide.ts";
import type { LostApplyPolicy } from "../domain/facts.ts";
import { doorBearing, platformBearing } from "../engine/bearing.ts";
import { createEngine, type Engine } from "../engine/engine.ts";
import type { EnginePorts } from "../engine/ports.ts";
import { tellingOfChanges } from "../engine/state-changes.ts";
import { unlockState } from "../engine/unlock.ts";
import type { Clock } from "../ports/clock.ts";
import type { EngineInfo } from "../ports/engine.ts";
import type { Lead, Leadership } from "../ports/leadership.ts";
import type { Log } from "../ports/log.ts";
import type { Meters } from "../ports/meters.ts";
import type { StateUnlocker } from "../ports/state.ts";
import { type ListenAddress, tokenFile } from "../server/access.ts";
import { serveEngine } from "../server/server.ts";
import { engineSocketPath } from "../server/socket.ts";
import { keptDigestKey } from "./digest-key.ts";
import { packageVersion, programFile } from "./package.ts";
import { type Kept, openKept } from "./store.ts";

export interface EngineSetup {
  readonly dataDir: string;
  /** Environment of runners, tofu's file among it. */
  readonly runnerEnv: Readonly<Record<string, string>>;
  /** What git may know of the environment. */
  readonly gitEnv: Readonly<Record<string, string>>;
  readonly runtimeFolder: string | undefined;
  readonly maxRuns: number;
  readonly lostApply: LostApplyPolicy;
  /** Where to answer beside the socket. */
  readonly listen: ListenAddress | undefined;
  readonly command: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** An engine on one machine, with everything around it. */
export interface Standalone {
  readonly engine: Engine;
  readonly kept: Kept;
  /** Lets go of runs, closes door, socket and database. */
  close(): Promise<void>;
}

const CLOSE_MS = 15_000;

/**
 * Takes the data directory, opens the door, starts the engine. The order matters: nobody else's
 * port, socket or database is touched before the directory is ours. Fails with NotLeader (naming
 * the holder), PortTaken, PortRefused or DatabaseError.
 */
export async function startStandalone(
  setup: EngineSetup,
  signal: AbortSignal,
): Promise<Standalone> {
  const { dataDir, clock, command } = setup;
  const lock = createDataLock({ dataDir, command, version: packageVersion() }, clock);
  const patience = clock.deadline("Waiting for the data directory", LOCK_PATIENCE_MS, signal);
  const lead = await lock.acquire({ signal: patience }).catch((error: unknown) => {
    // What SQLite says of a full or read-only disk, in words that name the file and the mend.
    throw databaseError(error, join(dataDir, "lock.db"));
  });
  const undo: (() => Promise<void> | void)[] = [() => lead.release()];
  try {
    return await assemble(setup, lead, { signal, undo });
  } catch (error) {
    for (const each of undo.reverse()) await each();
    throw error;
  }
}

/** An engine that was just killed frees its lock at once; one that goes down needs a moment. */
const LOCK_PATIENCE_MS = 3_000;

interface Assembly {
  readonly signal: AbortSignal;
  readonly undo: (() => Promise<void> | void)[];
}

async function assemble(
  setup: EngineSetup,
  lock: Lead,
  { signal, undo }: Assembly,
): Promise<Standalone> {
  const { dataDir, clock, log } = setup;
  const kept = openKept(dataDir, clock, true);
  undo.push(() => kept.database.close());
  const platform = platformOf(setup);
  undo.push(() => platform.close());
  const lead = aboveAll(lock, [kept.states.newestEpoch(), platform.newestEpoch()]);
  const { door, close: closeDoor } = await openStateDoor(
    {
      storage: kept.states,
      log,
      clock,
      random: systemRandom,
      portFile: join(dataDir, "state-door.json"),
      runsMayWait: await runsUnderWay(kept, signal),
    },
    { signal },
  );
  const closing = () => ({ signal: clock.deadline("Closing", CLOSE_MS) });
  undo.push(() => closeDoor(closing()));
  const meters = createRegistry();
  const engine = engineOf(setup, kept, { door, lead, meters, platform });
  undo.push(() => engine.stop());
  await engine.start(signal);
  const socket = engineSocketPath(dataDir);
  const info = engineInfo(setup, lead, engine);
  const probes = {
    metrics: () => meters.text([...engine.gauges(), ...processGauges()]),
    health: engine.health,
    unready: engine.unready,
  };
  const unlocking = {
    store: kept.store,
    platform: platformBearing(platform, lead.epoch),
    door: doorBearing(door, lead.epoch),
  };
  const unlocker: StateUnlocker = {
    unlock: (state, lockId, call) => unlockState(state, lockId, unlocking, call),
  };
  const states = tellingOfChanges(kept.states, engine.enqueue);
  const served = { ...kept, states, unlocker, live: engine.live, info, probes, clock, log };
  const server = await serveEngine(served, socket, setup.listen);
  const { url } = server;
  if (url !== undefined) log.info("Listening", { url, token: tokenFile(socket) });
  undo.push(() => server.close());
  const close = async () => {
    for (const each of undo.splice(0).reverse()) await each();
  };
  return { engine, kept, close };
}

/**
 * The lock counts the epochs, and may have been lost or come from an older copy; what it protects
 * remembers them too, and would refuse this engine for ever.
 */
function aboveAll(lead: Lead, met: readonly number[]): Lead {
  const epoch = Math.max(lead.epoch, ...met.map((newest) => newest + 1));
  return { ...lead, epoch };
}

/** A run that is under way may know the door's port. */
async function runsUnderWay({ store }: Kept, signal: AbortSignal): Promise<boolean> {
  const { items } = await store.list("Terraform", {}, { signal });
  return items.some(({ status }) => status?.run !== undefined);
}

/** The same for every run; the object's own comes on top. */
function runnerEnvOf({ dataDir, runnerEnv }: EngineSetup): Record<string, string> {
  return {
    ...runnerEnv,
    NIGARI_CACHE: join(dataDir, "cache"),
    // Compiled once for all runs: a runner answers sooner.
    NODE_COMPILE_CACHE: join(dataDir, "cache/node"),
  };
}

function platformOf(setup: EngineSetup): ProcessPlatform {
  const { dataDir, runtimeFolder, clock, log } = setup;
  return new ProcessPlatform({
    runsFolder: join(dataDir, "runs"),
    runnerCommand: [
      process.execPath,
      "--disable-warning=ExperimentalWarning",
      programFile("runner"),
    ],
    runtimeFolder,
    spareEnv: runnerEnvOf(setup),
    clock,
    random: systemRandom,
    log,
  });
}

function engineOf(
  setup: EngineSetup,
  kept: Kept,
  parts: Pick<EnginePorts, "door" | "platform"> & { lead: Lead; meters: Meters },
): Engine {
  const { door, platform, lead, meters } = parts;
  const { dataDir, clock, log } = setup;
  const random = systemRandom;
  const artifacts = createFolderStore({ folder: join(dataDir, "artifacts"), clock, random });
  // The data directory is ours already: leading is not asked for a second time.
  const leadership: Leadership = { acquire: async () => lead };
  return createEngine(
    {
      store: kept.store,
      logs: kept.logs,
      artifacts,
      keeper: artifacts,
      git: createGitSource({
        folder: join(dataDir, "git"),
        baseFolder: process.cwd(),
        env: setup.gitEnv,
        keeper: artifacts,
        clock,
        random,
      }),
      platform,
      door,
      leadership,
      clock,
      random,
      log,
      meters,
      decide,
    },
    {
      maxRuns: setup.maxRuns,
      lostApply: setup.lostApply,
      runnerEnv: runnerEnvOf(setup),
      digestKey: keptDigestKey(join(dataDir, "digest.key")),
    },
  );
}

function engineInfo(setup: EngineSetup, lead: Lead, engine: Engine): () => EngineInfo {
  const since = new Date(setup.clock.now()).toISOString();
  return () => ({
    pid: process.pid,
    version: packageVersion(),
    since,
    command: setup.command,
    dataDir: setup.dataDir,
    epoch: lead.epoch,
    lagMs: Math.round(setup.clock.lagMs()),
    ...engine.load(),
  });
}
