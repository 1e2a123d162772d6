import { setTimeout as sleep } from "node:timers/promises";
import type { Condition } from "../../../src/api/meta.ts";
import type { Terraform, TerraformSpec } from "../../../src/api/terraform.ts";
import type { Cluster } from "../../../src/testing/cluster/cluster.ts";
import { until } from "../../../src/testing/cluster/commands.ts";
import { ensureObjects, send, untilServed } from "../../../src/testing/cluster/objects.ts";
import { publish, repositoryUrl } from "../../../src/testing/cluster/repositories.ts";
import { shippedObjects } from "../../../src/testing/cluster/shipped.ts";
import { CONTROLLER_IMAGE, RUNNER_IMAGE } from "../../../src/testing/images/contents.ts";

const HOME = "flux-system";
const TERRAFORMS = "/apis/infra.contrib.fluxcd.io/v1alpha2";
const SOURCES = "/apis/source.toolkit.fluxcd.io/v1";
const DEPLOYMENTS = `/apis/apps/v1/namespaces/${HOME}/deployments`;
const READY_MS = 60_000;

type Item = Readonly<Record<string, unknown>>;

/** The controller's arguments that matter to a test; the rest is as it is shipped. */
export interface Installation {
  readonly replicas?: number;
  readonly args?: readonly string[];
}

/** Applies what is shipped in config/, with the images of this checkout; waits until it is up. */
export async function install(cluster: Cluster, how: Installation = {}): Promise<void> {
  const files = [
    ...["crd/terraforms", "rbac/service-account", "rbac/controller-role"],
    ...["rbac/leader-election-role", "manager/service", "manager/network-policy"],
  ];
  await ensureObjects(
    cluster,
    files.flatMap((file) => shippedObjects(`${file}.yaml`, HOME)),
  );
  await untilServed(cluster, `${TERRAFORMS}/terraforms`);
  const deployment = shippedObjects("manager/deployment.yaml", HOME);
  await ensureObjects(
    cluster,
    deployment.map((item) => withOurImages(item, how)),
  );
  await untilReady(cluster);
}

/** Ends the controller, whose Lease is free then; the definition and the rights stay. */
export async function endController(cluster: Cluster): Promise<void> {
  for (const { metadata } of shippedObjects("manager/deployment.yaml", HOME)) {
    const path = `${DEPLOYMENTS}/${(metadata as { readonly name: string }).name}`;
    await send(cluster, "DELETE", `${path}?propagationPolicy=Foreground`);
    await until("the controller to be gone", READY_MS, async () =>
      (await get(cluster, path)) === undefined ? true : undefined,
    );
  }
}

/** A namespace in which runners may work. */
export async function makeTeam(cluster: Cluster, namespace: string): Promise<void> {
  const metadata = { name: namespace };
  const files = ["runner", "network-policy"];
  await ensureObjects(cluster, [
    { apiVersion: "v1", kind: "Namespace", metadata },
    ...files.flatMap((file) => shippedObjects(`runner/${file}.yaml`, namespace)),
  ]);
}

/** One object and its repository. */
export class Job {
  readonly #cluster: Cluster;
  readonly namespace: string;
  readonly name: string;

  constructor(cluster: Cluster, namespace: string, name: string) {
    this.#cluster = cluster;
    this.namespace = namespace;
    this.name = name;
  }

