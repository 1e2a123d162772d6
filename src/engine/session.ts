import { keyOf, keyText, parseKey } from "../api/kinds.ts";
import type { EngineLoad, HealthCause } from "../ports/engine.ts";
import type { Lead, Rival } from "../ports/leadership.ts";
import { type Gauge, type Meters, noMeters } from "../ports/meters.ts";
import type { LiveRuns } from "../ports/runs.ts";
import { ArtifactFetches, clearArtifacts } from "./artifact-fetches.ts";
import { doorBearing, platformBearing } from "./bearing.ts";
import { bounded, messageOf } from "./bounded.ts";
import { engineGauges } from "./engine-gauges.ts";
import { Events } from "./events.ts";
import { causesOf } from "./health.ts";
import { Janitor } from "./janitor.ts";
import { backoffCapMs } from "./limits.ts";
import { prepareRun } from "./order.ts";
import { sweepOrphans } from "./orphans.ts";
import { countPass, queueMeter } from "./pass-meter.ts";
import type { EngineOptions, EnginePorts } from "./ports.ts";
import { type Priority, WorkQueue } from "./queue.ts";
import { type Next, type ReconcilerPorts, reconcile } from "./reconciler.ts";
import { currentState, rescueState } from "./rescue.ts";
import { Sources } from "./sources.ts";
import { StoreWatch } from "./store-watch.ts";
import { Supervisors } from "./supervisors.ts";
import { Watches } from "./watches.ts";

/** Full jitter below a bound that doubles from the first to the second, in milliseconds. */
const BACKOFF_BASE_MS = 1_000;
/** Pause before a part that ended in spite of everything is begun again. */
const AGAIN_MS = 1_000;

/** One time of leading: from the right to act until its end. All in it bears the same epoch. */
export class Session {
  readonly #ports: EnginePorts;
  readonly #lead: Lead;
  readonly #options: EngineOptions;
  readonly #meters: Meters;
  readonly #storeWatch: StoreWatch;
  readonly #queue: WorkQueue;
  readonly #supervisors: Supervisors;
  readonly #janitor: Janitor;
  readonly #watches: Watches;
  readonly #events: Events;
  readonly #fetches: ArtifactFetches;
  readonly #reconciler: ReconcilerPorts;
  /** Nothing new is started. */
  #stopping = false;
  /** No further pass is begun. */
  readonly #closing = new AbortController();
  /** Everything ends. */
  readonly #over = new AbortController();
  #workers: Promise<unknown> = Promise.resolve();

