import { existsSync, mkdirSync } from "node:fs";
import { readFile as readWhole } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { credentials } from "@grpc/grpc-js";
import type { RunOutcome } from "../../domain/facts.ts";
import type { Call } from "../../ports/call.ts";
import type { Clock, Random } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import {
  type LogEvent,
  type PlatformFact,
  type RunFile,
  type RunnerConnection,
  RunnerError,
  type RunnerLaunch,
  type RunnerPlatform,
  type RunSignal,
} from "../../ports/runner.ts";
import { type DetachedProcess, type ProcessEnd, startDetached } from "../../processes/group.ts";
import { bootId } from "../../processes/identity.ts";
import { RunnerClient } from "../../protocol/client.ts";
import { writeDurably } from "../../protocol/durable.ts";
import { socketAddress } from "../../protocol/grpc.ts";
import { RUN_TOKEN } from "../../protocol/run-folder.ts";
import { RunLog } from "../../protocol/run-log.ts";
import { collectRun, erroredState, hasEnded, hasOrder, stageIn } from "./collect.ts";
import { endRunner, interruptWorkers, terminateRun } from "./ending.ts";
import { Epochs } from "./epochs.ts";
import { News } from "./news.ts";
import { list, RunRecord } from "./record.ts";
import { removeTree, sweep } from "./removal.ts";
import { socketFolder, socketPath } from "./socket-folder.ts";
import { SpareRunner } from "./spare.ts";

export interface ProcessPlatformOptions {
  /** Holds one folder per run; made private if it is not there. */
  readonly runsFolder: string;
  /** Program and arguments that start a runner; the run's folder is added as the last one. */
  readonly runnerCommand: readonly string[];
  /** XDG_RUNTIME_DIR: for sockets where /tmp will not do. */
  readonly runtimeFolder: string | undefined;
  /** What a runner that is started ahead is started with; absent: none is. */
  readonly spareEnv?: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Runners as local processes, one folder and one detached process per run. Nothing of a run depends
 * on this process: what it must know of one lies in the run's folder (src/protocol/run-folder.ts),
 * so another engine goes on with it.
 */
export class ProcessPlatform implements RunnerPlatform {
  readonly #options: ProcessPlatformOptions;
  #sockets: string;
  readonly #records = new Map<string, RunRecord>();
  readonly #launching = new Map<string, Promise<void>>();
  /** Ends of runners that are our children. */
  readonly #ends = new Map<string, Promise<ProcessEnd>>();
  readonly #news: News;
  readonly #epochs: Epochs;
  readonly #spare: SpareRunner | undefined;

