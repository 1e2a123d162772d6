import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connectEngine, type EngineClient } from "../../adapters/engine-client/client.ts";
import type { Terraform } from "../../api/terraform.ts";
import type { Clock } from "../../ports/clock.ts";
import { killProcess, readIdentityFile } from "../../processes/group.ts";
import { runFolder } from "../../protocol/run-folder.ts";
import { engineSocketPath } from "../../server/socket.ts";
import { packageRoot } from "../package.ts";
import { makeRepository } from "./repository.ts";

/** Folders and files of a demo, all below one folder that is made anew each time. */
export interface DemoFolder {
  readonly root: string;
  readonly repository: string;
  readonly dataDir: string;
  readonly effects: string;
  readonly engineLog: string;
}

export function makeDemoFolder(root: string, modules: string): DemoFolder {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const folder = {
    root,
    repository: join(root, "repository"),
    dataDir: join(root, "data"),
    effects: join(root, "effects.log"),
    engineLog: join(root, "engine.log"),
  };
  makeRepository({ repository: folder.repository, effects: folder.effects, modules });
  return folder;
}

/** Names of resources in the order in which they were really created. */
export function effectsOf(folder: DemoFolder): string[] {
  if (!existsSync(folder.effects)) return [];
  return readFileSync(folder.effects, "utf8")
    .split("\n")
    .filter((line) => line !== "");
}

export interface DemoEngine {
  readonly child: ChildProcess;
  readonly client: EngineClient;
  /** Ctrl-C, and then its end. */
  stop(): Promise<void>;
}

const START_MS = 30_000;
const STOP_MS = 20_000;

/** Starts `nigari up` as a person would, with its output in a file. */
export async function startEngine(
  folder: DemoFolder,
  tofu: string,
  clock: Clock,
): Promise<DemoEngine> {
  const log = openSync(folder.engineLog, "a", 0o600);
  const args = ["up", folder.repository, "--data-dir", folder.dataDir];
  const env = { ...process.env, NIGARI_TOFU: tofu, NO_COLOR: "1" };
  const child = spawn(join(packageRoot(), "nigari"), args, { stdio: ["ignore", log, log], env });
  closeSync(log);
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const client = connectEngine(engineSocketPath(folder.dataDir), clock);
  const until = clock.monotonic() + START_MS;
  while (!(await answers(client, clock))) {
    if (child.exitCode !== null || clock.monotonic() > until) {
      child.kill("SIGKILL");
      throw new Error(`The engine did not start:\n${readFileSync(folder.engineLog, "utf8")}`);
    }
    await sleep(100);
  }
  return {
    child,
    client,
    async stop() {
      child.kill("SIGINT");
      const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      await ended;
      clearTimeout(late);
    },
  };
}

async function answers(client: EngineClient, clock: Clock): Promise<boolean> {
  try {
    await client.engine.info({ signal: clock.deadline("Asking the engine", 1_000) });
    return true;
  } catch {
    return false;
  }
}

/** SIGKILL to the runner of a run, which is checked to be the very process that serves it. */
export function killRunner(folder: DemoFolder, runId: string): number {
  const { runner } = runFolder(join(folder.dataDir, "runs", runId));
  const identity = readIdentityFile(runner);
  if (identity === undefined || !killProcess(identity)) {
    throw new Error(`The runner of run ${runId} had ended before it could be killed`);
  }
  return identity.pid;
}

/** Every change of every Terraform object, as the engine tells it. */
export async function* watchObjects(
  client: EngineClient,
  signal: AbortSignal,
): AsyncIterable<Terraform> {
  const { resourceVersion, items } = await client.store.list("Terraform", {}, { signal });
  yield* items;
  for await (const event of client.store.watch("Terraform", { resourceVersion }, { signal })) {
    if (event.type === "ADDED" || event.type === "MODIFIED") yield event.object;
  }
}
