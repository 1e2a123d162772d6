import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { FaultyObjectStore, StoreFaults } from "../../adapters/memory/faults.ts";
import { memoryObjectStore } from "../../adapters/memory/object-store.ts";
import type { GitRepository } from "../../api/core.ts";
import { type AnyObject, type KindName, keyOf, type ObjectOf } from "../../api/kinds.ts";
import type { Terraform } from "../../api/terraform.ts";
import { decide } from "../../domain/decide.ts";
import type { Decision, Observed } from "../../domain/facts.ts";
import { createEngine, type Engine } from "../../engine/engine.ts";
import type { EngineOptions, EnginePorts } from "../../engine/ports.ts";
import { ArtifactError, type ArtifactStore } from "../../ports/artifacts.ts";
import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log, LogFields } from "../../ports/log.ts";
import type { Meters } from "../../ports/meters.ts";
import type { ObjectStore } from "../../ports/object-store.ts";
import type { StartOrder } from "../../ports/runner.ts";
import type { StateDoor } from "../../ports/state.ts";
import { seededRandom, VirtualClock } from "../fakes/clock.ts";
import type { RunScript } from "../fakes/fake-run.ts";
import { FakeLeadership } from "../fakes/leadership.ts";
import { Life, mortal } from "../fakes/mortal.ts";
import { MemoryRunLogs } from "../fakes/run-logs.ts";
import { FakeRunnerPlatform, type HungCall } from "../fakes/runner-platform.ts";
import { FakeStateDoor } from "../fakes/state-door.ts";

export interface WorldOptions {
  readonly seed?: number;
  readonly engine?: Partial<EngineOptions>;
  readonly meters?: Meters;
  /** How runs are to go. */
  readonly script?: (order: StartOrder) => RunScript;
  /** What keeps the states, on the world's store; a fake that notes what it is asked by default. */
  readonly door?: (store: ObjectStore) => StateDoor;
}

/** One engine that was started: it lives until it is killed or stopped. */
export interface LivingEngine {
  readonly engine: Engine;
  readonly life: Life;
}

/**
 * Everything around an engine, in memory and under one clock that stands still: what it stores
 * outlives it, so that an engine can be killed at any call and another started.
 */
export class World {
  readonly clock = new VirtualClock();
  /** What goes wrong with the store for engines; people who look always see what there is. */
  readonly faults = new StoreFaults();
  readonly store: ObjectStore;
  readonly platform: FakeRunnerPlatform;
  readonly door = new FakeStateDoor();
  readonly logs = new MemoryRunLogs();
  readonly leadership = new FakeLeadership();
  /** Lines of the engines' log that tell of a bug. */
  readonly bugs: string[] = [];
  readonly lines: string[] = [];
  /** Grows with every write to the store. */
  writes = 0;
  /** Called before each decision; may throw as a bug would. */
  beforeDecision: (observed: Observed) => void = () => {};
  /** Told of each decision. */
  afterDecision: (observed: Observed, decision: Decision) => void = () => {};
  /** Told of each status of a Terraform that was stored. */
  onStatus: (after: Terraform, before: Terraform | undefined) => void = () => {};
  /** How long one who leads no longer does not know of it, in milliseconds. */
  lostNoticeMs = 0;
  /** Told of each write of an engine that has heard that it leads no longer. */
  onLateWrite: (call: string) => void = () => {};
  /** Told of each deadline that an engine sets. */
  onDeadline: (what: string, ms: number) => void = () => {};
  /** How artifacts come; may fail, or never end. */
  artifactFate: () => "fail" | "hang" | undefined = () => undefined;
  /** Fetches of artifacts that hang, until the engine gives them up. */
  readonly hungArtifacts = new Set<HungCall>();
  readonly #options: WorldOptions;
  readonly #random;
  readonly #faulty: ObjectStore;
  readonly #artifacts = new Map<string, Uint8Array>();
  /** Ends the right to lead of every engine that was ever begun, whether or not it is awake. */
  readonly #over = new AbortController();

