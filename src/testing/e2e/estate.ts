import { RUN_LABEL } from "../../api/cluster-names.ts";
import { CONDITION, REQUESTED_AT } from "../../api/names.ts";
import type { Terraform, TerraformSpec } from "../../api/terraform.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { pause, until } from "../cluster/commands.ts";
import { createObjects, StatusError, send } from "../cluster/objects.ts";
import { publish, repositoryUrl } from "../cluster/repositories.ts";
import { shippedObjects } from "../cluster/shipped.ts";
import type { Effects } from "./effects.ts";
import { gatedModule } from "./modules.ts";

const TERRAFORMS = "/apis/infra.contrib.fluxcd.io/v1alpha2";
const SOURCES = "/apis/source.toolkit.fluxcd.io/v1";
const LEASES = "/apis/coordination.k8s.io/v1";
const LOOK_MS = 200;
const PATIENCE_MS = 90_000;

type Item = Readonly<Record<string, unknown>>;

/** A runner's pod, as far as a test looks at it. */
export interface RunnerPod {
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly phase: string };
}

/** What an object was at some time of a clock that never jumps, in milliseconds. */
export interface Seen {
  readonly object: Terraform;
  readonly atMs: number;
}

/**
 * A namespace of Terraform objects under one Git repository, in which each has a folder of its
 * name. All of them are looked at several times a second, from without.
 */
export class Estate {
  readonly namespace: string;
  readonly #cluster: Cluster;
  readonly #effects: Effects;
  readonly #files: Record<string, string> = {};
  readonly #objects = new Map<string, Terraform>();
  readonly #seen = new Set<() => void>();
  #open = true;
  #looking: Promise<void> = Promise.resolve();

  private constructor(cluster: Cluster, namespace: string, effects: Effects) {
    this.#cluster = cluster;
    this.namespace = namespace;
    this.#effects = effects;
  }

  static async open(cluster: Cluster, namespace: string, effects: Effects): Promise<Estate> {
    const metadata = { name: namespace };
    await createObjects(cluster, [{ apiVersion: "v1", kind: "Namespace", metadata }]);
    await createObjects(cluster, shippedObjects("runner/runner.yaml", namespace));
    const estate = new Estate(cluster, namespace, effects);
    estate.#looking = estate.#look();
    return estate;
  }

