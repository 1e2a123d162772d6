import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { ApiServerAdmin } from "../adapters/kubernetes/cluster-admin.ts";
import { Connection } from "../adapters/kubernetes/connection.ts";
import { AccessError, findAccess } from "../adapters/kubernetes/kubeconfig.ts";
import { ApiServerStore } from "../adapters/kubernetes/object-store.ts";
import { PodLogs } from "../adapters/kubernetes/pod-logs.ts";
import type { Terraform } from "../api/terraform.ts";
import { type Leading, whoLeads } from "../cli/cluster/leading.ts";
import { CliError, EXIT, type PlaceFlags, type World } from "../cli/world.ts";
import type { Call } from "../ports/call.ts";
import type { Clock } from "../ports/clock.ts";
import type { ClusterAdmin } from "../ports/cluster.ts";
import { isStoreError } from "../ports/object-store.ts";
import type { LiveRun } from "../ports/runs.ts";
import { clusterStates } from "./cluster-states.ts";
import { packageRoot, packageVersion } from "./package.ts";

export interface ClusterParts {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface Opened {
  readonly connection: Connection;
  readonly admin: ClusterAdmin;
}

/** The way to a cluster. Fails with CliError where there is none. */
async function openCluster(
  { kubeconfig, context }: Pick<PlaceFlags, "kubeconfig" | "context">,
  { clock, env }: ClusterParts,
): Promise<Opened> {
  try {
    const access = await findAccess({ env, kubeconfig, context });
    const userAgent = `nigari/${packageVersion()}`;
    const connection = new Connection(access, { clock, env, userAgent });
    return { connection, admin: new ApiServerAdmin(access, { connection, clock }) };
  } catch (error) {
    if (error instanceof AccessError) throw new CliError(EXIT.usage, error.message);
    throw error;
  }
}

/** What the verbs work on in a cluster: objects through its API server, logs of runners' pods. */
export async function connectCluster(
  place: Pick<PlaceFlags, "kubeconfig" | "context">,
  parts: ClusterParts,
  call: Call,
): Promise<World> {
  const { clock } = parts;
  const { connection, admin } = await openCluster(place, parts);
  const leading = await whoLeads(admin, call).catch((error: unknown) => {
    connection.close();
    throw unreachable(admin, error);
  });
  const store = new ApiServerStore({ connection, clock });
  return {
    store,
    logs: new PodLogs({ connection, admin, store, clock }),
    ...clusterStates(store, clock),
    async live(key, each) {
      const object = await store.get({ kind: "Terraform", ...key }, each);
      return liveBy(object, clock.now());
    },
    via: admin.name,
    saysVia: true,
    namespace: admin.namespace,
    engineRuns: leading.is === "nigari" || leading.is === "unknown",
    noEngine: noEngine(leading),
    close: async () => connection.close(),
  };
}

/** The same for tools that work on the cluster itself. */
export async function connectAdmin(
  place: Pick<PlaceFlags, "kubeconfig" | "context">,
  parts: ClusterParts,
): Promise<{ readonly admin: ClusterAdmin; close(): void }> {
  const { connection, admin } = await openCluster(place, parts);
  return { admin, close: () => connection.close() };
}

/** The definition of the kind that comes with this program. */
export async function readDefinition(): Promise<unknown> {
  const file = join(packageRoot(), "config/crd/terraforms.yaml");
  return parse(await readFile(file, "utf8"));
}

function unreachable({ name }: ClusterAdmin, error: unknown): unknown {
  if (!isStoreError(error, "Unavailable") && !isStoreError(error, "Forbidden")) return error;
  const says = `No answer from ${name}: ${error.message}`;
  return new CliError(EXIT.unreachable, says, { cause: error });
}

/** Nothing can be asked of the controller; what it last wrote tells. */
function liveBy(object: Terraform | undefined, nowMs: number): LiveRun | undefined {
  const run = object?.status?.run;
  if (run === undefined) return undefined;
  const { id: runId, stage, verdict, lastSignAt = run.intendedAt } = run;
  const silentMs = Math.max(0, nowMs - Date.parse(lastSignAt));
  return { runId, stage, verdict, silentMs, progress: undefined, inFlight: [] };
}

function noEngine(leading: Leading): string {
  const then = "it is done once Nigari's controller leads";
  if (leading.is === "tofu-controller") {
    return `tofu-controller (${leading.identity}) leads in this cluster, not Nigari; ${then}`;
  }
  return `No controller of Nigari leads in this cluster; ${then}`;
}