  constructor(options: WorldOptions = {}) {
    this.#options = options;
    this.#random = seededRandom(options.seed ?? 1);
    const { clock, faults } = this;
    this.store = this.#counted(memoryObjectStore({ clock, random: this.#random }));
    this.#faulty = new FaultyObjectStore(this.#told(this.store), faults, clock);
    this.platform = new FakeRunnerPlatform({
      clock,
      ...(options.script === undefined ? {} : { script: options.script }),
    });
  }

  /** Starts an engine on what there is. */
  async start(options: { life?: Life } = {}): Promise<LivingEngine> {
    const living = this.begin(options);
    await this.clock.advance(0);
    return living;
  }

  /** The same, without waiting for anything. */
  begin(options: { life?: Life } = {}): LivingEngine {
    const life = options.life ?? new Life();
    const engine = createEngine(this.#portsFor(life), {
      digestKey: Buffer.from("a key for tests"),
      ...this.#options.engine,
    });
    // An engine that is killed while it starts never says that it has.
    engine.start(new AbortController().signal).catch((error: unknown) => {
      if (!life.dead) this.bugs.push(`start: ${String(error)}`);
    });
    return { engine, life };
  }

  /**
   * Nothing happens here any more. Node keeps a signal that was made of others, and all that
   * listens to it, until one of them fires: a world that is merely left stays in memory.
   */
  async end(): Promise<void> {
    this.#over.abort("the world is over");
    await this.clock.advance(0);
  }

  /** Stores an object, or its spec and metadata if it is there already. */
  async apply<T extends AnyObject>(object: T): Promise<ObjectOf<T["kind"]>> {
    const call = this.call();
    const stored = await this.store.get({ kind: object.kind, ...keyOf(object) }, call);
    if (stored === undefined) return await this.store.create(object, call);
    const metadata = { ...stored.metadata, ...object.metadata };
    const { uid = "", resourceVersion = "" } = stored.metadata;
    const next = { ...object, metadata: { ...metadata, uid, resourceVersion } };
    return await this.store.update(next as T, "main", call);
  }

  async get<K extends KindName>(kind: K, name: string): Promise<ObjectOf<K> | undefined> {
    return await this.store.get({ kind, namespace: "default", name }, this.call());
  }

  /** The object, which must exist. */
  async terraform(name = "app"): Promise<Terraform> {
    const found = await this.get("Terraform", name);
    if (found === undefined) throw new Error(`There is no Terraform ${name}`);
    return found;
  }

  /** A person changes the object. */
  async edit(name: string, change: (terraform: Terraform) => void): Promise<void> {
    const terraform = structuredClone(await this.terraform(name));
    change(terraform);
    await this.store.update(terraform, "main", this.call());
  }

  async remove(kind: KindName, name: string): Promise<void> {
    await this.store.delete({ kind, namespace: "default", name }, {}, this.call());
  }

  /** A source with an artifact, as if source-controller had made it. */
  async source(name = "code", content = "v1"): Promise<void> {
    const bytes = new TextEncoder().encode(content);
    const hex = createHash("sha256").update(bytes).digest("hex");
    this.#artifacts.set(`sha256:${hex}`, bytes);
    const stored = await this.apply<GitRepository>({
      apiVersion: "source.toolkit.fluxcd.io/v1",
      kind: "GitRepository",
      metadata: { name, namespace: "default" },
      spec: { url: "file:///repository", interval: "1m" },
    });
    const artifact = {
      url: `file:///${hex}`,
      revision: `main@sha1:${hex.slice(0, 40)}`,
      digest: `sha256:${hex}`,
      size: bytes.length,
    };
    const status = { observedGeneration: 1, artifact };
    await this.store.update({ ...stored, status }, "status", this.call());
  }

  /** Somebody puts another file in the place of an object's saved plan, if it has one. */
  swapPlan(name: string): void {
    const swap = async () => {
      const { items } = await this.store.list("Secret", {}, this.call());
      const plan = items.find(({ metadata }) => metadata.name === `tfplan-default-${name}`);
      if (plan === undefined) return;
      const content = "the plan of somebody else";
      const tfplan = gzipSync(content).toString("base64");
      const hash = createHash("sha256").update(content).digest("hex");
      const annotations = {
        ...plan.metadata.annotations,
        "infra.contrib.fluxcd.io/plan-hash": hash,
      };
      const metadata = { ...plan.metadata, annotations };
      const swapped = { ...plan, metadata, data: { ...plan.data, tfplan } };
      await this.store.update(swapped, "main", this.call());
    };
    // Whoever is faster is in the right.
    swap().catch(() => {});
  }

  /** What was put into an artifact, by its digest with or without the algorithm. */
  contents(digest: string): string {
    const bytes = this.#artifacts.get(`sha256:${digest.replace("sha256:", "")}`);
    return new TextDecoder().decode(bytes);
  }

  /** Lets time pass until something holds; fails with what it waited for if it does not in time. */
  async until(what: string, holds: () => Promise<boolean> | boolean, limitMs = 120_000) {
    const endMs = this.clock.monotonic() + limitMs;
    while (!(await holds())) {
      if (this.clock.monotonic() >= endMs) {
        const text = await this.#describe();
        throw new Error(`Waited ${limitMs} ms in vain until ${what}\n${text}`);
      }
      await this.clock.advance(50);
    }
  }

  /** Lets time pass until the object is Ready as its spec stands. */
  async untilReady(name = "app", limitMs = 120_000): Promise<Terraform> {
    await this.until(`${name} is ready`, async () => isReady(await this.terraform(name)), limitMs);
    return await this.terraform(name);
  }

  /** Lets time pass until the object's run is in this stage; answers with its id. */
  async untilStage(stage: string, name = "app"): Promise<string> {
    let runId = "";
    await this.until(`${name} is in ${stage}`, async () => {
      const { run } = (await this.terraform(name)).status ?? {};
      runId = run?.id ?? "";
      return run?.stage === stage;
    });
    return runId;
  }

  /** How often each resource of each object was created or deleted. */
  effects(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { object, resource, action } of this.platform.world.effects) {
      const effect = `${action} ${object} ${resource}`;
      counts[effect] = (counts[effect] ?? 0) + 1;
    }
    return counts;
  }

  call() {
    return { signal: new AbortController().signal };
  }

  #portsFor(life: Life): EnginePorts {
    const { clock } = this;
    const leadership = this.leadership;
    return {
      store: mortal("store", this.#faulty, life),
      platform: mortal("platform", this.platform, life),
      artifacts: mortal("artifacts", this.#artifactStore(), life),
      git: undefined,
      door: mortal("door", this.#options.door?.(this.store) ?? this.door, life),
      logs: mortal("logs", this.logs, life),
      leadership: {
        acquire: async () => {
          const lead = await leadership.acquire();
          const lost = heard(this.#noticed(lead.lost), life);
          lost.addEventListener("abort", () => {
            life.deposed = true;
          });
          return { ...lead, lost: AbortSignal.any([lost, this.#over.signal]) };
        },
      },
      clock: mortalClock(clock, life, (what, ms) => this.onDeadline(what, ms)),
      random: this.#random,
      log: this.#log(life),
      ...(this.#options.meters === undefined ? {} : { meters: this.#options.meters }),
      decide: (observed, nowMs) => {
        this.beforeDecision(observed);
        const decision = decide(observed, nowMs);
        this.afterDecision(observed, decision);
        return decision;
      },
    };
  }

  /** The end of leading, as one hears of it who has to look for it. */
  #noticed(lost: AbortSignal): AbortSignal {
    const own = new AbortController();
    const hear = () => {
      if (this.lostNoticeMs === 0) return own.abort("leadership lost");
      const never = new AbortController().signal;
      this.clock.sleep(this.lostNoticeMs, never).then(
        () => own.abort("leadership lost"),
        () => {},
      );
    };
    lost.addEventListener("abort", hear, { once: true });
    return own.signal;
  }

  /** The store, with its writes counted. */
  #counted(store: ObjectStore): ObjectStore {
    const counting = <T>(write: Promise<T>): Promise<T> => {
      this.writes += 1;
      return write.finally(() => {
        this.writes += 1;
      });
    };
    return {
      get: (ref, call) => store.get(ref, call),
      list: (kind, where, call) => store.list(kind, where, call),
      watch: (kind, from, call) => store.watch(kind, from, call),
      create: (object, call) => counting(store.create(object, call)),
      update: (object, part, call) => counting(store.update(object, part, call)),
      delete: (ref, preconditions, call) => counting(store.delete(ref, preconditions, call)),
    };
  }

  /** The store, with every stored status told on. */
  #told(store: ObjectStore): ObjectStore {
    const tell = (after: AnyObject, before: AnyObject | undefined) => {
      if (after.kind !== "Terraform") return;
      this.onStatus(after, before?.kind === "Terraform" ? before : undefined);
    };
    return {
      get: (ref, call) => store.get(ref, call),
      list: (kind, where, call) => store.list(kind, where, call),
      watch: (kind, from, call) => store.watch(kind, from, call),
      create: (object, call) => store.create(object, call),
      delete: (ref, preconditions, call) => store.delete(ref, preconditions, call),
      async update(object, part, call) {
        if (object.kind !== "Terraform" || part !== "status") {
          return await store.update(object, part, call);
        }
        const before = await store.get({ kind: object.kind, ...keyOf(object) }, call);
        const after = await store.update(object, part, call);
        tell(after, before);
        return after;
      },
    };
  }

  #artifactStore(): ArtifactStore {
    const artifacts = this.#artifacts;
    const before = async (call: Call) => {
      const fate = this.artifactFate();
      if (fate === "fail") throw new ArtifactError("The source answers 503", true);
      if (fate === "hang") await this.#hang("open artifact", call);
    };
    return {
      async open({ digest }, call) {
        await before(call);
        const bytes = artifacts.get(digest);
        if (bytes === undefined) throw new ArtifactError(`No artifact ${digest} is kept`, false);
        return {
          digest: digest.slice("sha256:".length),
          sizeBytes: bytes.length,
          async *chunks() {
            yield bytes;
          },
        };
      },
    };
  }

  async #hang(what: string, call: Call): Promise<never> {
    const hung = { what, sinceMs: this.clock.monotonic() };
    this.hungArtifacts.add(hung);
    await new Promise<void>((resolve) => {
      if (call.signal.aborted) resolve();
      else call.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    this.hungArtifacts.delete(hung);
    throw call.signal.reason;
  }

  #log(life: Life): Log {
    const write = (level: string) => (message: string, fields?: LogFields) => {
      if (life.dead) return;
      const line = `${this.clock.monotonic()} ${level} ${message} ${JSON.stringify(fields ?? {})}`;
      this.lines.push(line);
      if (level === "error") this.bugs.push(line);
    };
    return {
      info: write("info"),
      warn: write("warn"),
      error: write("error"),
      debug: write("debug"),
    };
  }

  async #describe(): Promise<string> {
    const { items } = await this.store.list("Terraform", {}, this.call());
    const statuses = items.map((each) => JSON.stringify({ [each.metadata.name]: each.status }));
    return [...statuses, ...this.lines.slice(-30)].join("\n");
  }
}

/** The clock of an engine that can be stopped and killed: it hears of no time meanwhile. */
function mortalClock(
  clock: VirtualClock,
  life: Life,
  told: (what: string, ms: number) => void,
): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    lagMs: () => clock.lagMs(),
    deadline(what, ms, parent) {
      told(what, ms);
      return heard(clock.deadline(what, ms, parent), life);
    },
    async sleep(ms, signal) {
      await clock.sleep(ms, signal);
      if (life.dead || life.paused) await life.awake();
    },
  };
}

/** The signal as an engine hears it that may be stopped when it fires. */
function heard(signal: AbortSignal, life: Life): AbortSignal {
  if (!life.mayPause) return signal;
  const own = new AbortController();
  const fire = () => {
    life.awake().then(
      () => own.abort(signal.reason),
      () => {},
    );
  };
  const hear = () => (life.paused ? fire() : own.abort(signal.reason));
  if (signal.aborted) hear();
  else signal.addEventListener("abort", hear, { once: true });
  return own.signal;
}

export function isReady(terraform: Terraform): boolean {
  const { metadata, status } = terraform;
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const current = status?.observedGeneration === metadata.generation;
  return current && ready?.status === "True" && status?.run === undefined;
}
