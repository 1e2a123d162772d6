import { createHash } from "node:crypto";
import type { Stage } from "../../api/terraform.ts";
import type { HealthFact, Inventory, RunOutcome } from "../../domain/facts.ts";
import type { Clock } from "../../ports/clock.ts";
import type { RunEvent, RunFile, RunnerLaunch, StartOrder } from "../../ports/runner.ts";

/** How a run is to go. What is left out goes well and in its default time. */
export interface RunScript {
  /** Time of each stage; 100 ms where nothing is said. An apply divides it among its resources. */
  readonly stageMs?: Partial<Record<Stage, number>>;
  /** All resources of the configuration; one, if left out. */
  readonly resources?: readonly string[];
  /** The stage that fails, and what is special about the failure. */
  readonly fail?: { readonly stage: Stage } & Partial<Extract<RunOutcome, { kind: "failed" }>>;
  /** Outputs that are read where the order wants them. */
  readonly outputs?: readonly { readonly name: string; readonly sensitive: boolean }[];
  /** What the health checks say, where the order has any; all well, if left out. */
  readonly health?: readonly HealthFact[];
  /** Result files besides those every run makes. */
  readonly files?: Partial<Record<RunFile, string>>;
  /** Workers go on after an interrupt. */
  readonly ignoresInterrupt?: boolean;
}

/** What a run did to the world outside of any state. */
export interface FakeEffect {
  readonly runId: string;
  /** `namespace/name` of the object. */
  readonly object: string;
  readonly resource: string;
  readonly action: "create" | "delete";
}

/** What all runs of a fake platform share: the resources there are, and those in the states. */
export interface FakeWorld {
  readonly effects: FakeEffect[];
  /** Recorded resources by `namespace/name`. */
  readonly recorded: Map<string, Set<string>>;
  /** Told when a run enters a stage, and of "collect" once it has its outcome, unheard as yet. */
  onStage?: (run: FakeRun, stage: Stage) => void;
}

/** Wakes all who wait, each time it rings. */
export class Bell {
  #waiting = new Set<() => void>();
  ring(): void {
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) wake();
  }
  /** Resolves at the next ring, or when the signal fires. */
  next(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        signal.removeEventListener("abort", wake);
        this.#waiting.delete(wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }
}

/** The processes of one stage: they live without their runner, as tofu does. */
interface Worker {
  readonly stage: Stage;
  readonly life: AbortController;
  interrupted: boolean;
  /** SIGSTOP, or a step that never ends. */
  stopped: boolean;
  /** It ends with exit code 1 at its next step, as after trouble outside. */
  failing: boolean;
  inFlight: string | undefined;
  /** Set when it has ended: its exit code, or "killed". */
  end: number | "killed" | undefined;
}

const DEFAULT_MS = 100;
const REASONS: Partial<Record<Stage, string>> = {
  artifact: "ArtifactFailed",
  init: "TFExecInitFailed",
  workspace: "SelectWorkspaceFailed",
  plan: "TFExecPlanFailed",
  show: "TFExecPlanFailed",
  apply: "TFExecApplyFailed",
  outputs: "TFExecOutputFailed",
  health: "HealthChecksFailed",
};

/** One run: a runner that does one stage after the other, and the worker of the present stage. */
export class FakeRun {
  readonly launch: RunnerLaunch;
  readonly bell = new Bell();
  readonly events: RunEvent[] = [];
  readonly log: Extract<RunEvent, { type: "log" }>[] = [];
  readonly inputs = new Map<string, string>();
  readonly files = new Map<RunFile, Uint8Array>();
  runner: "starting" | "running" | "gone" = "starting";
  frozen = false;
  /** The machine it is on does not answer. */
  cutOff = false;
  /** The newest epoch it was spoken to from. */
  epoch: number;
  /** Commands that it took from an older epoch than it had met: a bug. */
  readonly outdated: string[] = [];
  /** How often it was asked to stop. */
  interrupts = 0;
  /** When the present step began, on the clock that never jumps. */
  stageSinceMs = 0;
  /** It comes up and never answers. */
  mute = false;
  /** It does not end a step that overruns. */
  ignoresLimits = false;
  proof: string | undefined;
  goneAt: string | undefined;
  order: StartOrder | undefined;
  outcome: RunOutcome | undefined;
  worker: Worker | undefined;
  readonly #clock: Clock;
  readonly #world: FakeWorld;
  readonly #news: () => void;
  #cancelled = false;

