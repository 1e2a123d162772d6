import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Cluster } from "../cluster/cluster.ts";
import { until } from "../cluster/commands.ts";
import { ensureObjects, send, untilServed } from "../cluster/objects.ts";
import { shippedObjects, writeAccountKubeconfig } from "../cluster/shipped.ts";
import { type Dials, dialsEnv } from "../faults/dials.ts";
import { RUNNER_IMAGE } from "../images/contents.ts";

/** Where the controller lives. */
export const HOME = "flux-system";
const TERRAFORMS = "/apis/infra.contrib.fluxcd.io/v1alpha2/terraforms";
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${HOME}/leases`;
const ROOT = join(import.meta.dirname, "../../..");
const PROGRAM = join(ROOT, "dist/controller.js");
const FLAGS = ["--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0", "--events-addr="];

type Item = Readonly<Record<string, unknown>>;

/** Applies the shipped definition and rights, as far as they are not there. */
export async function install(cluster: Cluster): Promise<void> {
  const rights = ["service-account", "controller-role", "leader-election-role"];
  await ensureObjects(cluster, [
    ...shippedObjects("crd/terraforms.yaml", HOME),
    ...rights.flatMap((name) => shippedObjects(`rbac/${name}.yaml`, HOME)),
  ]);
  await untilServed(cluster, TERRAFORMS);
}

/** Removes it with all that is in it: whoever holds on to something there has ended. */
export async function removeNamespace(cluster: Cluster, name: string): Promise<void> {
  for (const path of [
    `/apis/infra.contrib.fluxcd.io/v1alpha2/namespaces/${name}/terraforms`,
    `/api/v1/namespaces/${name}/pods`,
  ]) {
    const { items } = (await send(cluster, "GET", path)) as { items: Item[] };
    for (const item of items) {
      const metadata = item.metadata as { readonly name: string };
      const free = { ...item, metadata: { ...metadata, finalizers: [] } };
      await send(cluster, "PUT", `${path}/${metadata.name}`, free);
    }
  }
  await send(cluster, "DELETE", `/api/v1/namespaces/${name}`);
}

/**
 * Controllers as processes of this machine, each with the shipped ServiceAccount's rights and no
 * more; so that a test can kill and freeze them.
 */
export class Controllers {
  readonly #cluster: Cluster;
  readonly #folder: string;
  readonly #flags: readonly string[];
  readonly #all: ChildProcess[] = [];
  readonly #word = randomBytes(3).toString("hex");

  private constructor(cluster: Cluster, folder: string, flags: readonly string[]) {
    this.#cluster = cluster;
    this.#folder = folder;
    this.#flags = flags;
  }

  /** `folder`: for logs and data directories. Needs `npm run build` and `install` before. */
  static async prepare(
    cluster: Cluster,
    folder: string,
    flags: readonly string[] = [],
  ): Promise<Controllers> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const account = { namespace: HOME, name: "nigari-controller" };
    await writeAccountKubeconfig(cluster, account, join(folder, "kubeconfig"));
    return new Controllers(cluster, folder, flags);
  }

  /** Starts one more and answers its number, the first being 1. With dials it is not bundled. */
  start(dials?: Dials): number {
    const program = dials === undefined ? PROGRAM : join(ROOT, "src/main/controller.ts");
    const name = this.#nameOf(this.#all.length + 1);
    const log = openSync(join(this.#folder, `${name}.log`), "a");
    const args = [
      ...["--disable-warning=ExperimentalWarning", "--max-semi-space-size=1", program, ...FLAGS],
      `--kubeconfig=${join(this.#folder, "kubeconfig")}`,
      `--data-dir=${join(this.#folder, name)}`,
      `--runner-image=${RUNNER_IMAGE}`,
      ...this.#flags,
    ];
    const { PATH } = process.env;
    const env = { PATH, HOME: this.#folder, RUNTIME_NAMESPACE: HOME, POD_NAME: name };
    const given = dials === undefined ? env : { ...env, ...dialsEnv(dials) };
    const child = spawn(process.execPath, args, { env: given, stdio: ["ignore", log, log] });
    closeSync(log);
    return this.#all.push(child);
  }

  /** Resolves when this one leads. */
  async untilLeads(number: number, limitMs = 60_000): Promise<void> {
    await until(`controller ${number} to lead`, limitMs, async () => {
      const child = this.#all[number - 1];
      if (child?.exitCode !== null) throw new Error(`It ended:\n${this.words(number)}`);
      return (await this.#holder())?.includes(`${this.#nameOf(number)}_`) ? true : undefined;
    }).catch((error: Error) => {
      throw new Error(`${error.message}\n${this.words(number)}`);
    });
  }

  /** No Lease of an earlier test bears it. */
  #nameOf(number: number): string {
    return `controller-${this.#word}-${number}`;
  }

  async #holder(): Promise<string | undefined> {
    try {
      const lease = (await send(this.#cluster, "GET", `${LEASES}/nigari-controller`)) as {
        readonly spec: { readonly holderIdentity?: string };
      };
      return lease.spec.holderIdentity;
    } catch {
      return undefined;
    }
  }

  signal(number: number, signal: NodeJS.Signals): void {
    this.#all[number - 1]?.kill(signal);
  }

  /** Sends the signal and waits for the end. */
  async stop(number: number, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = this.#all[number - 1];
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    child.kill("SIGCONT");
    await ended;
  }

  async stopAll(): Promise<void> {
    await Promise.all(this.#all.map((_, index) => this.stop(index + 1, "SIGKILL")));
  }

  pid(number: number): number {
    return this.#all[number - 1]?.pid ?? 0;
  }

  /** What it has logged so far, line by line. */
  log(number: number): Item[] {
    const text = readFileSync(join(this.#folder, `${this.#nameOf(number)}.log`), "utf8");
    const lines = text.split("\n").filter((line) => line.startsWith("{"));
    return lines.map((line) => JSON.parse(line) as Item);
  }

  /** Its last lines, for an error. */
  words(number: number): string {
    const text = readFileSync(join(this.#folder, `${this.#nameOf(number)}.log`), "utf8");
    return text.split("\n").slice(-30).join("\n");
  }

  /** What /healthz, /readyz or /metrics of it says, with the HTTP status before. */
  async ask(number: number, path: "/healthz" | "/readyz" | "/metrics"): Promise<string> {
    const what = path === "/metrics" ? "metrics" : "health";
    const line = this.log(number).find(
      (each) => each.message === "Listening" && each.what === what,
    );
    const answer = await fetch(`http://127.0.0.1:${line?.port}${path}`);
    return `${answer.status} ${await answer.text()}`;
  }

  /** The value of a metric without labels, or the sum over all of its labels. */
  async metric(number: number, name: string): Promise<number> {
    const text = await this.ask(number, "/metrics");
    const lines = text.split("\n").filter((line) => new RegExp(`^${name}[ {]`).test(line));
    return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }
}
