import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ProcessPlatform } from "../../adapters/process/platform.ts";
import { socketFolder } from "../../adapters/process/socket-folder.ts";
import { createClock } from "../../adapters/system/clock.ts";
import { systemRandom } from "../../adapters/system/random.ts";
import type { RunOutcome } from "../../domain/facts.ts";
import { noLog } from "../../ports/log.ts";
import type {
  PlatformFact,
  RunEvent,
  RunnerConnection,
  RunnerLaunch,
  StartOrder,
} from "../../ports/runner.ts";
import { type RunFolder, runFolder } from "../../protocol/run-folder.ts";
import type { PreparedRun } from "../contracts/runner-platform.ts";
import { pinnedTools } from "../pinned-tools.ts";
import { archiveOf, bareOrder, inputOf } from "../real-runner.ts";
import { TofuGate } from "./tofu-gate.ts";
import { until } from "./victims.ts";
import { type TestResource, Workspace } from "./workspace.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** What starts a runner from the sources. */
export const RUNNER_COMMAND = [process.execPath, join(ROOT, "src/main/runner.ts")];
const EPOCH = 3;

/** A state file, as far as tests judge it. */
export interface StateFile {
  readonly serial: number;
  readonly lineage: string;
  /** Addresses of the resources in it, sorted. */
  readonly resources: readonly string[];
  /** Of those the ones that are tainted. */
  readonly tainted: readonly string[];
}

/** Real runs on the process platform, without an engine: the test does the engine's part. */
export class LocalRuns {
  readonly scratch: string;
  readonly runsFolder: string;
  readonly workspace: Workspace;
  readonly gate: TofuGate;
  readonly platform: ProcessPlatform;
  readonly #connections: RunnerConnection[] = [];
  readonly #platforms: ProcessPlatform[] = [];
  readonly #clock = createClock();
  #runs = 0;

  constructor() {
    this.scratch = mkdtempSync(join(tmpdir(), "nigari-kill-"));
    this.runsFolder = join(this.scratch, "runs");
    mkdirSync(this.runsFolder, { mode: 0o700 });
    this.workspace = new Workspace(join(this.scratch, "workspace"));
    this.gate = new TofuGate(join(this.scratch, "gate"), pinnedTools().tofu);
    this.platform = this.openPlatform();
  }

  /** A platform as another engine opens it on the same runs. */
  openPlatform(): ProcessPlatform {
    const platform = new ProcessPlatform({
      runsFolder: this.runsFolder,
      runnerCommand: RUNNER_COMMAND,
      runtimeFolder: undefined,
      spareEnv: this.#env,
      clock: this.#clock,
      random: systemRandom,
      log: noLog,
    });
    this.#platforms.push(platform);
    return platform;
  }

  folder(runId: string): RunFolder {
    return runFolder(join(this.runsFolder, runId));
  }