  constructor(launch: RunnerLaunch, clock: Clock, world: FakeWorld, news: () => void) {
    this.launch = launch;
    this.epoch = launch.epoch;
    this.#clock = clock;
    this.#world = world;
    this.#news = news;
  }

  get workersAlive(): number {
    return this.worker !== undefined && this.worker.end === undefined ? 1 : 0;
  }
  get alive(): boolean {
    return this.runner !== "gone" || this.workersAlive > 0;
  }
  get stage(): Stage {
    const begun = this.events.findLast((event) => event.type === "stage");
    return begun?.stage ?? "launch";
  }

  up(): void {
    if (this.runner !== "starting" || this.mute) return;
    this.runner = "running";
    this.#news();
    this.bell.ring();
  }

  endRunner(proof: string): void {
    if (this.runner === "gone") return;
    this.runner = "gone";
    this.proof = proof;
    this.goneAt = new Date(this.#clock.now()).toISOString();
    this.#news();
    this.bell.ring();
  }

  killWorker(): void {
    const worker = this.worker;
    if (worker === undefined || worker.end !== undefined) return;
    worker.end = "killed";
    worker.life.abort("ended");
    this.#workerEnded();
  }

  /** SIGSTOP of tofu: it does nothing until it is let go on, and its runner is well. */
  stopWorker(): void {
    if (this.worker !== undefined) this.worker.stopped = true;
  }
  resumeWorker(): void {
    if (this.worker !== undefined) this.worker.stopped = false;
    this.bell.ring();
  }
  /** The step under way will end with exit code 1. */
  failWorker(): void {
    if (this.worker !== undefined) this.worker.failing = true;
  }

  /** Takes a command of an engine of this epoch. */
  obeys(epoch: number, command: string): void {
    if (epoch < this.epoch) this.outdated.push(`${command} of epoch ${epoch}`);
    this.epoch = Math.max(this.epoch, epoch);
  }

  interruptWorker(): void {
    this.interrupts += 1;
    if (this.worker !== undefined) this.worker.interrupted = true;
    this.bell.ring();
  }

  async cancel(graceMs: number): Promise<void> {
    if (this.#cancelled || this.outcome !== undefined) return;
    this.#cancelled = true;
    this.interruptWorker();
    const { worker } = this;
    if (worker === undefined) return;
    await this.#clock.sleep(graceMs, worker.life.signal);
    if (this.worker === worker && this.runner === "running") this.killWorker();
  }

  /** The runner's own course, until its outcome or its death. */
  async serve(order: StartOrder, script: RunScript): Promise<void> {
    this.order = order;
    for (const stage of this.#stages(order, script)) {
      if (!(await this.#awake())) return;
      if (this.#cancelled) break;
      const at = new Date(this.#clock.now()).toISOString();
      this.#say((sequence) => ({ type: "stage", sequence, stage, at }));
      const worker = this.#startWorker(stage, script);
      await this.#workerEnd(worker, order.stageLimitMs[stage]);
      if (!(await this.#awake())) return;
      if (worker.end !== 0) {
        // Killed in the middle of something: a failure that names it, whoever asked for the end.
        const open = worker.end === "killed" && worker.inFlight !== undefined;
        if (!this.#cancelled || open) return this.#finish(this.#failure(worker, script));
        break;
      }
    }
    const message = "Ended at the engine's request";
    const { stage } = this;
    if (this.#cancelled) return this.#finish({ kind: "cancelled", stage, message });
    this.#finish(this.#success(order, script));
  }

  /** What is left of a dead run, as the platform finds it on disk. */
  collected(): RunOutcome {
    if (this.outcome !== undefined) return this.outcome;
    const { worker } = this;
    return {
      kind: "orphaned",
      stage: this.stage,
      exitCode: typeof worker?.end === "number" ? worker.end : undefined,
      unrecorded: worker?.inFlight === undefined ? [] : [worker.inFlight],
      stateRescued: this.files.has("errored.tfstate"),
    };
  }

  *#stages(order: StartOrder, script: RunScript): Iterable<Stage> {
    yield* ["artifact", "init", "workspace"] as const;
    if (order.operation === "apply") yield "apply";
    else yield* ["plan", "show"] as const;
    const nothingToDo = order.operation === "plan" && this.#pending(script).length === 0;
    const looks = order.operation === "apply" || nothingToDo;
    if (order.outputs && looks) yield "outputs";
    if (order.healthChecks.length > 0 && looks) yield "health";
  }

  /** Waits while the runner is frozen; false if it is dead. */
  async #awake(): Promise<boolean> {
    while (this.frozen && this.runner !== "gone")
      await this.bell.next(new AbortController().signal);
    return this.runner !== "gone";
  }

  #say(make: (sequence: number) => RunEvent): void {
    this.events.push(make(this.events.length + 1));
    this.bell.ring();
  }

  #print(line: string): void {
    const offset = (this.log.at(-1)?.offset ?? 0) + line.length + 1;
    this.log.push({ type: "log", offset, line });
    this.bell.ring();
  }

  #finish(outcome: RunOutcome): void {
    this.outcome = outcome;
    this.#world.onStage?.(this, "collect");
    this.#say((sequence) => ({ type: "outcome", sequence, outcome }));
  }

  #workerEnded(): void {
    if (this.runner === "gone") this.#news();
    this.bell.ring();
  }

  async #workerEnd(worker: Worker, limitMs: number | undefined): Promise<void> {
    const limit = new AbortController();
    if (limitMs !== undefined) {
      void this.#clock.sleep(limitMs, worker.life.signal).then(() => limit.abort("over"));
    }
    while (worker.end === undefined && this.runner !== "gone") {
      const over = limit.signal.aborted;
      if (over && !this.frozen && !this.ignoresLimits) this.killWorker();
      else await this.bell.next(over ? new AbortController().signal : limit.signal);
    }
  }

  #startWorker(stage: Stage, script: RunScript): Worker {
    const life = new AbortController();
    const worker: Worker = {
      stage,
      life,
      interrupted: false,
      stopped: false,
      failing: false,
      inFlight: undefined,
      end: undefined,
    };
    this.worker = worker;
    this.stageSinceMs = this.#clock.monotonic();
    this.#print(`${stage} begins`);
    this.#world.onStage?.(this, stage);
    void this.#work(worker, script).then((code) => {
      if (worker.end !== undefined) return;
      worker.end = code;
      worker.life.abort("ended");
      this.#workerEnded();
    });
    return worker;
  }

