import { isEpochCurrent } from "../../domain/guards.ts";
import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";
import {
  type InputFile,
  type LogEvent,
  type PlatformFact,
  type RunEvent,
  type RunFile,
  type RunnerConnection,
  RunnerError,
  type RunnerHello,
  type RunnerLaunch,
  type RunnerPlatform,
  type RunSignal,
  type StartOrder,
} from "../../ports/runner.ts";
import { Bell, FakeRun, type FakeWorld, type RunScript, sha256 } from "./fake-run.ts";

/** A method of the platform or of a connection. */
export type FakeMethod = keyof RunnerPlatform | keyof RunnerConnection;

/** What becomes of one call: it fails and does nothing; it is done and not answered; it hangs. */
export type FakeFate = "fail" | "lose-answer" | "hang";

/** A call that got no answer so far. */
export interface HungCall {
  readonly what: string;
  readonly sinceMs: number;
}

export interface FakeRunnerOptions {
  /** Real or virtual. */
  readonly clock: Clock;
  /** How the run of an order is to go. */
  readonly script?: (order: StartOrder) => RunScript;
  /** From launch until the runner answers; 50 ms if left out, Infinity: it never comes up. */
  readonly launchMs?: number;
}

const UNARY_MS = 10_000;
const HEARTBEAT_MS = 2_000;

/**
 * Runners in memory. They behave as real ones do where the engine can see it: workers outlive their
 * runner, a frozen runner keeps its connections, an apply takes effect before it is recorded.
 * Faults: killRunner, killWorkers, freeze, cutOff, vanish, reboot, failNext, loseNextAnswer.
 */
export class FakeRunnerPlatform implements RunnerPlatform {
  /** What runs did, in order, and what their states say. */
  readonly world: FakeWorld = { effects: [], recorded: new Map() };
  /** Every call that came, as `method runId`. */
  readonly calls: string[] = [];
  /** Asked before each call; undefined: nothing goes wrong. */
  onCall: (method: FakeMethod, runId: string) => FakeFate | undefined = () => undefined;
  /** Calls that hang, until the caller gives them up. */
  readonly hung = new Set<HungCall>();
  /** From launch until the runner answers. */
  launchMs: number;
  readonly #options: FakeRunnerOptions;
  readonly #runs = new Map<string, FakeRun>();
  readonly #faults: { method: FakeMethod; error: RunnerError; after: boolean }[] = [];
  readonly #listeners = new Set<(runId: string) => void>();
  /** What it did for an older epoch than it had met: a bug. */
  readonly outdated: string[] = [];
  #boot = 1;
  #newestEpoch = 0;

  constructor(options: FakeRunnerOptions) {
    this.#options = options;
    this.launchMs = options.launchMs ?? 50;
  }

  // --- Faults ---

  /** SIGKILL of the runner; its worker goes on. */
  killRunner(runId: string): void {
    this.#run(runId).endRunner("killed by signal 9");
  }
  /** SIGKILL of tofu; its runner sees it. */
  killWorkers(runId: string): void {
    this.#run(runId).killWorker();
  }
  /** SIGSTOP of the runner: it says nothing, its connections stay, its worker goes on. */
  freeze(runId: string): void {
    this.#run(runId).frozen = true;
  }
  thaw(runId: string): void {
    this.#run(runId).frozen = false;
    this.#run(runId).bell.ring();
  }
  /** The run's machine does not answer: nothing can be known, nothing is heard; it may go on. */
  cutOff(runId: string): void {
    this.#run(runId).cutOff = true;
    this.#run(runId).bell.ring();
  }
  reconnect(runId: string): void {
    this.#run(runId).cutOff = false;
    this.#run(runId).bell.ring();
  }
  /** All of the run is gone, its traces too, and nobody says so. */
  vanish(runId: string): void {
    const run = this.#run(runId);
    this.#runs.delete(runId);
    run.killWorker();
    run.endRunner("vanished");
  }
  /** The machine is started anew: every process is gone, what is on disk stays. */
  reboot(): void {
    this.#boot += 1;
    for (const run of this.#runs.values()) {
      run.killWorker();
      run.endRunner("the machine was started anew");
    }
  }
  /** The next call of this method fails and does nothing. */
  failNext(method: FakeMethod, error: RunnerError): void {
    this.#faults.push({ method, error, after: false });
  }
  /** The next call of this method does its work, and its answer is lost. */
  loseNextAnswer(method: FakeMethod): void {
    const error = new RunnerError("Unavailable", "The answer was lost");
    this.#faults.push({ method, error, after: true });
  }
  /** The run as it is inside; throws if there is none. */
  run(runId: string): FakeRun {
    return this.#run(runId);
  }