  launchOf(runId: string): RunnerLaunch {
    const object = { namespace: "default", name: "demo", uid: "u-1" };
    return { runId, ...object, epoch: EPOCH, env: this.#env };
  }

  /** A run that is not launched yet; with a plan it is an apply. */
  async prepare(
    resources: readonly TestResource[],
    order: Partial<StartOrder> = {},
    plan?: Uint8Array,
  ): Promise<PreparedRun> {
    return await this.prepareFiles(this.workspace.files(resources), order, plan);
  }

  async prepareFiles(
    files: Record<string, string>,
    order: Partial<StartOrder> = {},
    plan?: Uint8Array,
  ): Promise<PreparedRun> {
    this.#runs += 1;
    const runId = `run-${this.#runs}`;
    const artifact = inputOf("artifact.tar.gz", await archiveOf(files, this.scratch));
    const inputs = [artifact];
    if (plan !== undefined) inputs.push(inputOf("plan.bin", plan));
    const whole: StartOrder = {
      ...bareOrder,
      runId,
      epoch: EPOCH,
      operation: plan === undefined ? "plan" : "apply",
      artifactDigest: artifact.digest,
      planDigest: inputs[1]?.digest,
      backend: `terraform {\n  backend "local" {\n    path = "${this.#state}"\n  }\n}\n`,
      ...order,
    };
    return { launch: this.launchOf(runId), inputs, order: whole };
  }

  connect(runId: string): RunnerConnection {
    const connection = this.platform.connect(runId);
    this.#connections.push(connection);
    return connection;
  }

  /** Launches the run and starts its operation. */
  async begin(run: PreparedRun): Promise<RunnerConnection> {
    const { runId } = run.launch;
    await this.platform.launch(run.launch, within());
    const connection = this.connect(runId);
    await until("the runner answers", async () => {
      return await connection.hello(within(2_000)).then(
        () => true,
        () => false,
      );
    });
    // As an engine does; from now on a runner stands by for the next run.
    await this.fact(runId);
    for (const file of run.inputs) await connection.putFile(file, within());
    await connection.start(run.order, within());
    return connection;
  }

  /** Makes a plan, and hands it over; the run is removed. */
  async plan(
    resources: readonly TestResource[],
    order: Partial<StartOrder> = {},
  ): Promise<{ plan: Uint8Array; outcome: Extract<RunOutcome, { kind: "planned" }> }> {
    const run = await this.prepare(resources, order);
    const { runId } = run.launch;
    const connection = await this.begin(run);
    const outcome = await outcomeOf(connection);
    if (outcome.kind !== "planned") throw new Error(`No plan: ${JSON.stringify(outcome)}`);
    const plan = await this.platform.readFile(runId, "plan.bin", within());
    if (plan === undefined) throw new Error("The plan has no file");
    await connection.release(within());
    await this.dead(runId);
    await this.platform.remove(runId, within());
    return { plan, outcome };
  }

  /** An apply of a fresh plan of these resources, ready to be launched. */
  async prepareApply(resources: readonly TestResource[]): Promise<PreparedRun> {
    const { plan } = await this.plan(resources);
    return await this.prepare(resources, {}, plan);
  }

  fact(runId: string): Promise<PlatformFact> {
    return this.platform.inspect(runId, within());
  }

  /** Waits until nothing of the run lives. */
  async dead(runId: string, limitMs?: number): Promise<PlatformFact> {
    let fact = await this.fact(runId);
    const holds = async () => {
      fact = await this.fact(runId);
      return fact.runner === "gone" && fact.workersAlive === 0;
    };
    await until(`nothing of ${runId} lives`, holds, limitMs);
    return fact;
  }

  /** The state as it is on disk; undefined while there is none. Fails if it is not whole. */
  state(): StateFile | undefined {
    let text: string;
    try {
      text = readFileSync(this.#state, "utf8");
    } catch {
      return undefined;
    }
    // OpenTofu makes the file when it takes the lock, and fills it 20 s later or at its end.
    if (text === "") return undefined;
    const { serial, lineage, resources } = JSON.parse(text);
    const all: { address: string; tainted: boolean }[] = [];
    for (const { type, name, instances } of resources) {
      for (const { status } of instances) {
        all.push({ address: `${type}.${name}`, tainted: status === "tainted" });
      }
    }
    all.sort((a, b) => (a.address < b.address ? -1 : 1));
    return {
      serial,
      lineage,
      resources: all.map((each) => each.address),
      tainted: all.filter((each) => each.tainted).map((each) => each.address),
    };
  }

  /** Ends and removes whatever is left. */
  async close(): Promise<void> {
    for (const platform of this.#platforms) platform.close();
    for (const connection of this.#connections) connection.close();
    for (const runId of await this.platform.list(within())) {
      await this.platform.signal(runId, "terminate", within());
    }
    this.#clock.close();
    for (const folder of [this.scratch, socketFolder(this.runsFolder, undefined)]) {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  get #env(): Record<string, string> {
    const { PATH = "" } = process.env;
    return { PATH, HOME: this.scratch, NIGARI_TOFU: this.gate.program };
  }

  get #state(): string {
    return join(this.scratch, "terraform.tfstate");
  }
}

export function within(ms = 10_000) {
  return { signal: AbortSignal.timeout(ms) };
}

const START = { fromSequence: 1, logOffset: 0 };

export async function eventsOf(connection: RunnerConnection): Promise<RunEvent[]> {
  const found: RunEvent[] = [];
  for await (const event of connection.watch(START, within(120_000))) found.push(event);
  return found;
}

export async function outcomeOf(connection: RunnerConnection): Promise<RunOutcome> {
  const last = (await eventsOf(connection)).at(-1);
  if (last?.type === "outcome") return last.outcome;
  throw new Error(`The run ended with ${JSON.stringify(last)}`);
}

/** Resolves at the first event that `holds`. */
export async function untilEvent(
  connection: RunnerConnection,
  what: string,
  holds: (event: RunEvent) => boolean,
): Promise<void> {
  for await (const event of connection.watch(START, within(60_000))) if (holds(event)) return;
  throw new Error(`The run ended before this: ${what}`);
}
