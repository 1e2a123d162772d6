import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { createHttpArtifacts } from "../adapters/artifacts/http.ts";
import { createFolderStore } from "../adapters/artifacts/store.ts";
import { Connection } from "../adapters/kubernetes/connection.ts";
import { clusterDigestKey } from "../adapters/kubernetes/digest-key.ts";
import { type ClusterAccess, findAccess } from "../adapters/kubernetes/kubeconfig.ts";
import { createLeaseLeadership } from "../adapters/kubernetes/lease-leadership.ts";
import { ApiServerStore } from "../adapters/kubernetes/object-store.ts";
import { lackingRights } from "../adapters/kubernetes/preflight.ts";
import { RivalLease } from "../adapters/kubernetes/rival-lease.ts";
import { createAnnouncer } from "../adapters/notification/announcer.ts";
import { createLog } from "../adapters/system/log.ts";
import { createRegistry, processGauges, type Registry } from "../adapters/system/meters.ts";
import { systemRandom } from "../adapters/system/random.ts";
import { createRunLogs } from "../adapters/system/run-logs.ts";
import { OWN_IDENTITY } from "../api/cluster-names.ts";
import { selects } from "../api/selector.ts";
import { EXIT } from "../cli/world.ts";
import { decide } from "../domain/decide.ts";
import { messageOf } from "../engine/bounded.ts";
import { createEngine, type Engine } from "../engine/engine.ts";
import type { Announcer } from "../ports/announcer.ts";
import type { Clock } from "../ports/clock.ts";
import { type Lead, type Leadership, NotLeader } from "../ports/leadership.ts";
import type { Log } from "../ports/log.ts";
import type { RunnerPlatform } from "../ports/runner.ts";
import type { StateDoor } from "../ports/state.ts";
import { type Monitoring, serveMonitoring } from "../server/monitoring.ts";
import type { Probes } from "../server/probes.ts";
import type { ControllerSettings } from "./controller-settings.ts";
import { dataDirOf, makePrivate } from "./data-dir.ts";
import { keepHeapSmall } from "./heap.ts";
import { packageVersion } from "./package.ts";

/** What a controller needs of the process it runs in. */
export interface ControllerWorld {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Fires at the first SIGTERM. */
  readonly interrupted: AbortSignal;
}

/** What is there before anybody leads. */
export interface ClusterParts {
  readonly settings: ControllerSettings;
  readonly access: ClusterAccess;
  readonly connection: Connection;
  readonly store: ApiServerStore;
  /** Where the controller lives. */
  readonly namespace: string;
  /** Name of the Lease in that namespace by which the leader is elected. */
  readonly leaseName: string;
  /** Of this process, unique; begins with OWN_IDENTITY. */
  readonly identity: string;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly meters: Registry;
}

/** Where runners live and where states lie: in a cluster pods and Secrets. */
export interface RunnerParts {
  readonly platform: RunnerPlatform;
  readonly door: StateDoor | undefined;
  readonly runnerEnv: Readonly<Record<string, string>>;
  readonly runnersArePods: boolean;
  close(): Promise<void>;
}
export type MakeRunnerParts = (cluster: ClusterParts, signal: AbortSignal) => Promise<RunnerParts>;

/** Watches, one by each kind, and the requests of passes beside them. */
const SOCKETS_MAX = 64;
const CLOSE_MS = 10_000;
const PREFLIGHT_MS = 30_000;
const PERMITTED_AGAIN_MS = 5_000;
/** Pause before leading is tried again after it was lost, or something failed at the start. */
const AGAIN_MS = 1_000;

/**
 * The engine of a cluster: leads, or waits to, until it is told to stop; then it leaves the runs
 * running. Answers an exit code. Fails with AccessError, CliError and MonitoringRefused.
 */
