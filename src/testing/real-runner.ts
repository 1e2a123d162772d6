import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { credentials } from "@grpc/grpc-js";
import { create } from "tar";
import type { RunOutcome } from "../domain/facts.ts";
import type { InputFile, RunEvent, StartOrder } from "../ports/runner.ts";
import { killProcess } from "../processes/group.ts";
import { bootId } from "../processes/identity.ts";
import { readProcessTable } from "../processes/members.ts";
import { RunnerClient } from "../protocol/client.ts";
import { socketAddress } from "../protocol/grpc.ts";
import { RUN_TOKEN, type RunFolder, type RunIdentity, runFolder } from "../protocol/run-folder.ts";
import { pinnedTools } from "./pinned-tools.ts";

const root = join(import.meta.dirname, "../..");

/** The real runner program on a run folder of its own, without a platform around it. */
export interface RealRunner {
  readonly identity: RunIdentity;
  readonly folder: RunFolder;
  readonly client: RunnerClient;
  readonly process: ChildProcess;
  /** Exit code or signal, once it has ended. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  /** Puts the files and starts; the order is completed with what it leaves open. */
  begin(
    files: Record<string, string>,
    order?: Partial<StartOrder>,
    plan?: Uint8Array,
  ): Promise<void>;
  /** Every event up to the outcome. */
  events(): Promise<RunEvent[]>;
  outcome(): Promise<RunOutcome>;
  /** The log as a watcher gets it. */
  log(): Promise<string>;
  /** Resolves once the log so far matches. */
  logged(pattern: RegExp): Promise<void>;
  file(name: "plan.bin" | "plan.json" | "plan.txt" | "outputs.json"): Promise<Buffer>;
  /** Ends every process of the run and removes its folder. */
  remove(): Promise<void>;
}

/** Environment that real OpenTofu runs with in tests. */
export function tofuTestEnvironment(): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "/usr/bin:/bin",
    HOME: tmpdir(),
    NIGARI_TOFU: pinnedTools().tofu,
  };
}

/**
 * A program that stands in for OpenTofu: the script is a shell's; `"$real" "$@"` in it goes on to
 * the real one.
 */
export function tofuBehind(script: string, scratch: string): string {
  const path = join(mkdtempSync(join(scratch, "tofu-")), "tofu");
  const { NIGARI_TOFU: real } = tofuTestEnvironment();
  writeFileSync(path, `#!/bin/sh\nreal=${real}\n${script}\n`, { mode: 0o700 });
  return path;
}