  // --- RunnerPlatform ---

  launch(launch: RunnerLaunch, call: Call): Promise<void> {
    return this.#do("launch", launch.runId, call, async () => {
      this.#obey(`launch of ${launch.runId}`, call);
      if (this.#runs.has(launch.runId)) return;
      const news = () => this.#tell(launch.runId);
      const run = new FakeRun(launch, this.#options.clock, this.world, news);
      this.#runs.set(launch.runId, run);
      const ms = this.launchMs;
      if (Number.isFinite(ms)) void this.#later(ms).then(() => run.up());
    });
  }

  inspect(runId: string, call: Call): Promise<PlatformFact> {
    return this.#do("inspect", runId, call, async () => {
      const run = this.#runs.get(runId);
      const unknown = { runner: "unknown", proof: undefined, goneAt: undefined } as const;
      if (run === undefined) return { ...unknown, workersAlive: 0 };
      if (run.cutOff) return { ...unknown, workersAlive: undefined };
      const { runner, proof, goneAt, workersAlive } = run;
      const workersStage = runner === "gone" && workersAlive > 0 ? run.stage : undefined;
      const orderTaken = runner === "gone" ? undefined : run.order !== undefined;
      const { uid } = run.launch;
      return { runner, proof, goneAt, workersAlive, workersStage, orderTaken, uid };
    });
  }

  connect(runId: string, epoch?: number): RunnerConnection {
    return new FakeConnection(this, runId, epoch);
  }

  signal(runId: string, what: RunSignal, call: Call): Promise<void> {
    return this.#do("signal", runId, call, async () => {
      this.#obey(`${what} of ${runId}`, call);
      const run = this.#runs.get(runId);
      if (run === undefined) return;
      await reachable(run, call, this.#options.clock);
      if (what === "interrupt") return run.interruptWorker();
      if (what === "terminate") run.killWorker();
      run.endRunner("killed by signal 9");
    });
  }

  collect(runId: string, call: Call) {
    return this.#do("collect", runId, call, async () => {
      this.#obey(`collection of ${runId}`, call);
      const run = this.#known(runId);
      await reachable(run, call, this.#options.clock);
      if (run.alive) throw stillAlive(runId);
      return run.collected();
    });
  }

  readFile(runId: string, file: RunFile, call: Call): Promise<Uint8Array | undefined> {
    return this.#do("readFile", runId, call, async () => {
      const run = this.#known(runId);
      await reachable(run, call, this.#options.clock);
      return run.files.get(file);
    });
  }

  readLog(runId: string, fromOffset: number, call: Call): Promise<LogEvent[]> {
    return this.#do("readLog", runId, call, async () => {
      const run = this.#known(runId);
      await reachable(run, call, this.#options.clock);
      return run.log.filter((event) => event.offset > fromOffset);
    });
  }

  remove(runId: string, call: Call): Promise<void> {
    return this.#do("remove", runId, call, async () => {
      this.#obey(`removal of ${runId}`, call);
      const run = this.#runs.get(runId);
      if (run === undefined) return;
      await reachable(run, call, this.#options.clock);
      if (run.alive) throw stillAlive(runId);
      this.#runs.delete(runId);
    });
  }

  list(call: Call): Promise<string[]> {
    return this.#do("list", "", call, async () => [...this.#runs.keys()]);
  }

  async *changes(call: Call): AsyncIterable<string> {
    const pending: string[] = [];
    const bell = new Bell();
    const listener = (runId: string) => {
      pending.push(runId);
      bell.ring();
    };
    this.#listeners.add(listener);
    try {
      while (!call.signal.aborted) {
        const runId = pending.shift();
        if (runId === undefined) await bell.next(call.signal);
        else yield runId;
      }
    } finally {
      this.#listeners.delete(listener);
    }
  }

  /** Refuses who leads no longer. */
  #obey(what: string, { epoch }: Call): void {
    if (epoch === undefined) return;
    const newest = this.#newestEpoch;
    if (!isEpochCurrent(epoch, newest)) throw refused(`epoch ${epoch} is over, ${newest} leads`);
    if (epoch < newest) this.outdated.push(`${what}, of epoch ${epoch}`);
    this.#newestEpoch = Math.max(newest, epoch);
  }

  // --- For the connection ---

  get clock(): Clock {
    return this.#options.clock;
  }
  get bootId(): string {
    return `boot-${this.#boot}`;
  }
  scriptOf(order: StartOrder): RunScript {
    return this.#options.script?.(order) ?? {};
  }
  /** One call to the runner: notes it, and fails as a dead, frozen or faulty one would. */
  ask<T>(method: FakeMethod, runId: string, call: Call, answer: (run: FakeRun) => T): Promise<T> {
    return this.#do(method, runId, call, async () => {
      const run = await answering(this.#runs.get(runId), call, this.#options.clock);
      return answer(run);
    });
  }

  async #do<T>(method: FakeMethod, runId: string, call: Call, work: () => Promise<T>): Promise<T> {
    this.calls.push(`${method} ${runId}`.trim());
    if (call.signal.aborted) throw late(call.signal.reason);
    const fate = this.onCall(method, runId);
    if (fate === "hang") return await this.#hang(`${method} ${runId}`, call);
    if (fate === "fail") throw new RunnerError("Unavailable", "The connection broke");
    if (fate === "lose-answer") this.loseNextAnswer(method);
    const index = this.#faults.findIndex((fault) => fault.method === method);
    const fault = index < 0 ? undefined : this.#faults.splice(index, 1)[0];
    if (fault?.after === false) throw fault.error;
    const result = await work();
    if (fault !== undefined) throw fault.error;
    return result;
  }

  async #hang(what: string, call: Call): Promise<never> {
    const hung = { what, sinceMs: this.clock.monotonic() };
    this.hung.add(hung);
    await new Bell().next(call.signal);
    this.hung.delete(hung);
    throw late(call.signal.reason);
  }

  /** The run, if the platform knows it. */
  find(runId: string): FakeRun | undefined {
    return this.#runs.get(runId);
  }
  /** Every run it knows. */
  runs(): FakeRun[] {
    return [...this.#runs.values()];
  }

  #run(runId: string): FakeRun {
    const run = this.#runs.get(runId);
    if (run === undefined) throw new Error(`There is no run ${runId}`);
    return run;
  }

  #known(runId: string): FakeRun {
    const run = this.#runs.get(runId);
    if (run === undefined) throw new RunnerError("NotFound", `Run ${runId} is not known here`);
    return run;
  }

  #tell(runId: string): void {
    for (const listener of this.#listeners) listener(runId);
  }

  #later(ms: number): Promise<void> {
    return this.#options.clock.sleep(ms, new AbortController().signal);
  }
}