  constructor(ports: EnginePorts, options: EngineOptions, lead: Lead) {
    const { clock, random, meters = noMeters } = ports;
    this.#storeWatch = new StoreWatch({ clock, meters });
    this.#meters = meters;
    const { epoch } = lead;
    ports = {
      ...ports,
      store: this.#storeWatch.watched(ports.store),
      platform: platformBearing(ports.platform, epoch),
      door: ports.door && doorBearing(ports.door, epoch),
    };
    this.#ports = ports;
    this.#lead = lead;
    this.#options = options;
    const backoff = { backoffBaseMs: BACKOFF_BASE_MS, backoffCapMs: backoffCapMs() };
    this.#queue = new WorkQueue({ clock, random, ...backoff, observer: queueMeter(meters) });
    this.#supervisors = this.#makeSupervisors();
    this.#janitor = new Janitor({ ...ports, epoch: lead.epoch });
    this.#events = new Events(ports, { expire: options.eventsExpire });
    const ask = (key: string) => this.ask(key);
    this.#fetches = new ArtifactFetches({ ...ports, ask }, this.#over.signal);
    this.#watches = new Watches(ports, (key, { priority, afterMs = 0, late = false } = {}) => {
      // What is held back is late all the time, and asked for when that ends.
      if (late && this.#heldBack() !== undefined) return;
      if (afterMs > 0) this.#queue.addAfter(key, afterMs);
      else this.ask(key, priority);
    });
    this.#reconciler = this.#makeReconciler();
  }

  get live(): LiveRuns {
    return this.#supervisors;
  }

  get load(): EngineLoad {
    return this.#supervisors.load();
  }

  /** Why the engine is stuck; empty if it is not. */
  health(): HealthCause[] {
    const { readyMs, runningMs } = this.#queue.ages();
    return causesOf({
      lagMs: this.#ports.clock.lagMs(),
      readyMs,
      passesMs: runningMs,
      workers: this.#options.passWorkers,
      sweptMs: this.#watches.sweptMs(),
      store: this.#storeWatch.trouble(),
      runs: this.#supervisors.underWatch(),
    });
  }

  gauges(): Gauge[] {
    return engineGauges({
      size: this.#queue.size(),
      ages: this.#queue.ages(),
      workers: this.#options.passWorkers,
      load: this.load,
      runs: this.#supervisors.facts(),
      terraforms: this.#watches.terraforms(),
      lagMs: this.#ports.clock.lagMs(),
    });
  }

  ask(key: string, priority: Priority = "normal"): void {
    this.#queue.add(key, priority);
  }

  /** Learns what there is before the first pass, so that no slot is given away twice. */
  async start(signal: AbortSignal): Promise<void> {
    await this.#watches.start(AbortSignal.any([signal, this.#over.signal]));
    if (signal.aborted) return;
    for (const terraform of this.#watches.terraforms()) {
      if (this.#options.isOurs(terraform.metadata.labels)) this.#supervisors.follow(terraform);
    }
    await this.#loadEvents();
    const over = this.#over.signal;
    this.#keep("watches", () => this.#watches.run(over));
    this.#keep("news of runs", () => this.#hearPlatform(over));
    const { rival } = this.#ports;
    if (rival !== undefined) this.#keep("news of another", () => this.#hearRival(rival, over));
    this.#keep("the tick of runs", () => this.#supervisors.tick(over));
    this.#keep("the janitor", () => this.#janitor.work(over));
    this.#keep("the sweep of runs", () =>
      sweepOrphans({ ...this.#ports, janitor: this.#janitor, epoch: this.#lead.epoch }, over),
    );
    this.#keepSources(over);
    const workers = Array.from({ length: this.#options.passWorkers }, () => this.#work());
    this.#workers = Promise.all(workers);
  }

  async drain(signal: AbortSignal): Promise<void> {
    this.#stopping = true;
    const end = AbortSignal.any([signal, this.#over.signal]);
    while (this.#supervisors.count() > 0 && !end.aborted) {
      await this.#ports.clock.sleep(AGAIN_MS, end);
    }
  }

  /**
   * Begins no further pass, and waits for those that go on, for the logs, and until nothing is left
   * of runs that were collected: their runners would wait for the next engine, with their secrets.
   */
  async finish(): Promise<void> {
    this.#stopping = true;
    this.#closing.abort();
    await this.#workers;
    await this.#supervisors.detach();
    await this.#janitor.settle(this.#over.signal);
  }

  /** Ends everything at once: passes are given up, and what they would still write is refused. */
  abandon(): void {
    this.#stopping = true;
    this.#closing.abort();
    this.#over.abort();
    this.#supervisors.detach().catch(() => {});
  }

  async release(): Promise<void> {
    await this.#lead.release();
  }

  async #work(): Promise<void> {
    for (;;) {
      const key = await this.#queue.take(this.#closing.signal);
      if (key === undefined) return;
      const beganMs = this.#ports.clock.monotonic();
      const next = await reconcile(parseKey(key), this.#reconciler, this.#over.signal);
      countPass(this.#meters, parseKey(key), {
        next,
        ms: this.#ports.clock.monotonic() - beganMs,
      });
      this.#again(key, next);
      this.#queue.done(key);
      for (const woken of this.#supervisors.wake()) this.#queue.add(woken);
    }
  }

  #again(key: string, next: Next): void {
    switch (next.after) {
      case "ms":
        this.#queue.forget(key);
        if (next.ms !== undefined) this.#queue.addAfter(key, next.ms);
        return;
      case "conflict":
        this.#queue.add(key);
        return;
      case "failure":
        this.#queue.retry(key);
        return;
      case "gone":
        this.#queue.drop(key);
        this.#events.drop(key);
    }
  }

  #makeSupervisors(): Supervisors {
    const { clock, platform, logs, log, store, artifacts, door } = this.#ports;
    const orders = { store, artifacts, door, options: this.#options };
    const rescuing = { store, platform, door, log };
    return new Supervisors(
      {
        meters: this.#meters,
        platform,
        clock,
        logs,
        log,
        epoch: this.#lead.epoch,
        runnerEnv: this.#options.runnerEnv,
        prepare: (key, run, call) => prepareRun(key, run, orders, call),
        state: (key, call) => currentState(key, rescuing, call),
        rescue: (key, run, call) => rescueState(key, run, rescuing, call),
        stopping: () => this.#stopping || this.#heldBack() !== undefined,
        // A person may be watching: the status is to be true within a second.
        changed: (key) => this.ask(keyText(key), "urgent"),
      },
      this.#options.maxRuns,
    );
  }

  #makeReconciler(): ReconcilerPorts {
    const { store, artifacts, door, random, platform, clock, log, decide } = this.#ports;
    const supervisors = this.#supervisors;
    return {
      decide,
      log,
      gather: {
        store,
        artifacts,
        door,
        random,
        ...(this.#ports.rival === undefined ? {} : { rival: this.#ports.rival }),
        supervisors,
        fetches: this.#fetches,
        options: this.#options,
        epoch: this.#lead.epoch,
        stopping: () => this.#stopping,
      },
      effects: {
        store,
        platform,
        door,
        clock,
        log,
        supervisors,
        janitor: this.#janitor,
        fetches: this.#fetches,
        events: this.#events,
      },
    };
  }

  /** Where no source-controller makes the artifacts. */
  #keepSources(over: AbortSignal): void {
    const { git, keeper, clock, log } = this.#ports;
    if (git === undefined) {
      if (keeper === undefined) return;
      const statuses = async () =>
        [...this.#watches.terraforms()].map(({ status }) => JSON.stringify(status ?? {}));
      this.#keep("old artifacts", () => clearArtifacts({ keeper, clock, log }, statuses, over));
      return;
    }
    const sources = new Sources({ ...this.#ports, git });
    this.#keep("the sources", () => sources.run(over));
  }

  async #loadEvents(): Promise<void> {
    const bound = { what: "Listing events", ms: 10_000, parent: this.#over.signal };
    try {
      await bounded(this.#ports.clock, bound, (call) => this.#events.load(call));
    } catch (error) {
      this.#ports.log.warn("Events cannot be listed", { error: messageOf(error) });
    }
  }

  async #hearPlatform(signal: AbortSignal): Promise<void> {
    for await (const runId of this.#ports.platform.changes({ signal })) {
      this.#supervisors.news(runId).catch(() => {});
    }
  }

  /** Whatever was held back is due now, and what is held back says so. */
  async #hearRival(rival: Rival, signal: AbortSignal): Promise<void> {
    const { log } = this.#ports;
    for await (const _ of rival.changes({ signal })) {
      const heldBack = this.#heldBack();
      if (heldBack === undefined) log.info("Nothing holds back any more");
      else log.warn("Held back: nothing is started", { why: heldBack });
      for (const terraform of this.#watches.terraforms()) this.ask(keyText(keyOf(terraform)));
    }
  }

  #heldBack(): string | undefined {
    return this.#ports.rival?.heldBack();
  }

  /** Runs a part until everything ends; one that fails is begun again. */
  #keep(what: string, part: () => Promise<void>): void {
    const { clock, log } = this.#ports;
    const over = this.#over.signal;
    const loop = async () => {
      while (!over.aborted) {
        try {
          await part();
        } catch (error) {
          if (over.aborted) return;
          log.error("A part of the engine failed", { part: what, error: messageOf(error) });
        }
        await clock.sleep(AGAIN_MS, over);
      }
    };
    loop().catch(() => {});
  }
}
