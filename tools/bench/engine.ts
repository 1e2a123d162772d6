import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connectEngine } from "../../src/adapters/engine-client/client.ts";
import { createClock } from "../../src/adapters/system/clock.ts";
import { REQUESTED_AT } from "../../src/api/names.ts";
import type { Terraform, TerraformSpec } from "../../src/api/terraform.ts";
import { engineSocketPath } from "../../src/server/socket.ts";
import { pinnedTools } from "../../src/testing/pinned-tools.ts";

const root = join(import.meta.dirname, "../..");
const START_MS = 60_000;
const WAIT_MS = 600_000;

/** `nigari up` as the npm package runs it, on a repository of modules, and what it is asked. */
export class BenchEngine {
  readonly clock = createClock();
  readonly dataDir: string;
  readonly tofu = pinnedTools().tofu;
  readonly #folder: string;
  readonly #repository: string;
  readonly #manifests: string;
  readonly client;
  #child: ChildProcess | undefined;

  /** `modules`: HCL of each module by its name. */
  constructor(folder: string, modules: Readonly<Record<string, string>>) {
    this.#folder = folder;
    this.dataDir = join(folder, "data");
    this.#repository = join(folder, "repository");
    this.#manifests = join(folder, "manifests");
    mkdirSync(this.#manifests, { recursive: true });
    for (const [name, text] of Object.entries(modules)) this.#write(`${name}/main.tf`, text);
    this.#commit();
    writeFileSync(
      join(this.#manifests, "source.json"),
      JSON.stringify({
        apiVersion: "source.toolkit.fluxcd.io/v1",
        kind: "GitRepository",
        metadata: { name: "modules" },
        spec: { url: `file://${this.#repository}`, interval: "24h", ref: { branch: "main" } },
      }),
    );
    this.client = connectEngine(engineSocketPath(this.dataDir), this.clock);
  }

  call = () => ({ signal: AbortSignal.timeout(30_000) });

  /** The environment of OpenTofu here and there: nothing of the shell's. */
  get env(): Record<string, string> {
    const { PATH = "" } = process.env;
    return { PATH, HOME: this.#folder, NIGARI_TOFU: this.tofu };
  }

  /** `profile`: a folder in which Node leaves a profile of the processor when the engine ends. */
  async start(profile?: string): Promise<void> {
    const log = openSync(join(this.#folder, "engine.log"), "a", 0o600);
    const program = join(root, "dist/cli.js");
    const profiling = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
    const args = [program, "up", this.#manifests, "--data-dir", this.dataDir];
    // As the launcher starts it.
    const flags = ["--max-semi-space-size=1", "--disable-warning=ExperimentalWarning"];
    this.#child = spawn(process.execPath, [...flags, ...profiling, ...args], {
      stdio: ["ignore", log, log],
      env: this.env,
    });
    closeSync(log);
    const until = performance.now() + START_MS;
    while (performance.now() < until) {
      if (await this.#hasSource().catch(() => false)) return;
      await sleep(50);
    }
    throw new Error(`The engine does not answer: ${this.log()}`);
  }

  async #hasSource(): Promise<boolean> {
    const ref = { kind: "GitRepository", namespace: "default", name: "modules" } as const;
    const source = await this.client.store.get(ref, this.call());
    return source?.status?.artifact !== undefined;
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null) return;
    child.kill("SIGINT");
    await once(child, "exit");
  }

  close(): void {
    this.#child?.kill("SIGKILL");
    this.clock.close();
  }

  log(): string {
    return readFileSync(join(this.#folder, "engine.log"), "utf8").slice(-4_000);
  }

  async create(name: string, spec: Partial<TerraformSpec>): Promise<Terraform> {
    return await this.client.store.create(terraformOf(name, spec), this.call());
  }

  async remove(name: string): Promise<void> {
    const ref = { kind: "Terraform", namespace: "default", name } as const;
    await this.client.store.delete(ref, {}, this.call());
  }

  /** Asks for a look, as `nigari reconcile` does; answers with the request. */
  async request(name: string): Promise<string> {
    const at = new Date().toISOString();
    const ref = { kind: "Terraform", namespace: "default", name } as const;
    for (;;) {
      const object = await this.client.store.get(ref, this.call());
      if (object === undefined) throw new Error(`${name} is gone`);
      object.metadata.annotations = { ...object.metadata.annotations, [REQUESTED_AT]: at };
      const done = await this.client.store.update(object, "main", this.call()).then(
        () => true,
        () => false,
      );
      if (done) return at;
    }
  }

  /** The object, once it is as wanted: told by a watch, so within a millisecond or so. */
  async until(name: string, holds: (object: Terraform) => boolean): Promise<Terraform> {
    const signal = AbortSignal.timeout(WAIT_MS);
    const { store } = this.client;
    const { items, resourceVersion } = await store.list("Terraform", {}, { signal });
    const found = items.find((each) => each.metadata.name === name);
    if (found !== undefined && holds(found)) return found;
    for await (const event of store.watch("Terraform", { resourceVersion }, { signal })) {
      if (event.type === "BOOKMARK" || event.object.metadata.name !== name) continue;
      if (failed(event.object))
        throw new Error(`${name} failed: ${readyOf(event.object)?.message}`);
      if (holds(event.object)) return event.object;
    }
    throw new Error(`${name} did not come to be as wanted: ${this.log()}`);
  }

  /** The sum of a metric's series. */
  async metric(name: string): Promise<number> {
    const text = await this.#metrics();
    const lines = text.split("\n").filter((line) => line.startsWith(name));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
  }

  #metrics(): Promise<string> {
    return new Promise((resolve, reject) => {
      const socketPath = engineSocketPath(this.dataDir);
      const asked = request({ socketPath, path: "/metrics", agent: false }, async (answer) => {
        let text = "";
        for await (const chunk of answer) text += chunk;
        resolve(text);
      });
      asked.on("error", reject);
      asked.end();
    });
  }

  #write(path: string, text: string): void {
    const file = join(this.#repository, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  #commit(): void {
    const git = (...args: string[]) =>
      execFileSync("git", ["-C", this.#repository, ...args], { stdio: "ignore", env: this.env });
    git("init", "-q", "-b", "main");
    git("add", ".");
    git("-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-q", "-m", "modules");
  }
}

export function terraformOf(name: string, spec: Partial<TerraformSpec>): Terraform {
  return {
    apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
    kind: "Terraform",
    metadata: { name, namespace: "default" },
    spec: {
      interval: "24h",
      approvePlan: "auto",
      sourceRef: { kind: "GitRepository", name: "modules" },
      ...spec,
    },
  };
}

function readyOf({ status }: Terraform) {
  return status?.conditions?.find(({ type }) => type === "Ready");
}

function failed(object: Terraform): boolean {
  const reason = readyOf(object)?.reason ?? "";
  return object.status?.run === undefined && /Failed|Error/.test(reason);
}

/** Nothing is under way, all is as wanted, and the request was obeyed. */
export function isSettled(object: Terraform, requestedAt?: string): boolean {
  const { status } = object;
  return (
    readyOf(object)?.status === "True" &&
    status?.run === undefined &&
    (requestedAt === undefined || status?.lastHandledReconcileAt === requestedAt)
  );
}