class FakeConnection implements RunnerConnection {
  readonly #platform: FakeRunnerPlatform;
  readonly #runId: string;
  readonly #epoch: number | undefined;
  readonly #closed = new AbortController();

  constructor(platform: FakeRunnerPlatform, runId: string, epoch: number | undefined) {
    this.#platform = platform;
    this.#runId = runId;
    this.#epoch = epoch;
  }

  hello(call: Call): Promise<RunnerHello> {
    return this.#ask("hello", call, (run) => ({
      protocolVersion: 1,
      runnerVersion: "fake",
      runId: this.#runId,
      bootId: this.#platform.bootId,
      pid: 4711,
      started: run.order !== undefined,
      finished: run.outcome !== undefined,
    }));
  }

  async putFile(file: InputFile, call: Call): Promise<void> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of file.chunks) chunks.push(chunk);
    const digest = sha256(Buffer.concat(chunks));
    await this.#ask("putFile", call, (run) => {
      if (digest !== file.digest) {
        throw new RunnerError("DataLoss", `${file.name} has digest ${digest}, not ${file.digest}`);
      }
      run.inputs.set(file.name, digest);
    });
  }

  start(order: StartOrder, call: Call): Promise<void> {
    return this.#ask("start", call, (run) => {
      if (order.runId !== this.#runId) throw refused(`it serves run ${this.#runId}`);
      if (order.epoch < run.launch.epoch) throw superseded(order.epoch);
      if (run.order !== undefined) return;
      if (run.inputs.get("artifact.tar.gz") !== order.artifactDigest) {
        throw refused("artifact.tar.gz is missing, or another than the order names");
      }
      if (order.planDigest !== undefined && run.inputs.get("plan.bin") !== order.planDigest) {
        throw refused("plan.bin is missing, or another than the order names");
      }
      void run.serve(order, this.#platform.scriptOf(order));
    });
  }

  async *watch(
    from: { fromSequence: number; logOffset: number },
    call: Call,
  ): AsyncIterable<RunEvent> {
    const run = await this.#ask("watch", call, (found) => found);
    const signal = AbortSignal.any([call.signal, this.#closed.signal]);
    let next = Math.max(1, from.fromSequence);
    let offset = from.logOffset;
    let beatAt = this.#platform.clock.monotonic();
    for (;;) {
      if (signal.aborted) throw late(signal.reason);
      if (run.runner === "gone") throw gone(run);
      const now = this.#platform.clock.monotonic();
      const quiet = run.frozen || run.cutOff;
      const line = quiet ? undefined : run.log.find((each) => each.offset > offset);
      const event = quiet ? undefined : run.events[next - 1];
      if (!quiet && now >= beatAt) {
        beatAt = now + HEARTBEAT_MS;
        yield { type: "heartbeat" };
      } else if (line !== undefined) {
        offset = line.offset;
        yield line;
      } else if (event !== undefined) {
        next += 1;
        yield event;
        if (event.type === "outcome") return;
      } else {
        await this.#wait(run, quiet ? Number.POSITIVE_INFINITY : beatAt - now, signal);
      }
    }
  }

  cancel(graceMs: number, call: Call): Promise<void> {
    return this.#ask("cancel", call, (run) => {
      void run.cancel(graceMs);
    });
  }

  release(call: Call): Promise<void> {
    return this.#ask("release", call, (run) => {
      if (run.order !== undefined && run.outcome === undefined) throw refused("the run goes on");
      run.endRunner("exited with code 0");
    });
  }

  close(): void {
    this.#closed.abort(new RunnerError("Unavailable", "The connection was closed"));
  }

  #ask<T>(method: FakeMethod, call: Call, answer: (run: FakeRun) => T): Promise<T> {
    const signal = AbortSignal.any([call.signal, this.#closed.signal]);
    return this.#platform.ask(method, this.#runId, { signal }, (run) => {
      const epoch = this.#epoch ?? run.epoch;
      if (!isEpochCurrent(epoch, run.epoch)) throw superseded(epoch);
      run.obeys(epoch, method);
      return answer(run);
    });
  }

  async #wait(run: FakeRun, ms: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const both = AbortSignal.any([signal, over.signal]);
    if (Number.isFinite(ms)) {
      void this.#platform.clock.sleep(ms, both).then(() => over.abort("over"));
    }
    await run.bell.next(both);
    over.abort("over");
  }
}

