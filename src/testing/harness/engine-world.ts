import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connectEngine, type EngineClient } from "../../adapters/engine-client/client.ts";
import { socketFolder } from "../../adapters/process/socket-folder.ts";
import { createClock } from "../../adapters/system/clock.ts";
import type { TerraformSpec } from "../../api/terraform.ts";
import type { EngineInfo } from "../../ports/engine.ts";
import type { StateId } from "../../ports/state.ts";
import { engineSocketPath } from "../../server/socket.ts";
import { pinnedTools } from "../pinned-tools.ts";
import { Estate } from "./estate.ts";
import { Listener } from "./listener.ts";
import { RunTraces } from "./run-traces.ts";
import { Subject } from "./subject.ts";
import { TofuGate } from "./tofu-gate.ts";
import { until } from "./victims.ts";
import { type TestResource, Workspace } from "./workspace.ts";

const ROOT = join(import.meta.dirname, "../../..");
const START_MS = 60_000;
const STOP_MS = 20_000;

export interface WorldOptions {
  /** Runs that may go on at once. */
  readonly concurrent?: number;
  /** More flags of `nigari up`. */
  readonly flags?: readonly string[];
}

export interface SubjectOptions {
  readonly resources: readonly TestResource[];
  readonly spec?: Partial<TerraformSpec>;
  /** From a repository that takes long to extract. */
  readonly padded?: boolean;
  /** More HCL of the root module. */
  readonly more?: string;
}

/** A verb of the command line, run to its end. */
export interface Said {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/**
 * A whole Nigari: `nigari up` as a process of its own, on a Git repository and a data directory of
 * its own, with OpenTofu behind a gate. It is watched from outside as people do, through its
 * socket; everything that ever ran of it is kept in mind.
 */
export class EngineWorld {
  readonly scratch: string;
  readonly dataDir: string;
  readonly engineLog: string;
  readonly gate: TofuGate;
  readonly client: EngineClient;
  readonly traces: RunTraces;
  readonly estate: Estate;
  readonly #clock = createClock();
  readonly #listener: Listener;
  readonly #flags: readonly string[];
  readonly #subjects: Subject[] = [];
  #engine: ChildProcess | undefined;

