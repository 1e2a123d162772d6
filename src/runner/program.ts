import { link, mkdir, readFile, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { bootId, identityOf, type ProcessIdentity } from "../processes/identity.ts";
import { writeDurably } from "../protocol/durable.ts";
import { RUN_TOKEN, type RunIdentity, runFolder } from "../protocol/run-folder.ts";
import { Run } from "./run.ts";
import { type Listening, serveRun } from "./server.ts";

export interface RunnerOptions {
  /** The run folder, in which the platform has put run.json. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly version: string;
  /** Fires when we are told to go (SIGTERM). */
  readonly shutdown: AbortSignal;
  /** What OpenTofu has to end in then, before it is killed or left to itself. */
  readonly shutdownGraceMs: number;
  /** One line for runner.log. */
  readonly say: (line: string) => void;
  /** Where to listen, if not on the run's socket. */
  readonly listening?: Listening;
  /** How long to wait to be collected once told to go; not at all if left out. */
  readonly lingerMs?: number;
  /** Told of the run before anything of it is served. */
  readonly attend?: (run: Run) => void;
}

/** How often it is looked whether the run folder is still there. */
const FOLDER_CHECK_MS = 10_000;

/**
 * Serves one run to its end, which is one of three: it is released, we are told to go, or its
 * folder has vanished and with it everything that could still be collected. An engine that does
 * not come back is waited for without end. Fails if the folder is not that of a run, or has had a
 * runner.
 */
export async function runRunner(options: RunnerOptions): Promise<void> {
  const folder = runFolder(options.folder);
  const identity: RunIdentity = JSON.parse(await readFile(folder.identity, "utf8"));
  const own = identityOf(process.pid);
  if (own === undefined) throw new Error("The process table does not show this process");
  if (options.environment[RUN_TOKEN] !== identity.token) {
    throw new Error(`${RUN_TOKEN} is not that of run ${identity.runId}; the platform sets it`);
  }
  await claim(folder.runner, identity.runId, own);
  const run = new Run(identity, folder, options.environment);
  const { version, say, listening } = options;
  if (listening === undefined) await privateFolder(dirname(identity.socket));
  options.attend?.(run);
  const server = await serveRun(run, { version, bootId: bootId(), pid: process.pid }, listening);
  say(`serving run ${identity.runId} of ${identity.namespace}/${identity.name}`);
  const over = new AbortController();
  const end = await Promise.race([
    server.released.then(() => "released" as const),
    fired(options.shutdown).then(() => "told to go" as const),
    folderVanished(options.folder, over.signal).then(() => "its folder has vanished" as const),
  ]);
  over.abort();
  say(`ending: ${end}`);
  if (end !== "released") await shutDown(run, options.shutdownGraceMs);
  if (end === "told to go") await late(server.released, options.lingerMs ?? 0);
  await server.close();
}

/**
 * Writes who we are, whole and at once. A run has one runner: what a dead one left is the
 * platform's to judge, not a second one's.
 */
async function claim(path: string, runId: string, own: ProcessIdentity): Promise<void> {
  const beside = `${path}.${own.pid}`;
  await writeDurably(beside, JSON.stringify(own));
  try {
    await link(beside, path);
  } catch (cause) {
    throw new Error(`Run ${runId} has had a runner already (${path})`, { cause });
  } finally {
    await rm(beside, { force: true });
  }
}

/** Only our own user may reach the socket. A folder that others can enter is not made narrower. */
async function privateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0) throw new Error(`Folder ${path} of the socket is open to others`);
}

/** Gives OpenTofu its grace and a little more; then we go whatever is left. */
async function shutDown(run: Run, graceMs: number): Promise<void> {
  await late(run.shutDown(graceMs), graceMs + 10_000);
}

/** Waits, and no longer than so. */
async function late(work: Promise<void>, limitMs: number): Promise<void> {
  const over = new Promise<void>((resolve) => {
    setTimeout(resolve, limitMs).unref();
  });
  await Promise.race([work, over]);
}

function fired(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function folderVanished(folder: string, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      stat(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") resolve();
      });
    }, FOLDER_CHECK_MS);
    over.addEventListener("abort", () => clearInterval(timer), { once: true });
  });
}