  /** Commits files, and asks source-controller to look; answers the commit's hash. */
  async commit(files: Readonly<Record<string, string>>): Promise<string> {
    const repository = `${this.namespace}-${this.name}`;
    const hash = publish(this.#cluster.plan, repository, files);
    const path = `${SOURCES}/namespaces/${this.namespace}/gitrepositories`;
    const found = (await get(this.#cluster, `${path}/${this.name}`)) as Item | undefined;
    if (found === undefined) {
      await send(this.#cluster, "POST", path, {
        ...{ apiVersion: "source.toolkit.fluxcd.io/v1", kind: "GitRepository" },
        metadata: { name: this.name, namespace: this.namespace },
        spec: {
          ...{ interval: "1h", url: repositoryUrl(this.#cluster.plan, repository) },
          ref: { branch: "main" },
        },
      });
    } else {
      const annotations = { "reconcile.fluxcd.io/requestedAt": hash };
      const metadata = { ...(found.metadata as Item), annotations };
      await send(this.#cluster, "PUT", `${path}/${this.name}`, { ...found, metadata });
    }
    return hash;
  }

  async create(spec: Partial<TerraformSpec> = {}): Promise<void> {
    await send(this.#cluster, "POST", this.#path(""), {
      ...{ apiVersion: "infra.contrib.fluxcd.io/v1alpha2", kind: "Terraform" },
      metadata: { name: this.name, namespace: this.namespace },
      spec: {
        ...{ interval: "1h", retryInterval: "5s", approvePlan: "auto" },
        sourceRef: { kind: "GitRepository", name: this.name },
        ...spec,
      },
    });
  }

  /** Changes the object as people do, whoever else writes it. */
  async change(spec: Partial<TerraformSpec>): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const object = await this.read();
        const next = { ...object, spec: { ...object.spec, ...spec } };
        await send(this.#cluster, "PUT", this.#path(`/${this.name}`), next as unknown as Item);
        return;
      } catch (error) {
        if (attempt === 10 || !/: 409:/.test(String(error))) throw error;
      }
    }
  }

  async remove(): Promise<void> {
    await send(this.#cluster, "DELETE", this.#path(`/${this.name}`));
  }

  async read(): Promise<Terraform> {
    return (await send(this.#cluster, "GET", this.#path(`/${this.name}`))) as Terraform;
  }

  async isGone(): Promise<boolean> {
    return (await get(this.#cluster, this.#path(`/${this.name}`))) === undefined;
  }

  async ready(): Promise<Condition | undefined> {
    const { status } = await this.read();
    return status?.conditions?.find((each) => each.type === "Ready");
  }

  /** Resolves when Ready says so; fails with all that the object says if it takes too long. */
  async untilReady(wanted: RegExp, limitMs = 60_000): Promise<Terraform> {
    const end = Date.now() + limitMs;
    for (;;) {
      const object = await this.read();
      const ready = object.status?.conditions?.find((each) => each.type === "Ready");
      if (wanted.test(`${ready?.status} ${ready?.reason}: ${ready?.message}`)) return object;
      if (Date.now() > end) {
        throw new Error(`Not ${wanted} within ${limitMs} ms: ${JSON.stringify(object.status)}`);
      }
      await sleep(100);
    }
  }

  async secret(name: string): Promise<Readonly<Record<string, string>> | undefined> {
    const path = `/api/v1/namespaces/${this.namespace}/secrets/${name}`;
    const found = (await get(this.#cluster, path)) as { data?: Record<string, string> } | undefined;
    return found?.data;
  }

  #path(end: string): string {
    return `${TERRAFORMS}/namespaces/${this.namespace}/terraforms${end}`;
  }
}

/** Whatever is there; undefined if nothing. */
export async function get(cluster: Cluster, path: string): Promise<unknown> {
  try {
    return await send(cluster, "GET", path);
  } catch (error) {
    if (/: 404:/.test(String(error))) return undefined;
    throw error;
  }
}

interface Deployment {
  readonly spec: {
    readonly replicas?: number;
    readonly template: { readonly spec: { readonly containers: readonly Container[] } };
  };
}
interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string }[];
}

function withOurImages(item: Item, { replicas = 1, args = [] }: Installation): Item {
  const { spec } = item as unknown as Deployment;
  const containers = spec.template.spec.containers.map((container) => ({
    ...container,
    image: CONTROLLER_IMAGE,
    args: [...container.args.filter((arg) => !arg.startsWith("--events-addr")), ...args],
    env: container.env.map((each) =>
      each.name === "RUNNER_POD_IMAGE" ? { name: each.name, value: RUNNER_IMAGE } : each,
    ),
  }));
  const podSpec = { ...spec.template.spec, containers };
  const template = { ...spec.template, spec: podSpec };
  return { ...item, spec: { ...spec, replicas, template } };
}

async function untilReady(cluster: Cluster): Promise<void> {
  const end = Date.now() + READY_MS;
  for (;;) {
    const found = (await send(cluster, "GET", `${DEPLOYMENTS}/nigari-controller`)) as {
      status?: { readyReplicas?: number };
    };
    if ((found.status?.readyReplicas ?? 0) > 0) return;
    if (Date.now() > end) throw new Error("The controller did not become ready");
    await sleep(200);
  }
}