  async #work(worker: Worker, script: RunScript): Promise<number> {
    const ms = script.stageMs?.[worker.stage] ?? DEFAULT_MS;
    if (worker.stage === "apply") await this.#apply(worker, script, ms);
    else await this.#pass(worker, script, ms);
    while (worker.stopped && worker.end === undefined) await this.bell.next(worker.life.signal);
    const stopped = worker.interrupted && script.ignoresInterrupt !== true;
    if (stopped || worker.failing) return 1;
    if (script.fail?.stage === worker.stage) {
      this.#keepFiles(script);
      return script.fail.exitCode ?? 1;
    }
    if (worker.stage === "plan") this.files.set("plan.bin", bytes(`plan of ${this.launch.runId}`));
    this.#keepFiles(script);
    return 0;
  }

  /** Time passes for the worker; an interrupt ends it at once. */
  async #pass(worker: Worker, script: RunScript, ms: number): Promise<void> {
    const over = new AbortController();
    void this.#clock.sleep(ms, worker.life.signal).then(() => over.abort("over"));
    while (!over.signal.aborted) {
      if (worker.interrupted && script.ignoresInterrupt !== true) return;
      await this.bell.next(over.signal);
    }
  }

  /** Each resource takes effect, takes its time, and is recorded; an interrupt ends it between. */
  async #apply(worker: Worker, script: RunScript, ms: number): Promise<void> {
    const pending = this.#pending(script);
    const recorded = this.#recorded();
    const { runId } = this.launch;
    for (const resource of pending) {
      while (worker.stopped && worker.end === undefined) await this.bell.next(worker.life.signal);
      if (worker.end !== undefined || worker.failing) return;
      if (worker.interrupted && script.ignoresInterrupt !== true) return;
      const action = recorded.has(resource) ? "delete" : "create";
      worker.inFlight = resource;
      this.#progress(resource, action, "started");
      this.#world.effects.push({ runId, object: this.#object(), resource, action });
      await this.#clock.sleep(ms / pending.length, worker.life.signal);
      if (worker.end !== undefined) return;
      if (action === "create") recorded.add(resource);
      else recorded.delete(resource);
      worker.inFlight = undefined;
      this.#progress(resource, action, "done");
    }
  }

  /** The runner tells it, if it is there to read it; the journal of a frozen one comes later. */
  #progress(resource: string, action: string, state: "started" | "done"): void {
    if (this.runner === "gone" || this.frozen) return;
    this.#say((sequence) => ({ type: "progress", sequence, resource, action, state }));
  }

  #object(): string {
    return `${this.launch.namespace}/${this.launch.name}`;
  }

  #recorded(): Set<string> {
    const found = this.#world.recorded.get(this.#object()) ?? new Set();
    this.#world.recorded.set(this.#object(), found);
    return found;
  }

  #pending(script: RunScript): string[] {
    const recorded = this.#recorded();
    if (this.order?.destroy === true) return [...recorded];
    const wanted = script.resources ?? ["terraform_data.one"];
    const surplus = [...recorded].filter((resource) => !wanted.includes(resource));
    return [...surplus, ...wanted.filter((resource) => !recorded.has(resource))];
  }

  #inventory(): Inventory {
    const entries = [...this.#recorded()].sort().map((address) => {
      const [t = "", n = ""] = address.split(".");
      return { n, t, id: address };
    });
    return { entries, more: 0 };
  }

  #keepFiles(script: RunScript): void {
    for (const [name, text] of Object.entries(script.files ?? {})) {
      this.files.set(name as RunFile, bytes(text));
    }
  }

  #failure(worker: Worker, script: RunScript): RunOutcome {
    const { stage } = worker;
    const killed = worker.end === "killed";
    return {
      kind: "failed",
      stage,
      reason: REASONS[stage] ?? "TFExecNewFailed",
      message: killed ? `The process of ${stage} was killed by signal 9` : `${stage} failed`,
      exitCode: killed ? undefined : (worker.end as number),
      lock: undefined,
      planStale: false,
      stateRescued: this.files.has("errored.tfstate"),
      unrecorded: worker.inFlight === undefined ? [] : [worker.inFlight],
      ...(script.fail?.stage === stage ? script.fail : {}),
    };
  }

  #success(order: StartOrder, script: RunScript): RunOutcome {
    const outputs = order.outputs ? (script.outputs ?? []) : undefined;
    if (outputs !== undefined && !this.files.has("outputs.json")) {
      this.files.set("outputs.json", bytes("{}"));
    }
    const inventory = order.inventory ? { inventory: this.#inventory() } : {};
    const health = healthOf(order, script);
    if (order.operation === "apply") return { kind: "applied", outputs, ...health, ...inventory };
    const recorded = this.#recorded();
    const all = this.#pending(script);
    const pending = all.length;
    const surplus = all.filter((resource) => recorded.has(resource)).length;
    const changes = pending > 0;
    return {
      ...(changes ? {} : health),
      ...inventory,
      kind: "planned",
      changes,
      summary: {
        add: pending - surplus,
        change: 0,
        destroy: surplus,
        import: 0,
      },
      planDigest: sha256(this.files.get("plan.bin") ?? bytes("")),
      nothingToDestroy: order.destroy && !changes,
      outputs: changes ? undefined : outputs,
    };
  }
}

function healthOf(order: StartOrder, script: RunScript): { health?: readonly HealthFact[] } {
  if (order.healthChecks.length === 0) return {};
  const well = order.healthChecks.map(({ name }) => ({ name, trouble: undefined }));
  return { health: script.health ?? well };
}

export function sha256(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