/** Starts a runner and waits until it answers; `more` is added to its environment. */
export async function startRealRunner(more: Record<string, string> = {}): Promise<RealRunner> {
  const env = { ...tofuTestEnvironment(), ...more };
  const scratch = mkdtempSync(join(tmpdir(), "nrun-"));
  const folder = runFolder(join(scratch, "run"));
  mkdirSync(folder.root, { mode: 0o700 });
  const token = randomBytes(16).toString("hex");
  const identity: RunIdentity = {
    runId: randomUUID(),
    namespace: "default",
    name: "demo",
    epoch: 3,
    token,
    socket: join(scratch, "s/runner.sock"),
    createdAt: new Date().toISOString(),
  };
  writeFileSync(folder.identity, JSON.stringify(identity));
  const output = openSync(folder.runnerLog, "a");
  const child = spawn(process.execPath, [join(root, "src/main/runner.ts"), folder.root], {
    env: { ...env, [RUN_TOKEN]: token },
    stdio: ["ignore", output, output],
    detached: true,
  });
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? code));
  });
  const client = new RunnerClient({
    runId: identity.runId,
    address: socketAddress(identity.socket),
    credentials: credentials.createInsecure(),
  });
  await untilUp(client, child, folder);
  const parts = { identity, folder, client, process: child, ended };
  return {
    ...parts,
    ...conversation(identity, client, scratch),
    async remove() {
      client.close();
      await endMarked(token);
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}

async function untilUp(client: RunnerClient, child: ChildProcess, folder: RunFolder) {
  for (let tries = 0; ; tries += 1) {
    try {
      await client.hello(within(2_000));
      return;
    } catch (error) {
      if (tries < 300 && child.exitCode === null) await sleep(30);
      else throw new Error(readFileSync(folder.runnerLog, "utf8"), { cause: error });
    }
  }
}

export function within(ms: number) {
  return { signal: AbortSignal.timeout(ms) };
}

type Conversation = Pick<RealRunner, "begin" | "events" | "outcome" | "log" | "logged" | "file">;

function conversation(
  { runId, epoch }: RunIdentity,
  client: RunnerClient,
  scratch: string,
): Conversation {
  const start = { fromSequence: 1, logOffset: 0 };
  const events = async () => {
    const found: RunEvent[] = [];
    for await (const event of client.watch(start, within(120_000))) found.push(event);
    return found;
  };
  return {
    events,
    async begin(files, order = {}, plan) {
      const artifact = await archiveOf(files, scratch);
      await client.putFile(inputOf("artifact.tar.gz", artifact), within(10_000));
      if (plan !== undefined) await client.putFile(inputOf("plan.bin", plan), within(10_000));
      const planned = plan === undefined ? {} : { planDigest: digestOf(plan) };
      const operation = plan === undefined ? ("plan" as const) : ("apply" as const);
      const ours = { runId, epoch, operation, artifactDigest: digestOf(artifact), ...planned };
      await client.start({ ...bareOrder, ...ours, ...order }, within(10_000));
    },
    async outcome() {
      const last = (await events()).at(-1);
      if (last?.type === "outcome") return last.outcome;
      throw new Error(`The stream ended with ${JSON.stringify(last)}`);
    },
    async log() {
      return (await events())
        .flatMap((each) => (each.type === "log" ? [each.line] : []))
        .join("\n");
    },
    async logged(pattern) {
      for await (const event of client.watch(start, within(60_000))) {
        if (event.type === "log" && pattern.test(event.line)) return;
      }
      throw new Error(`The run ended without a log line like ${pattern}`);
    },
    async file(name) {
      const content = await client.readFile(name, within(10_000));
      if (content === undefined) throw new Error(`The run made no ${name}`);
      return Buffer.from(content);
    },
  };
}

/** An order that asks for nothing special. */
export const bareOrder: StartOrder = {
  runId: "",
  epoch: 0,
  namespace: "default",
  name: "demo",
  operation: "plan",
  destroy: false,
  path: "./",
  artifactDigest: "",
  planDigest: undefined,
  env: {},
  variables: "{}",
  backend: undefined,
  backendConfig: {},
  backendRequired: false,
  files: [],
  cliConfig: undefined,
  workspace: "default",
  workspaceByAddress: false,
  upgrade: false,
  lock: true,
  lockTimeout: "0s",
  refresh: true,
  targets: [],
  parallelism: 0,
  varFiles: [],
  readablePlan: "none",
  outputs: true,
  sensitive: [],
  stageLimitMs: {},
  outputLimitBytes: 4 << 20,
  healthChecks: [],
  outputNames: {},
  inventory: false,
  unlock: undefined,
  stateTofuVersion: undefined,
};

/** A .tar.gz of these files, by path; the same bytes for the same files. */
export async function archiveOf(files: Record<string, string>, scratch: string): Promise<Buffer> {
  const source = mkdtempSync(join(scratch, "source-"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(source, path)), { recursive: true });
    writeFileSync(join(source, path), text, { mode: text.startsWith("#!") ? 0o700 : 0o600 });
  }
  const file = join(scratch, `${randomUUID()}.tar.gz`);
  await create({ gzip: true, cwd: source, file, portable: true, mtime: new Date(0) }, ["."]);
  return readFileSync(file);
}

export function inputOf(name: InputFile["name"], content: Uint8Array): InputFile {
  async function* chunks() {
    for (let at = 0; at < content.length; at += 1 << 20) yield content.subarray(at, at + (1 << 20));
  }
  return { name, digest: digestOf(content), sizeBytes: content.length, chunks: chunks() };
}

function digestOf(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Kills whatever bears the run's token. */
async function endMarked(token: string): Promise<void> {
  for (let look = 0; look < 200; look += 1) {
    const marked = (await readProcessTable()).withToken(token);
    if (marked.length === 0) return;
    for (const { pid, startTime } of marked) killProcess({ pid, startTime, bootId: bootId() });
    await sleep(20);
  }
  throw new Error("Processes of the run outlive SIGKILL");
}
