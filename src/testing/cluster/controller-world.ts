import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { create } from "tar";
import type { Condition } from "../../api/meta.ts";
import type { Terraform, TerraformSpec } from "../../api/terraform.ts";
import { type ApiServer, startApiServer } from "./api-server.ts";
import { createObjects, customKind, send, untilServed } from "./objects.ts";
import { shippedObjects, writeAccountKubeconfig } from "./shipped.ts";

const TERRAFORMS = "/apis/infra.contrib.fluxcd.io/v1alpha2";
const SOURCES = "/apis/source.toolkit.fluxcd.io/v1";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/flux-system/leases";
/** Where the controller lives. */
export const HOME = "flux-system";
/** Where objects live. */
export const TEAM = "team";

type Item = Readonly<Record<string, unknown>>;

/** An artifact server's answer to whoever asks. */
export type ArtifactFault = "none" | "404" | "other content" | "silent";

/**
 * A real API server with the shipped definition and rights, an artifact server, and the controller
 * as processes that bear the shipped ServiceAccount's token. No nodes: what runners are is the
 * program's business.
 */
export class ControllerWorld {
  readonly folder: string;
  readonly server: ApiServer;
  readonly #program: string;
  readonly #archives = new Map<string, Buffer>();
  readonly #http: Server;
  readonly #controllers: ChildProcess[] = [];
  #fault: ArtifactFault = "none";

  private constructor(folder: string, server: ApiServer, program: string) {
    this.folder = folder;
    this.server = server;
    this.#program = program;
    this.#http = createServer((request, answer) => this.#serve(request.url ?? "", answer));
  }