  constructor({ concurrent = 8, flags = [] }: WorldOptions = {}) {
    this.scratch = mkdtempSync(join(tmpdir(), "nigari-world-"));
    this.dataDir = join(this.scratch, "data");
    this.engineLog = join(this.scratch, "engine.log");
    this.gate = new TofuGate(join(this.scratch, "gate"), pinnedTools().tofu);
    this.estate = new Estate(join(this.scratch, "estate"));
    this.client = connectEngine(engineSocketPath(this.dataDir), this.#clock);
    this.traces = new RunTraces(join(this.dataDir, "runs"));
    this.#listener = new Listener(this.client);
    this.#flags = [this.estate.manifests, "--concurrent", `${concurrent}`, ...flags];
    this.traces.begin();
    this.#listener.begin();
  }

  get subjects(): readonly Subject[] {
    return this.#subjects;
  }
  /** An engine has been started and has not ended. */
  get runs(): boolean {
    return this.#engine?.exitCode === null && this.#engine.signalCode === null;
  }
  get pid(): number {
    const pid = this.#engine?.pid;
    if (pid === undefined) throw new Error("No engine runs");
    return pid;
  }

  /** Writes a Terraform object and its module; it counts from the next commit on. */
  add(name: string, options: SubjectOptions): Subject {
    const subject = this.addModule(name, options);
    this.want(subject, options);
    return subject;
  }

  /** Writes the module of an object that is wanted later. */
  addModule(name: string, options: SubjectOptions): Subject {
    const workspace = new Workspace(join(this.scratch, "workspaces", name));
    const { dataDir, gate } = this;
    const subject = new Subject({ name, workspace, dataDir, gate }, this.#listener);
    this.#subjects.push(subject);
    this.#write(subject, options);
    return subject;
  }

  /** Writes the object whose module is there. */
  want({ name }: Subject, { spec = {}, padded = false }: Omit<SubjectOptions, "resources">): void {
    this.estate.want({ name, spec, padded });
  }

  /** Writes the object and its module anew. */
  change(subject: Subject, options: SubjectOptions): void {
    this.#write(subject, options);
    this.want(subject, options);
  }

  #write({ name, workspace }: Subject, options: SubjectOptions): void {
    const { resources, spec = {}, padded = false, more = "" } = options;
    this.estate.write({ name, files: workspace.files(resources), spec, padded, more });
  }

  /** A person deletes the object. Its manifest goes too, or it would be made anew. */
  async remove({ name }: Subject): Promise<void> {
    this.estate.remove(name);
    const ref = { kind: "Terraform", namespace: "default", name } as const;
    await this.client.store.delete(ref, {}, this.call());
  }

  /** Starts the engine and waits until it answers; returns when it did. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<number> {
    const engine = this.launch(env);
    const end = performance.now() + START_MS;
    while (!(await this.answers())) {
      if (engine.exitCode !== null || performance.now() > end) {
        throw new Error(`The engine did not come up:\n${this.said()}`);
      }
      await sleep(10);
    }
    return performance.now();
  }

  /** Starts the engine and waits for nothing. */
  launch(env: Readonly<Record<string, string>> = {}): ChildProcess {
    if (this.runs) throw new Error("An engine runs already");
    const engine = this.spawn(["up", ...this.#flags], env);
    this.#engine = engine;
    return engine;
  }

  freeze(): void {
    process.kill(this.pid, "SIGSTOP");
  }

  /** SIGKILL; returns when it was sent. */
  async kill(): Promise<number> {
    const engine = this.#engine;
    if (engine === undefined) throw new Error("No engine runs");
    const ended = once(engine, "exit");
    const at = performance.now();
    engine.kill("SIGKILL");
    await ended;
    return at;
  }

  /** Ctrl-C, and its end; the exit code. */
  async stop(): Promise<number | null> {
    const engine = this.#engine;
    if (engine === undefined || !this.runs) return null;
    const ended = once(engine, "exit");
    engine.kill("SIGINT");
    const late = setTimeout(() => engine.kill("SIGKILL"), STOP_MS);
    const [code] = await ended;
    clearTimeout(late);
    return code;
  }

  interrupt(): void {
    process.kill(this.pid, "SIGINT");
  }

  async ended(): Promise<number | null> {
    const engine = this.#engine;
    if (engine === undefined) throw new Error("No engine was started");
    if (engine.exitCode === null && engine.signalCode === null) await once(engine, "exit");
    return engine.exitCode;
  }

  async answers(): Promise<boolean> {
    return await this.info().then(
      () => true,
      () => false,
    );
  }

  info(): Promise<EngineInfo> {
    return this.client.engine.info(this.call(1_000));
  }

  call(ms = 10_000) {
    return { signal: this.#clock.deadline("The test's call", ms) };
  }

  /** `nigari` with these words, on this data directory, from start to end. */
  async nigari(...words: string[]): Promise<Said> {
    const child = this.spawn(words, {}, "pipe");
    const parts: { out: string; error: string } = { out: "", error: "" };
    child.stdout?.on("data", (chunk) => {
      parts.out += chunk;
    });
    child.stderr?.on("data", (chunk) => {
      parts.error += chunk;
    });
    const [code] = await once(child, "close");
    return { code, ...parts };
  }

  /** `./nigari` as a child of ours, its output into the engine's log or to us. */
  spawn(
    words: readonly string[],
    env: Readonly<Record<string, string>> = {},
    output: "log" | "pipe" = "log",
  ): ChildProcess {
    const { TF_CLI_CONFIG_FILE: _, ...inherited } = process.env;
    const log = output === "log" ? openSync(this.engineLog, "a", 0o600) : "pipe";
    const child = spawn(join(ROOT, "nigari"), [...words, "--data-dir", this.dataDir], {
      stdio: ["ignore", log, log],
      cwd: this.scratch,
      env: { ...inherited, NIGARI_TOFU: this.gate.program, NO_COLOR: "1", ...env },
    });
    if (log !== "pipe") closeSync(log);
    return child;
  }

  /** What engines have written so far. */
  said(): string {
    return readFileSync(this.engineLog, "utf8");
  }

  /** Lines of the engines' log that tell of a bug. */
  bugs(): string[] {
    const bug = /by a bug|part of the engine failed|Unhandled|ERROR/;
    return this.said()
      .split("\n")
      .filter((line) => bug.test(line));
  }

  /** The state that Nigari keeps of an object, as far as tests judge it. */
  async state(name: string): Promise<KeptState | undefined> {
    const id: StateId = { namespace: "default", name, workspace: "default" };
    const states = await this.client.states.list(this.call());
    const found = states.find((each) => each.name === name);
    if (found === undefined) return undefined;
    const content = await this.client.states.show(id, undefined, this.call());
    if (content === undefined) return undefined;
    const { serial, resources } = JSON.parse(new TextDecoder().decode(content)) as StateJson;
    return {
      serial,
      resources: resources.map(({ type, name: each }) => `${type}.${each}`).sort(),
      tainted: resources
        .filter(({ instances }) => instances.some(({ status }) => status === "tainted"))
        .map(({ type, name: each }) => `${type}.${each}`),
      locked: found.lock !== undefined,
      aside: found.rescued.length,
    };
  }

  /** Waits until no run goes on, no place is taken, and nothing of any run is left anywhere. */
  async untilQuiet(): Promise<void> {
    const idle = async () => {
      // On a crowded machine an answer may be late, and says nothing then.
      const info = await this.info().catch(() => undefined);
      return info !== undefined && info.runs.length === 0 && info.slots.taken === 0;
    };
    await until("no run goes on", idle, 60_000);
    await until("no process of any run lives", async () => {
      return (await this.traces.living()).length === 0;
    });
    await until("no folder of any run is left", () => this.traces.folders().length === 0);
    await until("no socket of any run is left", () => this.traces.sockets().length === 0);
  }

  /** Ends everything that is left. */
  async end(): Promise<void> {
    await this.#listener.end();
    if (this.runs) await this.kill();
    await this.traces.killAll();
    this.traces.end();
  }

  /** Ends everything that is left, and removes it. */
  async close(): Promise<void> {
    await this.end();
    this.#clock.close();
    for (const folder of [this.scratch, socketFolder(join(this.dataDir, "runs"), undefined)]) {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

export interface KeptState {
  readonly serial: number;
  /** Addresses, sorted. */
  readonly resources: readonly string[];
  readonly tainted: readonly string[];
  readonly locked: boolean;
  /** Versions kept aside. */
  readonly aside: number;
}

interface StateJson {
  readonly serial: number;
  readonly resources: readonly {
    readonly type: string;
    readonly name: string;
    readonly instances: readonly { readonly status?: string }[];
  }[];
}