  /** Commits a folder of this name for each, and waits until source-controller has it. */
  async publish(names: readonly string[], source = "source"): Promise<void> {
    for (const name of names) {
      this.#files[`${name}/main.tf`] = gatedModule(this.#effects.url, name);
    }
    const sha = publish(this.#cluster.plan, `${this.namespace}-${source}`, this.#files);
    const path = this.#sourcePath(source);
    if ((await this.#find(path)) === undefined) await this.#makeSource(source);
    await until(`the artifact of ${sha}`, 30_000, async () => {
      const found = (await send(this.#cluster, "GET", path)) as {
        readonly status?: { readonly artifact?: { readonly revision: string } };
      };
      return found.status?.artifact?.revision.endsWith(sha) ? true : undefined;
    });
  }

  /** Commits another text for one, and tells source-controller as a webhook does. */
  async commit(name: string, text: string): Promise<string> {
    this.#files[`${name}/main.tf`] = gatedModule(this.#effects.url, name, text);
    const sha = publish(this.#cluster.plan, `${this.namespace}-source`, this.#files);
    await send(
      this.#cluster,
      "PATCH",
      `${this.#sourcePath("source")}?fieldManager=e2e&force=true`,
      {
        ...{ apiVersion: "source.toolkit.fluxcd.io/v1", kind: "GitRepository" },
        metadata: { name: "source", annotations: { [REQUESTED_AT]: sha } },
      },
    );
    return sha;
  }

  async create(name: string, spec: Partial<TerraformSpec> = {}): Promise<void> {
    await createObjects(this.#cluster, [
      {
        ...{ apiVersion: "infra.contrib.fluxcd.io/v1alpha2", kind: "Terraform" },
        metadata: { name, namespace: this.namespace },
        spec: {
          ...{ interval: "1h", retryInterval: "5s", approvePlan: "auto", path: `./${name}` },
          ...{ sourceRef: { kind: "GitRepository", name: "source" }, ...spec },
        },
      },
    ]);
  }

  /** Changes an object as people do, over whatever else writes it. */
  async change(name: string, how: (object: Terraform) => Terraform): Promise<void> {
    for (;;) {
      try {
        const object = (await send(this.#cluster, "GET", this.#pathOf(name))) as Terraform;
        await send(this.#cluster, "PUT", this.#pathOf(name), how(object) as unknown as Item);
        return;
      } catch (error) {
        if (!(error instanceof StatusError && error.status === 409)) throw error;
      }
    }
  }

  async annotate(name: string, annotation: string, value: string): Promise<void> {
    await this.change(name, ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, annotations: { ...metadata.annotations, [annotation]: value } },
    }));
  }

  async delete(name: string): Promise<void> {
    await send(this.#cluster, "DELETE", this.#pathOf(name));
  }

  /** As it was last seen; it must be there. */
  object(name: string): Terraform {
    const found = this.#objects.get(name);
    if (found === undefined) throw new Error(`There is no ${this.namespace}/${name}`);
    return found;
  }
  names(): string[] {
    return [...this.#objects.keys()];
  }

  /** Ready as "status reason: message". */
  ready(name: string): string {
    return readyText(this.object(name));
  }

  /** The first time that `holds`; at once if it does already. */
  async when(
    name: string,
    what: string,
    holds: (object: Terraform) => boolean,
    limitMs = PATIENCE_MS,
  ): Promise<Seen> {
    const { promise, resolve, reject } = Promise.withResolvers<Seen>();
    const look = () => {
      const object = this.#objects.get(name);
      if (object !== undefined && holds(object)) resolve({ object, atMs: performance.now() });
    };
    const late = setTimeout(() => {
      const is = JSON.stringify(this.#objects.get(name)?.status, null, 1);
      reject(new Error(`${name}: not within ${limitMs} ms: ${what}; its status: ${is}`));
    }, limitMs);
    this.#seen.add(look);
    look();
    try {
      return await promise;
    } finally {
      clearTimeout(late);
      this.#seen.delete(look);
    }
  }

  /** It is Ready, for what its source and spec now say. */
  async whenReady(name: string, limitMs = PATIENCE_MS): Promise<Seen> {
    return await this.when(name, "Ready", isReady, limitMs);
  }

  async pods(): Promise<RunnerPod[]> {
    const selector = `labelSelector=${encodeURIComponent(RUN_LABEL)}`;
    return (await this.#list(`/api/v1/namespaces/${this.namespace}/pods?${selector}`)) as never;
  }

  /** Where the runner of this run is; undefined: nowhere yet. */
  async nodeOf(runId: string): Promise<string | undefined> {
    const pods = await this.pods();
    return pods.find(({ metadata }) => metadata.labels[RUN_LABEL] === runId)?.spec.nodeName;
  }

  /** What runs have left in the namespace: pods, their Secrets, locks that somebody holds. */
  async leftovers(): Promise<string[]> {
    const pods = (await this.pods()).map(({ metadata }) => `pod ${metadata.name}`);
    const selector = `labelSelector=${encodeURIComponent(RUN_LABEL)}`;
    const at = `namespaces/${this.namespace}`;
    const secrets = await this.#list(`/api/v1/${at}/secrets?${selector}`);
    const leases = await this.#list(`${LEASES}/${at}/leases`);
    const held = leases.filter(({ spec }) => (spec as { holderIdentity?: string }).holderIdentity);
    const nameOf = ({ metadata }: Item) => (metadata as { name: string }).name;
    return [
      ...pods,
      ...secrets.map((each) => `Secret ${nameOf(each)}`),
      ...held.map((each) => `lock ${nameOf(each)}`),
    ];
  }

  async close(): Promise<void> {
    this.#open = false;
    await this.#looking;
  }

  #pathOf(name: string): string {
    return `${TERRAFORMS}/namespaces/${this.namespace}/terraforms/${name}`;
  }

  #sourcePath(name: string): string {
    return `${SOURCES}/namespaces/${this.namespace}/gitrepositories/${name}`;
  }

  async #makeSource(name: string): Promise<void> {
    const url = repositoryUrl(this.#cluster.plan, `${this.namespace}-${name}`);
    await createObjects(this.#cluster, [
      {
        ...{ apiVersion: "source.toolkit.fluxcd.io/v1", kind: "GitRepository" },
        metadata: { name, namespace: this.namespace },
        spec: { interval: "1s", url, ref: { branch: "main" } },
      },
    ]);
  }

  async #find(path: string): Promise<unknown> {
    try {
      return await send(this.#cluster, "GET", path);
    } catch (error) {
      if (error instanceof StatusError && error.status === 404) return undefined;
      throw error;
    }
  }

  async #list(path: string): Promise<Item[]> {
    const { items } = (await send(this.#cluster, "GET", path)) as { items: Item[] };
    return items;
  }

  async #look(): Promise<void> {
    while (this.#open) {
      try {
        const path = `${TERRAFORMS}/namespaces/${this.namespace}/terraforms`;
        const found = (await this.#list(path)) as unknown as Terraform[];
        this.#objects.clear();
        for (const each of found) this.#objects.set(each.metadata.name, each);
        for (const look of [...this.#seen]) look();
      } catch {
        // The API server may be what a test has stopped.
      }
      await pause(LOOK_MS);
    }
  }
}

export function readyText({ status }: Terraform): string {
  const found = status?.conditions?.find(({ type }) => type === CONDITION.ready);
  return found === undefined ? "none" : `${found.status} ${found.reason}: ${found.message}`;
}

export function isReady({ metadata, status }: Terraform): boolean {
  const found = status?.conditions?.find(({ type }) => type === CONDITION.ready);
  const isCurrent = status?.observedGeneration === metadata.generation;
  return isCurrent && status?.run === undefined && found?.status === "True";
}
