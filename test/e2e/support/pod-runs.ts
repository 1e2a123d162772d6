import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { Authority } from "../../../src/adapters/kubernetes/authority.ts";
import { Connection } from "../../../src/adapters/kubernetes/connection.ts";
import { findAccess } from "../../../src/adapters/kubernetes/kubeconfig.ts";
import { ApiServerStore } from "../../../src/adapters/kubernetes/object-store.ts";
import { podName } from "../../../src/adapters/kubernetes/pods/names.ts";
import { PodPlatform } from "../../../src/adapters/kubernetes/pods/platform.ts";
import { createClock } from "../../../src/adapters/system/clock.ts";
import { systemRandom } from "../../../src/adapters/system/random.ts";
import type { Operation, TerraformSpec } from "../../../src/api/terraform.ts";
import type { RunOutcome } from "../../../src/domain/facts.ts";
import { noLog } from "../../../src/ports/log.ts";
import type {
  PlatformFact,
  RunEvent,
  RunnerConnection,
  RunnerLaunch,
} from "../../../src/ports/runner.ts";
import type { Cluster } from "../../../src/testing/cluster/cluster.ts";
import { until } from "../../../src/testing/cluster/commands.ts";
import { createObjects, send, untilServed } from "../../../src/testing/cluster/objects.ts";
import { RUNNER_IMAGE } from "../../../src/testing/images/contents.ts";
import { archiveOf, bareOrder, inputOf } from "../../../src/testing/real-runner.ts";
import { makeNamespace } from "./pods.ts";

const clock = createClock();
const TERRAFORMS = "/apis/infra.contrib.fluxcd.io/v1alpha2";

/** What a run of a test is like. */
export interface Wish {
  readonly operation?: Operation;
  readonly files: Record<string, string>;
  readonly node?: string;
  readonly template?: NonNullable<NonNullable<TerraformSpec["runnerPodTemplate"]>["spec"]>;
  readonly gracePeriodSeconds?: number;
}

export interface Run {
  readonly launch: RunnerLaunch;
  readonly wish: Wish;
  /** Name of its pod. */
  readonly pod: string;
}

/** Runs in pods of a real cluster, driven as an engine would, without one. */
export class PodRuns {
  readonly namespace: string;
  readonly #cluster: Cluster;
  readonly #scratch = mkdtempSync(join(tmpdir(), "npr-"));
  readonly #over = new AbortController();
  readonly #ownerUid: string;

  private constructor(cluster: Cluster, namespace: string, ownerUid: string) {
    this.#cluster = cluster;
    this.namespace = namespace;
    this.#ownerUid = ownerUid;
  }

