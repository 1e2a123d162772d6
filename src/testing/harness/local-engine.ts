import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectEngine, type EngineClient } from "../../adapters/engine-client/client.ts";
import { createClock } from "../../adapters/system/clock.ts";
import type { RunStatus, Terraform } from "../../api/terraform.ts";
import { type RunFolder, runFolder } from "../../protocol/run-folder.ts";
import { engineSocketPath } from "../../server/socket.ts";
import { pinnedTools } from "../pinned-tools.ts";
import { TofuGate } from "./tofu-gate.ts";
import { livingOf, until } from "./victims.ts";
import { type TestResource, Workspace } from "./workspace.ts";

const ROOT = join(import.meta.dirname, "../../..");
const CALL_MS = 10_000;

const manifests = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: { name: code }
spec: { url: ., interval: 10m, ref: { branch: main } }
---
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: { name: app }
spec:
  interval: 1h
  approvePlan: auto
  destroyResourcesOnDeletion: true
  path: module
  sourceRef: { kind: GitRepository, name: code }
`;

/**
 * \`nigari up\` as a process of its own, on a repository with one object, over a gate in OpenTofu's
 * place. What it stores outlives it, so that it can be killed and started again.
 */
export class LocalEngine {
  readonly scratch: string;
  readonly workspace: Workspace;
  readonly gate: TofuGate;
  readonly client: EngineClient;
  readonly #dataDir: string;
  readonly #repository: string;
  readonly #log: string;
  readonly #clock = createClock();
  #child: ChildProcess | undefined;

  constructor(resources: readonly TestResource[], more: Record<string, string> = {}) {
    this.scratch = mkdtempSync(join(tmpdir(), "nigari-up-"));
    this.#dataDir = join(this.scratch, "data");
    this.#repository = join(this.scratch, "repository");
    this.#log = join(this.scratch, "engine.log");
    this.workspace = new Workspace(join(this.scratch, "workspace"));
    this.gate = new TofuGate(join(this.scratch, "gate"), pinnedTools().tofu);
    this.client = connectEngine(engineSocketPath(this.#dataDir), this.#clock);
    this.#commit({ ...this.workspace.files(resources), ...more });
  }

  /** Starts the engine and waits until it answers. */
  async start(): Promise<void> {
    const log = openSync(this.#log, "a", 0o600);
    const args = [join(ROOT, "src/main/cli.ts"), "up", this.#repository];
    const { PATH = "" } = process.env;
    const env = { PATH, HOME: this.scratch, NIGARI_TOFU: this.gate.program };
    this.#child = spawn(process.execPath, [...args, "--data-dir", this.#dataDir], {
      cwd: this.#repository,
      stdio: ["ignore", log, log],
      env,
    });
    closeSync(log);
    const child = this.#child;
    await until(
      "the engine answers",
      async () => {
        if (child.exitCode !== null) throw new Error(`The engine ended:\n${this.log()}`);
        return await this.client.engine.info(this.within(1_000)).then(
          () => true,
          () => false,
        );
      },
      60_000,
    );
  }

  /** SIGKILL, and waits until it is dead. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null) throw new Error("No engine lives");
    const dead = once(child, "exit");
    child.kill("SIGKILL");
    await dead;
    this.#child = undefined;
  }

  /** Ends the engine and whatever it left, and removes everything. */
  async close(): Promise<void> {
    if (this.#child !== undefined) await this.kill();
    for (const folder of this.runFolders()) {
      for (const pid of await livingOf(folder).catch(() => [])) {
        try {
          process.kill(pid, "SIGKILL");
        } catch {
          // It ended by itself meanwhile.
        }
      }
    }
    this.#clock.close();
    rmSync(this.scratch, { recursive: true, force: true, maxRetries: 5 });
  }

  async terraform(): Promise<Terraform | undefined> {
    const ref = { kind: "Terraform", namespace: "default", name: "app" } as const;
    return await this.client.store.get(ref, this.within());
  }

  async run(): Promise<RunStatus | undefined> {
    return (await this.terraform())?.status?.run;
  }

  /** Waits until the object is Ready and nothing of a run is left. */
  async untilReady(limitMs = 90_000): Promise<Terraform> {
    let found: Terraform | undefined;
    const holds = async () => {
      found = await this.terraform();
      const { conditions, run } = found?.status ?? {};
      const ready = conditions?.find(({ type }) => type === "Ready");
      return ready?.status === "True" && run === undefined;
    };
    await this.#until("the object is ready", holds, limitMs);
    if (found === undefined) throw new Error("There is no object");
    return found;
  }

  /** Waits until no run is left: no process, no folder, no slot taken. */
  async untilAtRest(): Promise<void> {
    await this.#until("no run is left", () => this.runFolders().length === 0, 30_000);
    await this.#until("no slot is taken", async () => {
      return (await this.client.engine.info(this.within())).runs.length === 0;
    });
  }

  /** A person deletes the object; the manifest goes too, or it would come back. */
  async delete(): Promise<void> {
    this.#commit({}, manifests.split("---")[0]);
    const ref = { kind: "Terraform", namespace: "default", name: "app" } as const;
    await this.client.store.delete(ref, {}, this.within());
  }

  /** Addresses in the current state, sorted; undefined if there is none. */
  async state(): Promise<readonly string[] | undefined> {
    const id = { namespace: "default", name: "app", workspace: "default" };
    const content = await this.client.states.show(id, undefined, this.within());
    if (content === undefined) return undefined;
    const { resources } = JSON.parse(Buffer.from(content).toString("utf8"));
    const all: { type: string; name: string; instances: { status?: string }[] }[] = resources;
    const broken = all.filter(({ instances }) => instances.some(({ status }) => status));
    if (broken.length > 0) throw new Error(`Tainted in the state: ${JSON.stringify(broken)}`);
    return all.map(({ type, name }) => `${type}.${name}`).sort();
  }

  folder(runId: string): RunFolder {
    return runFolder(join(this.#dataDir, "runs", runId));
  }

  runFolders(): RunFolder[] {
    try {
      return readdirSync(join(this.#dataDir, "runs")).map((runId) => this.folder(runId));
    } catch {
      return [];
    }
  }

  log(): string {
    return readFileSync(this.#log, "utf8");
  }

  within(ms = CALL_MS) {
    return { signal: this.#clock.deadline("The test's call", ms) };
  }

  async #until(what: string, holds: () => boolean | Promise<boolean>, limitMs?: number) {
    try {
      await until(what, holds, limitMs);
    } catch (error) {
      const status = JSON.stringify((await this.terraform())?.status, undefined, 1);
      const log = this.log().split("\n").slice(-60).join("\n");
      throw new Error(`${String(error)}\n${status}\n${log}`);
    }
  }

  #commit(module: Record<string, string>, objects = manifests): void {
    mkdirSync(join(this.#repository, "module"), { recursive: true });
    writeFileSync(join(this.#repository, "objects.yaml"), objects);
    for (const [name, text] of Object.entries(module)) {
      writeFileSync(join(this.#repository, "module", name), text);
    }
    const author = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    const git = (...args: string[]) =>
      execFileSync("git", [...author, ...args], { cwd: this.#repository, stdio: "pipe" });
    git("init", "--quiet", "--initial-branch=main");
    git("add", "--all");
    git("commit", "--quiet", "--allow-empty", "--message", "Change");
  }
}