export async function runController(
  settings: ControllerSettings,
  makeRunners: MakeRunnerParts,
  world: ControllerWorld,
): Promise<number> {
  keepHeapSmall();
  const log = createLog(settings.log);
  for (const warning of settings.warnings) log.warn(warning);
  const cluster = await clusterParts(settings, world, log);
  const { connection, meters, namespace, identity, store, clock } = cluster;
  let engine: Engine | undefined;
  const served = await serveProbes(settings, log, {
    metrics: () => meters.text([...(engine?.gauges() ?? []), ...processGauges()]),
    health: () => engine?.health() ?? [],
    // One that waits to lead is as ready as it can be.
    unready: () => (world.interrupted.aborted ? "The controller is stopping" : undefined),
  });
  const rivalPorts = { store, clock, random: systemRandom };
  const rivalNamespace = settings.rivalNamespace ?? namespace;
  const rival = new RivalLease({ namespace: rivalNamespace, identity }, rivalPorts);
  // It is let go of last, and also if leading itself is lost.
  const over = new AbortController();
  const holding = rival.run(over.signal);
  try {
    log.info("Controller begins", { server: cluster.access.name, namespace, identity });
    await untilPermitted(cluster, world.interrupted);
    await rival.known(world.interrupted);
    while (!world.interrupted.aborted) {
      await oneTerm(cluster, { rival, makeRunners, world }, (begun) => {
        engine = begun;
      });
      await clock.sleep(AGAIN_MS, world.interrupted);
    }
    return EXIT.ok;
  } finally {
    over.abort();
    await holding;
    await Promise.all(served.map((each) => each.close()));
    connection.close();
    log.info("Controller has stopped; runs that were under way go on");
  }
}

/**
 * Waits until the account has the rights it needs, and says which rules lack: half of them would
 * leave objects half done. An API server that does not answer is waited for too.
 */
async function untilPermitted(cluster: ClusterParts, signal: AbortSignal): Promise<void> {
  const { connection, namespace, settings, clock, log } = cluster;
  const watched = settings.ownNamespaceOnly ? namespace : undefined;
  while (!signal.aborted) {
    try {
      const call = { signal: clock.deadline("Asking for rights", PREFLIGHT_MS, signal) };
      const lacking = await lackingRights(connection, { watched, own: namespace }, call);
      for (const { right, rule } of lacking) {
        const kind = right.ownNamespace === true ? "Role" : "ClusterRole";
        log.error("The account lacks a right", { rule, kind, for: right.for });
      }
      if (lacking.every(({ right }) => right.optional === true)) return;
    } catch (error) {
      if (signal.aborted) return;
      log.error("The API server cannot be asked for rights", { error: messageOf(error) });
    }
    await clock.sleep(PERMITTED_AGAIN_MS, signal);
  }
}

async function clusterParts(
  settings: ControllerSettings,
  { clock, env }: ControllerWorld,
  log: Log,
): Promise<ClusterParts> {
  const { kubeconfig, context, ownNamespaceOnly } = settings;
  const access = await findAccess({ env, kubeconfig, context });
  const namespace = settings.ownNamespace ?? access.namespace;
  const meters = createRegistry();
  const userAgent = `nigari/${packageVersion()}`;
  const connection = new Connection(access, {
    ...{ clock, env, userAgent, socketsMax: SOCKETS_MAX },
    answered: (method, code) =>
      meters.add("rest_client_requests_total", { code, host: access.server.host, method }),
  });
  const watched = ownNamespaceOnly ? namespace : undefined;
  const store = new ApiServerStore({ connection, clock, namespace: watched });
  const dataDir = dataDirOf(settings.dataDir, env);
  makePrivate(dataDir);
  const identity = `${OWN_IDENTITY}${env.POD_NAME ?? hostname()}_${systemRandom.hex(6)}`;
  return {
    ...{ settings, access, connection, store, namespace, identity, dataDir },
    leaseName: leaseNameOf(settings),
    ...{ clock, log, meters },
  };
}

async function serveProbes(
  { healthAddress, metricsAddress }: ControllerSettings,
  log: Log,
  probes: Probes,
): Promise<Monitoring[]> {
  const served: Monitoring[] = [];
  for (const [what, address] of [
    ["health", healthAddress],
    ["metrics", metricsAddress],
  ] as const) {
    if (address === undefined) continue;
    const monitoring = await serveMonitoring(what, address, { probes, log });
    log.info("Listening", { what, port: monitoring.port });
    served.push(monitoring);
  }
  return served;
}