/** The run once its runner answers; fails at once if it is dead, and after 10 s if it is silent. */
async function answering(run: FakeRun | undefined, call: Call, clock: Clock): Promise<FakeRun> {
  if (run === undefined || run.runner === "starting") {
    throw new RunnerError("Unavailable", "No process answers there");
  }
  await waitWhile(() => run.runner !== "gone" && (run.frozen || run.cutOff), run, call, clock);
  if (run.runner === "gone") throw gone(run);
  return run;
}

/** Waits while the run's machine does not answer, 10 s at most. */
function reachable(run: FakeRun, call: Call, clock: Clock): Promise<void> {
  return waitWhile(() => run.cutOff, run, call, clock);
}

async function waitWhile(
  holds: () => boolean,
  run: FakeRun,
  call: Call,
  clock: Clock,
): Promise<void> {
  if (!holds()) return;
  const signal = clock.deadline("The call", UNARY_MS, call.signal);
  while (holds()) {
    if (signal.aborted) throw late(signal.reason);
    await run.bell.next(signal);
  }
}

function late(reason: unknown): RunnerError {
  if (reason instanceof RunnerError) return reason;
  return new RunnerError("DeadlineExceeded", "No answer came in time", { cause: reason });
}

function gone(run: FakeRun): RunnerError {
  return new RunnerError("Unavailable", `The runner of ${run.launch.runId} is gone: ${run.proof}`);
}

function refused(why: string): RunnerError {
  return new RunnerError("Refused", `The runner refused: ${why}`);
}

function stillAlive(runId: string): RunnerError {
  return new RunnerError("StillAlive", `A process of run ${runId} lives`);
}

function superseded(epoch: number): RunnerError {
  return new RunnerError("Superseded", `The runner refused: epoch ${epoch} is over`);
}