  /** Fails if there is no folder that is safe for sockets. */
  constructor(options: ProcessPlatformOptions) {
    this.#options = options;
    mkdirSync(options.runsFolder, { recursive: true, mode: 0o700 });
    this.#sockets = socketFolder(options.runsFolder, options.runtimeFolder);
    this.#epochs = new Epochs(options.runsFolder);
    const { clock, log, runnerCommand: command, runsFolder: folder, spareEnv: env } = options;
    this.#spare = env && new SpareRunner({ command, env, folder, clock, log });
    this.#news = new News({
      runs: () => this.#settledRuns(),
      clock,
      log,
      onRunnerGone: (run) => this.#noteEnd(run),
    });
  }

  /** The newest epoch of an engine that has commanded the runs here; 0: none has. */
  newestEpoch(): number {
    return this.#epochs.newest();
  }

  async launch(run: RunnerLaunch, call: Call): Promise<void> {
    await this.#obeys(call);
    const { runId } = run;
    // Two calls at once for the same run must not both find it missing.
    let launching = this.#launching.get(runId);
    if (launching === undefined) {
      launching = this.#launch(run).finally(() => this.#launching.delete(runId));
      this.#launching.set(runId, launching);
    }
    await launching;
  }

  /** Ends what was started ahead. Runs go on. */
  close(): void {
    this.#spare?.close();
  }

  async inspect(runId: string, call: Call): Promise<PlatformFact> {
    inTime(call);
    const run = this.#record(runId);
    await this.#launched(runId);
    const { runner, workers } = run.glance() ?? (await run.look());
    const uid = run.identity()?.uid;
    if (runner === "gone") await this.#noteEnd(run);
    // One run has its runner, so the next one may be thought of.
    if (runner === "running") this.#spare?.prepare();
    if (runner !== "gone") {
      // Only a runner that lives can have taken one or not.
      const orderTaken = runner === "unknown" ? undefined : hasOrder(run.folder);
      const living = { runner, proof: undefined, goneAt: undefined, uid };
      return { ...living, workersAlive: workers.length, orderTaken };
    }
    const end = run.end();
    const workersStage = workers.length === 0 ? undefined : stageIn(run.folder);
    const onlyLeftovers = workersStage !== undefined && hasEnded(run.folder, workersStage);
    return {
      runner,
      proof: end?.proof,
      workersAlive: workers.length,
      workersStage,
      ...(onlyLeftovers ? { onlyLeftovers } : {}),
      goneAt: end?.at,
      uid,
    };
  }

  connect(runId: string, epoch?: number): RunnerConnection {
    const socket = this.#record(runId).identity()?.socket ?? socketPath(this.#sockets, runId);
    const address = socketAddress(socket);
    return new RunnerClient({ runId, address, epoch, credentials: credentials.createInsecure() });
  }

  async signal(runId: string, what: RunSignal, call: Call): Promise<void> {
    await this.#obeys(call);
    const run = this.#record(runId);
    await this.#launched(runId);
    if (run.identity() === undefined) return;
    if (what === "interrupt") return interruptWorkers(run);
    if (what === "end-runner") await endRunner(run, call);
    else await terminateRun(run, call);
    await this.#noteEnd(run);
    await this.#news.notice(run);
  }

  async collect(runId: string, call: Call, state?: Uint8Array): Promise<RunOutcome> {
    await this.#obeys(call);
    const run = await this.#dead(runId);
    return await run.exclusively(() => collectRun(run.folder, state));
  }

  async readFile(runId: string, file: RunFile, call: Call): Promise<Uint8Array | undefined> {
    inTime(call);
    const run = this.#known(runId);
    try {
      return await readWhole(join(run.folder.files, file), { signal: call.signal });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  async readLog(runId: string, fromOffset: number, call: Call): Promise<LogEvent[]> {
    inTime(call);
    const { log: path } = this.#known(runId).folder;
    const lines: LogEvent[] = [];
    if (!existsSync(path)) return lines;
    const log = new RunLog(path);
    try {
      for await (const line of log.read(fromOffset)) {
        lines.push({ type: "log", ...line });
        if (call.signal.aborted || line.offset - fromOffset > LOG_PART_BYTES) break;
      }
    } finally {
      log.close();
    }
    return lines;
  }

  async remove(runId: string, call: Call): Promise<void> {
    await this.#obeys(call);
    if (this.#record(runId).identity() === undefined) return;
    const run = await this.#dead(runId);
    if (erroredState(run.folder) !== undefined && !list(run.folder.files).includes(ERRORED)) {
      const mend = "collect the run first";
      throw new RunnerError("Refused", `Run ${runId} left a state that nobody has: ${mend}`);
    }
    await removeTree(this.#options.runsFolder, runId, run.identity()?.socket);
    this.#records.delete(runId);
    this.#ends.delete(runId);
  }

  async list(call: Call): Promise<string[]> {
    // What it ends is the business of who leads, and who leads asks for it at once.
    await this.#obeys(call);
    await sweep(this.#options.runsFolder);
    return [...this.#runs().keys()].sort();
  }

  changes(call: Call): AsyncIterable<string> {
    return this.#news.changes(call.signal);
  }

  async #obeys(call: Call): Promise<void> {
    inTime(call);
    if (call.epoch !== undefined) await this.#epochs.obey(call.epoch);
  }

  async #launch(launch: RunnerLaunch): Promise<void> {
    const run = this.#record(launch.runId);
    const { clock, random, runnerCommand, runsFolder, runtimeFolder } = this.#options;
    // Looked at again: what tidies /tmp may have taken it away, and somebody may have come in.
    this.#sockets = socketFolder(runsFolder, runtimeFolder);
    const isNew = await run.begin(launch, {
      token: random.hex(16),
      socket: socketPath(this.#sockets, launch.runId),
      createdAt: new Date(clock.now()).toISOString(),
    });
    const identity = run.identity();
    // It was started before, perhaps by an engine that died before it could note so.
    if (identity === undefined) return;
    if (!isNew && (await run.look()).runner !== "unknown") return;
    const env = { ...launch.env, [RUN_TOKEN]: identity.token };
    const spare = isNew ? await this.#spare?.give(run, env) : undefined;
    const started = spare ?? (await startRunner(run, runnerCommand, env));
    this.#ends.set(launch.runId, started.ended);
    void started.ended.then(() => this.#news.notice(run));
    if (spare === undefined) {
      await writeDurably(run.folder.launch, JSON.stringify(started.identity));
    }
  }

  /** A run that is being launched may be given to two processes in turn: it is looked at then. */
  async #launched(runId: string): Promise<void> {
    await this.#launching.get(runId)?.catch(() => undefined);
  }

  /** Notes how the end of a runner is known, the first time it is seen. */
  async #noteEnd(run: RunRecord): Promise<void> {
    if (run.end() !== undefined) return;
    const at = new Date(this.#options.clock.now()).toISOString();
    run.noteEnd({ proof: await this.#proof(run), at });
  }

  async #proof(run: RunRecord): Promise<string> {
    const runner = run.runner();
    if (runner !== undefined && runner.bootId !== bootId()) return "the machine was started anew";
    const ended = this.#ends.get(run.runId);
    // The table may show a child as dead a moment before we are told how it ended.
    const end = await Promise.race([ended, sleep(100, undefined)]);
    if (end === undefined) return `process ${runner?.pid} is gone`;
    if ("exitCode" in end) return `exited with code ${end.exitCode}`;
    const signals: Readonly<Record<string, number>> = constants.signals;
    return `killed by signal ${signals[end.signal] ?? end.signal}`;
  }

  async #dead(runId: string): Promise<RunRecord> {
    const run = this.#known(runId);
    const { members } = await run.look();
    const [alive] = members;
    if (alive === undefined) return run;
    const others = members.length === 1 ? "" : ` and ${members.length - 1} more`;
    throw new RunnerError("StillAlive", `Process ${alive.pid}${others} of run ${runId} lives`);
  }

  #known(runId: string): RunRecord {
    const run = this.#record(runId);
    if (run.identity() !== undefined) return run;
    throw new RunnerError("NotFound", `Run ${runId} is not known here`);
  }

  #record(runId: string): RunRecord {
    if (!/^[a-z0-9][a-z0-9.-]{0,99}$/.test(runId)) {
      throw new RunnerError("NotFound", `"${runId}" is no run id`);
    }
    let record = this.#records.get(runId);
    if (record === undefined) {
      record = new RunRecord(this.#options.runsFolder, runId);
      this.#records.set(runId, record);
    }
    return record;
  }

  #settledRuns(): ReadonlyMap<string, RunRecord> {
    return new Map([...this.#runs()].filter(([runId]) => !this.#launching.has(runId)));
  }

  /** Every run that has been begun here, by this engine or an earlier one. */
  #runs(): ReadonlyMap<string, RunRecord> {
    const names = list(this.#options.runsFolder).filter((name) => !name.startsWith("."));
    const records = names.map((name) => this.#record(name));
    return new Map(
      records.filter((run) => run.identity() !== undefined).map((run) => [run.runId, run]),
    );
  }
}

async function startRunner(
  { folder: { root, runnerLog }, runId }: RunRecord,
  runnerCommand: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<DetachedProcess> {
  const command = { argv: [...runnerCommand, root], cwd: root, env };
  try {
    return await startDetached({ ...command, stdout: runnerLog, stderr: runnerLog });
  } catch (cause) {
    throw new RunnerError("Internal", `The runner of run ${runId} could not be started`, { cause });
  }
}

/** What readLog answers with at most. */
const LOG_PART_BYTES = 1 << 20;
const ERRORED = "errored.tfstate" satisfies RunFile;

function inTime(call: Call): void {
  if (!call.signal.aborted) return;
  throw new RunnerError("DeadlineExceeded", "The call's time was over before it began", {
    cause: call.signal.reason,
  });
}