  /** `program`: the controller's file. `withoutKinds`: sources that the cluster does not know. */
  static async open(
    program: string,
    withoutKinds: readonly string[] = [],
  ): Promise<ControllerWorld> {
    const folder = mkdtempSync(join(tmpdir(), "nigari-controller-"));
    const server = await startApiServer(join(folder, "cluster"));
    const sources = ["GitRepository", "OCIRepository", "Bucket"];
    const known = sources.filter((kind) => !withoutKinds.includes(kind));
    await createObjects(server, [
      ...shippedObjects("crd/terraforms.yaml", HOME),
      ...known.map((kind) => customKind(kind, "source.toolkit.fluxcd.io", "v1")),
      ...[HOME, TEAM].map(namespace),
    ]);
    const rights = ["service-account", "controller-role", "leader-election-role"];
    await createObjects(
      server,
      rights.flatMap((name) => shippedObjects(`rbac/${name}.yaml`, HOME)),
    );
    await untilServed(server, `${TERRAFORMS}/terraforms`);
    if (known.includes("GitRepository")) await untilServed(server, `${SOURCES}/gitrepositories`);
    const world = new ControllerWorld(folder, server, program);
    world.#http.listen(0, "127.0.0.1");
    await once(world.#http, "listening");
    const account = { namespace: HOME, name: "nigari-controller" };
    await writeAccountKubeconfig(server, account, join(folder, "kubeconfig"));
    return world;
  }

  /** From now on the artifact server answers so. */
  serveArtifacts(fault: ArtifactFault): void {
    this.#fault = fault;
    this.#http.closeAllConnections();
  }

  /** Starts a controller and answers its number, the first being 1. */
  start(flags: readonly string[] = []): number {
    const name = `controller-${this.#controllers.length + 1}`;
    const log = openSync(join(this.folder, `${name}.log`), "a");
    const runners = join(this.folder, "runners");
    const dataDir = join(this.folder, name);
    mkdirSync(runners, { recursive: true, mode: 0o700 });
    const args = [
      ...["--disable-warning=ExperimentalWarning", this.#program],
      ...[`--kubeconfig=${join(this.folder, "kubeconfig")}`, `--data-dir=${dataDir}`],
      ...["--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0", ...flags],
    ];
    const env = {
      ...{ PATH: process.env.PATH, HOME: this.folder, RUNTIME_NAMESPACE: HOME },
      ...{ POD_NAME: name, TEST_RUNNERS: runners, NIGARI_TOOLS: process.env.NIGARI_TOOLS },
    };
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", log, log] });
    closeSync(log);
    return this.#controllers.push(child);
  }

  async stop(number: number, signal: NodeJS.Signals): Promise<void> {
    const child = this.#controllers[number - 1];
    if (child !== undefined) await ended(child, signal);
  }

  async stopAll(signal: NodeJS.Signals): Promise<void> {
    await Promise.all(this.#controllers.map((child) => ended(child, signal)));
  }

  pid(number: number): number {
    return this.#controllers[number - 1]?.pid ?? 0;
  }

  /** What this controller has written so far, line by line. */
  log(number: number): Item[] {
    const text = readFileSync(join(this.folder, `controller-${number}.log`), "utf8");
    return text
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Item);
  }

  /** What /healthz, /readyz or /metrics of this controller says. */
  async ask(number: number, path: "/healthz" | "/readyz" | "/metrics"): Promise<string> {
    const what = path === "/metrics" ? "metrics" : "health";
    const line = this.log(number).find(
      (each) => each.message === "Listening" && each.what === what,
    );
    const answer = await fetch(`http://127.0.0.1:${line?.port}${path}`);
    return `${answer.status} ${await answer.text()}`;
  }

  /** A GitRepository with an artifact of these files, as source-controller makes them. */
  async commit(name: string, files: Readonly<Record<string, string>>, in_ = TEAM): Promise<string> {
    const archive = await archiveOf(files);
    const hex = createHash("sha256").update(archive).digest("hex");
    this.#archives.set(`/${hex}.tar.gz`, archive);
    const revision = `main@sha1:${hex.slice(0, 40)}`;
    const { port } = this.#http.address() as AddressInfo;
    const artifact = {
      ...{ digest: `sha256:${hex}`, revision, size: archive.length, path: `${hex}.tar.gz` },
      ...{ url: `http://127.0.0.1:${port}/${hex}.tar.gz`, lastUpdateTime: "2026-01-01T00:00:00Z" },
    };
    const path = `${SOURCES}/namespaces/${in_}/gitrepositories`;
    const found = await this.get(`${path}/${name}`);
    const made =
      found ??
      ((await send(this.server, "POST", path, {
        ...{ apiVersion: "source.toolkit.fluxcd.io/v1", kind: "GitRepository" },
        metadata: { name, namespace: in_ },
        spec: { url: "https://example.test/repository", interval: "1m" },
      })) as Item);
    await send(this.server, "PUT", `${path}/${name}/status`, { ...made, status: { artifact } });
    return revision;
  }

  /** Makes a Terraform object with a source of the same name. */
  async create(name: string, spec: Partial<TerraformSpec> = {}, labels = {}): Promise<void> {
    await send(this.server, "POST", `${TERRAFORMS}/namespaces/${TEAM}/terraforms`, {
      ...{ apiVersion: "infra.contrib.fluxcd.io/v1alpha2", kind: "Terraform" },
      metadata: { name, namespace: TEAM, labels },
      spec: {
        ...{ interval: "1h", retryInterval: "5s", approvePlan: "auto" },
        ...{ sourceRef: { kind: "GitRepository", name }, ...spec },
      },
    });
  }

  /** More objects like this one, called `<name>-1` and so on, with its spec and its status. */
  async copies(name: string, count: number): Promise<void> {
    const { spec, status, ...object } = await this.terraform(name);
    const path = `${TERRAFORMS}/namespaces/${TEAM}/terraforms`;
    let next = 1;
    const work = async () => {
      for (let at = next++; at <= count; at = next++) {
        const metadata = { name: `${name}-${at}`, namespace: TEAM };
        const { finalizers } = object.metadata;
        const copy = { ...object, metadata: { ...metadata, finalizers }, spec };
        const made = (await send(this.server, "POST", path, copy as Item)) as Item;
        const said = { ...made, status } as unknown as Item;
        await send(this.server, "PUT", `${path}/${name}-${at}/status`, said);
      }
    };
    await Promise.all(Array.from({ length: 16 }, work));
  }

  async terraforms(): Promise<readonly Terraform[]> {
    const found = await send(this.server, "GET", `${TERRAFORMS}/namespaces/${TEAM}/terraforms`);
    return (found as { items: Terraform[] }).items;
  }

  /** Labels of a source change, and nothing else of it. */
  async changeSource(name: string, labels: Readonly<Record<string, string>>): Promise<void> {
    const path = `${SOURCES}/namespaces/${TEAM}/gitrepositories/${name}`;
    const found = (await send(this.server, "GET", path)) as { metadata: object } & Item;
    await this.put(path, { ...found, metadata: { ...found.metadata, labels } });
  }

  /** Changes an object as people do, over whatever else writes it. */
  async change(name: string, how: (object: Terraform) => Terraform): Promise<void> {
    const path = `${TERRAFORMS}/namespaces/${TEAM}/terraforms/${name}`;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const object = (await send(this.server, "GET", path)) as Terraform;
        await send(this.server, "PUT", path, how(object) as unknown as Item);
        return;
      } catch (error) {
        if (attempt === 10 || !/: 409:/.test(String(error))) throw error;
      }
    }
  }