interface Term {
  readonly rival: RivalLease;
  readonly makeRunners: MakeRunnerParts;
  readonly world: ControllerWorld;
}

/** From waiting to lead until leading is over, with everything made anew for it. */
async function oneTerm(
  cluster: ClusterParts,
  { rival, makeRunners, world }: Term,
  begun: (engine: Engine) => void,
): Promise<void> {
  const { log, clock } = cluster;
  const { interrupted } = world;
  const over = new AbortController();
  const signal = AbortSignal.any([interrupted, over.signal]);
  let runners: RunnerParts | undefined;
  let engine: Engine | undefined;
  let lead: Lead | undefined;
  try {
    const taken = await leadershipOf(cluster).acquire({ signal });
    lead = taken;
    const leadership: Leadership = { acquire: async () => taken };
    const starting = { signal: clock.deadline("Reading the digest key", CLOSE_MS, signal) };
    const digestKey = await clusterDigestKey(cluster.store, cluster.namespace, starting);
    runners = await makeRunners(cluster, signal);
    engine = engineOf(cluster, runners, { leadership, rival, digestKey, signal });
    begun(engine);
    await engine.start(signal);
    const stop = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    const ended = await Promise.race([engine.ended, stop]);
    if (ended === "leadership lost") log.warn("Leading was lost; this waits to lead again");
  } catch (error) {
    if (!interrupted.aborted) {
      const isTurn = error instanceof NotLeader;
      log.error("Leading did not begin", { error: messageOf(error), again: !isTurn });
    }
  } finally {
    await engine?.stop();
    await lead?.release();
    over.abort();
    await runners?.close();
  }
}

/** Shards have Leases of their own: each leads the objects that its selector names. */
function leaseNameOf({ selector }: ControllerSettings): string {
  if (selector === undefined) return "nigari-controller";
  const digest = createHash("sha256").update(JSON.stringify(selector)).digest("hex");
  return `nigari-controller-${digest.slice(0, 10)}`;
}

function leadershipOf({ leaseName, store, clock, namespace, identity }: ClusterParts): Leadership {
  const options = { namespace, name: leaseName, identity };
  return createLeaseLeadership(options, { store, clock, random: systemRandom });
}

interface TermParts {
  readonly leadership: Leadership;
  readonly rival: RivalLease;
  readonly digestKey: Uint8Array;
  readonly signal: AbortSignal;
}

function engineOf(
  cluster: ClusterParts,
  { platform, door, runnerEnv, runnersArePods }: RunnerParts,
  { leadership, rival, digestKey, signal }: TermParts,
): Engine {
  const { settings, store, dataDir, clock, log, meters } = cluster;
  const { selector } = settings;
  const folder = join(dataDir, "artifacts");
  const kept = createFolderStore({ folder, clock, random: systemRandom });
  const userAgent = `nigari/${packageVersion()}`;
  const announcer = announcerOf(cluster, userAgent, signal);
  return createEngine(
    {
      ...{ store, platform, door, leadership, rival, clock, log, meters, decide },
      artifacts: createHttpArtifacts({ kept, clock, userAgent }),
      keeper: kept,
      git: undefined,
      logs: createRunLogs(join(dataDir, "logs")),
      random: systemRandom,
      ...(announcer === undefined ? {} : { announcer }),
    },
    {
      maxRuns: settings.maxRuns,
      lostApply: settings.lostApply,
      crossNamespaceRefs: settings.crossNamespaceRefs,
      runnerEnv,
      runnersArePods,
      digestKey,
      eventsExpire: true,
      ...(selector === undefined ? {} : { isOurs: (labels) => selects(selector, labels) }),
    },
  );
}

function announcerOf(
  { settings, identity, clock, log }: ClusterParts,
  userAgent: string,
  signal: AbortSignal,
): Announcer | undefined {
  const url = settings.eventsAddress;
  if (url === undefined) return undefined;
  return createAnnouncer({ url, instance: identity, userAgent, clock, log, signal });
}