  static async open(cluster: Cluster, namespace: string): Promise<PodRuns> {
    await makeNamespace(cluster, namespace);
    await createObjects(cluster, [
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "tf-runner", namespace } },
    ]);
    await defineTerraforms(cluster);
    const terraform = {
      apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
      kind: "Terraform",
      metadata: { name: "demo", namespace },
      spec: { interval: "1h", sourceRef: { kind: "GitRepository", name: "none" } },
    };
    const path = `${TERRAFORMS}/namespaces/${namespace}/terraforms`;
    const made = await send(cluster, "POST", path, terraform);
    return new PodRuns(cluster, namespace, (made as { metadata: { uid: string } }).metadata.uid);
  }

  /** A platform of a controller that has just begun to lead. */
  async platform(): Promise<PodPlatform> {
    const kubeconfig = this.#cluster.kubeconfig;
    const access = await findAccess({ env: {}, kubeconfig, context: undefined });
    const connection = new Connection(access, {
      ...{ clock, env: {}, userAgent: "nigari/test", socketsMax: 32 },
    });
    const store = new ApiServerStore({ connection, clock });
    const authority = new Authority({ namespace: this.namespace, name: "ca" }, { store, clock });
    const platform = new PodPlatform({
      ...{ connection, authority, namespace: this.namespace, clock, random: systemRandom },
      ...{ log: noLog, defaults: { image: RUNNER_IMAGE, imagePullSecrets: [], env: {} } },
    });
    await platform.start(this.#over.signal);
    return platform;
  }

  close(): void {
    this.#over.abort();
    rmSync(this.#scratch, { recursive: true, force: true });
  }

  run(wish: Wish): Run {
    const runId = `7-${randomBytes(6).toString("hex")}`;
    const { operation = "plan", node, template, gracePeriodSeconds } = wish;
    const nodeSelector = node === undefined ? {} : { "kubernetes.io/hostname": node };
    return {
      wish,
      pod: podName("demo", runId),
      launch: {
        ...{ runId, namespace: this.namespace, name: "demo", epoch: 7, env: {} },
        pod: {
          ...{ ownerUid: this.#ownerUid, operation, revision: "main@sha1:0123456789" },
          template: { spec: { nodeSelector, ...template } },
          serviceAccountName: undefined,
          gracePeriodSeconds,
        },
      },
    };
  }

  /** Launches, greets, hands over and starts. */
  async begin(platform: PodPlatform, run: Run, plan?: Uint8Array): Promise<RunnerConnection> {
    const { launch, wish } = run;
    await platform.launch(launch, call());
    await untilFact(platform, run, ({ runner }) => runner === "running");
    const connection = platform.connect(launch.runId, 7);
    await until("the runner to answer", 15_000, async () =>
      connection.hello(call(4_000)).catch(() => undefined),
    );
    const artifact = inputOf("artifact.tar.gz", await archiveOf(wish.files, this.#scratch));
    await connection.putFile(artifact, call());
    const planFile = plan === undefined ? undefined : inputOf("plan.bin", plan);
    if (planFile !== undefined) await connection.putFile(planFile, call());
    const order = {
      ...{ runId: launch.runId, epoch: 7, artifactDigest: artifact.digest },
      ...{ operation: wish.operation ?? "plan", planDigest: planFile?.digest },
    };
    await connection.start({ ...bareOrder, ...order }, call());
    return connection;
  }

  /** A saved plan of these files. */
  async plan(platform: PodPlatform, files: Record<string, string>): Promise<Uint8Array> {
    const run = this.run({ files });
    const connection = await this.begin(platform, run);
    await outcomeOf(connection);
    const plan = await platform.readFile(run.launch.runId, "plan.bin", call());
    await connection.release(call());
    connection.close();
    await untilFact(platform, run, ({ runner }) => runner === "gone");
    await platform.remove(run.launch.runId, call());
    if (plan === undefined) throw new Error("The run made no plan");
    return plan;
  }

  /** What the cluster still has of a run: "Pod" and "Secret", if they are there. */
  async left({ pod }: Run): Promise<string[]> {
    const found: string[] = [];
    for (const [kind, plural] of [
      ["Pod", "pods"],
      ["Secret", "secrets"],
    ] as const) {
      const path = `/api/v1/namespaces/${this.namespace}/${plural}/${pod}`;
      const there = await send(this.#cluster, "GET", path).catch(() => undefined);
      if (there !== undefined) found.push(kind);
    }
    return found;
  }
}

/** The definition of Terraform objects, unless another file has made it. */
async function defineTerraforms(cluster: Cluster): Promise<void> {
  const file = join(import.meta.dirname, "../../../config/crd/terraforms.yaml");
  for (const document of parseAllDocuments(readFileSync(file, "utf8"))) {
    await createObjects(cluster, [document.toJS()]).catch(() => undefined);
  }
  await untilServed(cluster, `${TERRAFORMS}/terraforms`);
}

export function call(ms = 15_000) {
  return { signal: AbortSignal.timeout(ms) };
}

export async function untilFact(
  platform: PodPlatform,
  { launch }: Run,
  holds: (fact: PlatformFact) => boolean,
  limitMs = 40_000,
): Promise<PlatformFact> {
  let last: PlatformFact | undefined;
  const ask = async () => {
    last = await platform.inspect(launch.runId, call());
    return holds(last) ? last : undefined;
  };
  return until("the platform to say so", limitMs, ask).catch((error: Error) => {
    throw new Error(`${error.message}; it says ${JSON.stringify(last)}`, { cause: error });
  });
}

export async function outcomeOf(connection: RunnerConnection): Promise<RunOutcome> {
  for await (const event of watched(connection)) {
    if (event.type === "outcome") return event.outcome;
  }
  throw new Error("The run ended without an outcome");
}

/** Resolves when this resource is in the making. */
export async function inTheMaking(connection: RunnerConnection, resource: string): Promise<void> {
  for await (const event of watched(connection)) {
    if (event.type === "progress" && event.resource === resource) return;
    if (event.type === "outcome") throw new Error(JSON.stringify(event.outcome));
  }
}

function watched(connection: RunnerConnection): AsyncIterable<RunEvent> {
  return connection.watch({ fromSequence: 1, logOffset: 0 }, call(120_000));
}