  async terraform(name: string): Promise<Terraform> {
    const path = `${TERRAFORMS}/namespaces/${TEAM}/terraforms/${name}`;
    return (await send(this.server, "GET", path)) as Terraform;
  }

  async condition(name: string, type: string): Promise<Condition | undefined> {
    const { status } = await this.terraform(name);
    return status?.conditions?.find((each) => each.type === type);
  }

  /** Whatever the server has there; undefined if nothing. */
  async get(path: string): Promise<Item | undefined> {
    try {
      return (await send(this.server, "GET", path)) as Item;
    } catch (error) {
      if (/: 404:/.test(String(error))) return undefined;
      throw error;
    }
  }

  async put(path: string, item: Item): Promise<void> {
    await send(this.server, "PUT", path, item);
  }

  /** Writes a Lease of the controller's namespace, as its holder does. */
  async holdLease(name: string, holderIdentity: string): Promise<void> {
    const now = new Date().toISOString().replace("Z", "000Z");
    const spec = {
      ...{ holderIdentity, leaseDurationSeconds: 35, leaseTransitions: 1 },
      ...{ acquireTime: now, renewTime: now },
    };
    const found = await this.get(`${LEASES}/${name}`);
    if (found !== undefined) {
      await send(this.server, "PUT", `${LEASES}/${name}`, { ...found, spec });
      return;
    }
    const metadata = { name, namespace: HOME };
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
    await send(this.server, "POST", LEASES, lease);
  }

  async lease(name: string): Promise<string | undefined> {
    const found = await this.get(`${LEASES}/${name}`);
    return (found?.spec as { holderIdentity?: string } | undefined)?.holderIdentity;
  }

  async close(): Promise<void> {
    await this.stopAll("SIGKILL");
    this.#http.closeAllConnections();
    this.#http.close();
    await this.server.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #serve(path: string, answer: import("node:http").ServerResponse): void {
    if (this.#fault === "silent") return;
    const found = this.#archives.get(path);
    if (found === undefined || this.#fault === "404") answer.writeHead(404).end();
    else answer.end(this.#fault === "other content" ? Buffer.from("another") : found);
  }
}

/** Sends the signal and waits for the end. */
async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, "exit");
}

/** Asks until it is so; fails, with what it was last, if that takes too long. */
export async function until<T>(
  ask: () => Promise<T> | T,
  isIt: (found: T) => boolean,
  limitMs = 30_000,
): Promise<T> {
  const end = Date.now() + limitMs;
  for (;;) {
    const found = await ask();
    if (isIt(found)) return found;
    if (Date.now() > end) throw new Error(`Not within ${limitMs} ms: ${JSON.stringify(found)}`);
    await sleep(50);
  }
}

function namespace(name: string): Item {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

/** A gzipped tar of these files, as source-controller makes of a commit. */
export async function archiveOf(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), "nigari-archive-"));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const pieces: Buffer[] = [];
    const packed = create({ gzip: true, portable: true, cwd: folder }, Object.keys(files));
    for await (const piece of packed) pieces.push(piece);
    return Buffer.concat(pieces);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
