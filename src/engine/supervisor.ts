import type { ObjectKey } from "../api/kinds.ts";
import type { LivenessVerdict, RunStatus } from "../api/terraform.ts";
import type { RunFact, RunOutcome } from "../domain/facts.ts";
import { hasNotBegun } from "../domain/guards.ts";
import { judge } from "../domain/liveness.ts";
import { timeOf, timeText } from "../domain/time.ts";
import { ArtifactError } from "../ports/artifacts.ts";
import type { Call } from "../ports/call.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import {
  type PlatformFact,
  type RunEvent,
  RunnerError,
  type RunnerPlatform,
} from "../ports/runner.ts";
import type { LiveRun, RunLogs } from "../ports/runs.ts";
import { bounded, messageOf } from "./bounded.ts";
import { converse, type Listener } from "./conversation.ts";
import { type EarlierWait, earlierWait, noEarlierWait } from "./earlier-wait.ts";
import { callMs, prepareMs } from "./limits.ts";
import { LogSink } from "./log-sink.ts";
import { type PreparedRun, StaleIntent } from "./order.ts";
import { artifactFailedOutcome, refusedOutcome, vanishedOutcome } from "./run-outcomes.ts";
import { heard, inFlightOf, type RunView, viewOf } from "./run-view.ts";

/** A runner that has been launched listens after less than this, also on a busy machine. */
const COMES_UP_MS = 5_000;
/** Pause after a look that failed; doubles up to the next. */
const PAUSE_FIRST_MS = 50;
const PAUSE_MAX_MS = 2_000;
/** Steps that begin within this time are told of together. */
const STAGES_TOGETHER_MS = 100;
/** First pause between looks at a runner that comes up; it doubles every ten looks, five times. */
const COMING_UP_MS = 15;
/** So many refusals of one order are its end: the first may be about a file that came broken. */
const REFUSALS_MAX = 3;
/** How often a run is looked at of which only the platform can tell. */
const LOOK_MS = 1_000;

export interface SupervisorPorts {
  /** Of the engine, which may be younger than that of the run: its calls to runners bear it. */
  readonly epoch: number;
  readonly platform: RunnerPlatform;
  readonly clock: Clock;
  readonly logs: RunLogs;
  readonly log: Log;
  /** Environment of every runner. */
  readonly runnerEnv: Readonly<Record<string, string>>;
  /** Makes the order of a run that has not been started. Fails with StaleIntent and port errors. */
  prepare(key: ObjectKey, run: RunStatus, call: Call): Promise<PreparedRun>;
  /** The state that the run wrote to, as it is now; undefined if it cannot be read from here. */
  state(key: ObjectKey, call: Call): Promise<Uint8Array | undefined>;
  /** Brings a state that the run left behind to safety; answers whether a person must look. */
  rescue(key: ObjectKey, run: RunStatus, call: Call): Promise<boolean>;
  /** Nothing new may be started. */
  stopping(): boolean;
  /** Something about the run changed that a pass should see. */
  changed(key: ObjectKey): void;
}

/** What the object says of its run, besides the intent. */
export interface RunBackground {
  /** Resources that an apply is known to change; 0 if that is not known. */
  readonly planned: number;
  readonly uid: string | undefined;
}

/** What came of one look at the run: the next follows after so many ms, or there is none. */
type Round = number | "ended";

/**
 * Follows one run from its stored intent to its outcome, and tells what is known of it at any
 * moment. It is made anew from the intent after a restart, so it first looks what is there: it
 * starts only a run of which neither the platform nor the intent knows a beginning.
 *
 * Nothing it meets ends it: a round that fails is followed by another, after a short pause. It
 * never decides what becomes of the run, and ending it leaves the runner as it is.
 */
export class Supervisor {
  readonly key: ObjectKey;
  readonly run: RunStatus;
  readonly #about: RunBackground;
  readonly #ports: SupervisorPorts;
  readonly #sink: LogSink;
  readonly #ended = new AbortController();
  #view: RunView;
  #platform: PlatformFact;
  #startedAt: string | undefined;
  #launched = false;
  #orderSent = false;
  #launchError: string | undefined;
  #prepared: PreparedRun | undefined;
  #outcome: RunOutcome | undefined;
  #heard = false;
  #lastSignMs: number;
  #stageBeganMs: number;
  /** When the stage began that the status named at first. */
  readonly #storedStageBeganMs: number;
  #earlier: EarlierWait;
  #told = "";
  #tellsSoon = false;
  #failures = 0;
  #comingUpLooks = 0;
  #refusals = 0;
  /** Ends the pause or the talk that goes on, so that the run is looked at again at once. */
  #interruption = new AbortController();

  constructor(key: ObjectKey, run: RunStatus, about: RunBackground, ports: SupervisorPorts) {
    this.#about = about;
    this.key = key;
    this.run = run;
    this.#ports = ports;
    this.#sink = new LogSink(ports, key, run.id);
    this.#view = viewOf(run, 0);
    this.#startedAt = run.startedAt;
    this.#earlier = earlierWait(run, ports.clock.now());
    this.#lastSignMs = ports.clock.monotonic();
    this.#stageBeganMs = this.#lastSignMs - this.#earlier.stageMs;
    this.#storedStageBeganMs = this.#stageBeganMs;
    this.#platform = {
      runner: "unknown",
      proof: undefined,
      workersAlive: undefined,
      goneAt: undefined,
    };
  }

  /** Follows the run until its outcome is known or `detach` is called. Never fails. */
  async follow(): Promise<void> {
    const { signal } = this.#ended;
    await this.#findLogOffset();
    while (!signal.aborted) {
      this.#interruption = new AbortController();
      const round = await this.#safely(signal);
      this.tell();
      if (round === "ended") break;
      const news = AbortSignal.any([signal, this.#interruption.signal]);
      await this.#ports.clock.sleep(round, news);
    }
    await this.#sink.flush();
  }

  /** Stops following; the runner goes on. Resolves once the log lines heard are written. */
  async detach(): Promise<void> {
    this.#ended.abort();
    await this.#sink.flush();
  }

  /** The platform has news of this run: looks at once. */
  async news(): Promise<void> {
    if (this.#outcome !== undefined || this.#ended.signal.aborted) return;
    const before = this.#platform.runner;
    await this.#inspect(this.#ended.signal).catch(() => undefined);
    if (this.#platform.runner !== before) this.#interruption.abort("news");
    this.tell();
  }

  fact(): RunFact {
    const view = this.#view;
    return {
      id: this.run.id,
      runner: this.#platform.runner,
      proof: this.#platform.proof,
      workersAlive: this.#platform.workersAlive,
      workersStage: this.#platform.workersStage,
      onlyLeftovers: this.#platform.onlyLeftovers,
      orderTaken: this.#platform.orderTaken,
      cutOff: this.#platform.cutOff,
      place: this.#platform.place,
      verdict: this.#verdict(),
      silentMs: this.#silentMs(),
      stage: view.stage,
      stageSince: view.stageSince,
      stageMs: this.#ports.clock.monotonic() - this.#stageBeganMs,
      startedAt: this.#startedAt,
      inFlight: this.run.operation === "apply" ? inFlightOf(view) : [],
      outcome: this.#outcome,
      launchError: this.#launchError,
    };
  }

  live(): LiveRun {
    const { resources } = this.#view;
    const done = [...resources.values()].filter((state) => state !== "started").length;
    const planned = this.run.operation === "apply" ? this.#about.planned : 0;
    const total = Math.max(planned, resources.size);
    return {
      runId: this.run.id,
      stage: this.#view.stage,
      verdict: this.#verdict(),
      silentMs: this.#silentMs(),
      progress: resources.size === 0 ? undefined : { done, total },
      inFlight: inFlightOf(this.#view),
    };
  }

  /** Whether it counts against the number of runs: one that does not answer costs nothing. */
  holdsSlot(): boolean {
    if (this.#outcome !== undefined) return false;
    const { runner, workersAlive } = this.#platform;
    return runner === "gone" ? workersAlive !== 0 : this.#verdict() !== "unreachable";
  }

  /** Asks for a pass if something changed; called now and then too, for silence has no event. */
  tell(): void {
    const { silentMs: _silent, stageMs: _spent, ...lasting } = this.fact();
    const { stageSince: _since, inFlight: _flying, ...matters } = lasting;
    const text = JSON.stringify(matters);
    if (text === this.#told) return;
    this.#told = text;
    this.#ports.changed(this.key);
  }

  #verdict(): LivenessVerdict {
    const { runner, workersAlive, cutOff, place } = this.#platform;
    const waits = runner === "starting" && place?.waitsFor !== undefined;
    const evidence = { runner, workersAlive, cutOff, waits, rebooted: false, heard: this.#heard };
    return judge({ ...evidence, silentMs: this.#silentMs() }, this.#ports.clock.lagMs());
  }

  #silentMs(): number {
    const ownMs = Math.max(0, this.#ports.clock.monotonic() - this.#lastSignMs);
    return this.#heard ? ownMs : ownMs + this.#earlier.silentMs(this.#platform);
  }

  #sign(): void {
    this.#heard = true;
    this.#lastSignMs = this.#ports.clock.monotonic();
  }

  async #safely(signal: AbortSignal): Promise<Round> {
    const beganMs = this.#ports.clock.monotonic();
    try {
      return await this.#round(signal);
    } catch (error) {
      if (error instanceof StaleIntent) return this.#giveUp(error.message);
      if (this.#interruption.signal.aborted) return 0;
      if (this.#ports.clock.monotonic() - beganMs > PAUSE_MAX_MS) this.#failures = 0;
      return this.#failed(error);
    }
  }

  /** One look at the run, and what follows from it. */
  async #round(signal: AbortSignal): Promise<Round> {
    if (this.#view.outcome !== undefined) return await this.#finish(this.#view.outcome, signal);
    const { runner, workersAlive } = await this.#inspect(signal);
    this.tell();
    switch (runner) {
      case "unknown":
        // Undefined: the platform cannot tell. 0: it has nothing of this run.
        if (workersAlive === undefined) return LOOK_MS;
        return this.#mayHaveStarted() ? this.#vanished() : await this.#launch(signal);
      case "starting":
        // It does not listen yet; the next look is cheaper than an attempt to speak.
        return this.#comingUp();
      case "running":
        return await this.#talk(signal);
      case "gone":
        // While a worker lives it may still write: it is left to finish.
        return workersAlive === 0 ? await this.#collect(signal) : LOOK_MS;
    }
  }

  #comingUp(): Round {
    const pauseMs = COMING_UP_MS * 2 ** Math.min(this.#comingUpLooks / 10, 5);
    this.#comingUpLooks += 1;
    return pauseMs;
  }

  #mayHaveStarted(): boolean {
    return !hasNotBegun({ orderSent: this.#orderSent, startedAt: this.#startedAt });
  }

  async #inspect(parent: AbortSignal): Promise<PlatformFact> {
    const { clock, platform } = this.#ports;
    const bound = { what: "Inspecting the run", ms: callMs(), parent };
    const fact = await bounded(clock, bound, (call) => platform.inspect(this.run.id, call));
    // Two looks can overtake each other; a runner that is gone does not come back.
    const stale = fact.runner === "starting" || fact.runner === "running";
    if (!(stale && this.#platform.runner === "gone")) this.#platform = fact;
    return this.#platform;
  }

  async #launch(parent: AbortSignal): Promise<Round> {
    if (this.#ports.stopping()) return LOOK_MS;
    const { clock, platform, runnerEnv } = this.#ports;
    const { env, pod } = await this.#prepare(parent);
    const { id: runId, epoch } = this.run;
    const { uid } = this.#about;
    const launch = { runId, epoch, ...this.key, uid, env: { ...runnerEnv, ...env }, pod };
    const bound = { what: "Launching the runner", ms: callMs(), parent };
    await bounded(clock, bound, (call) => platform.launch(launch, call));
    if (!this.#launched) {
      // There was nothing whose silence or slowness could have been waited for.
      this.#earlier = noEarlierWait;
      this.#lastSignMs = clock.monotonic();
      this.#stageBeganMs = this.#lastSignMs;
    }
    this.#launched = true;
    this.#launchError = undefined;
    // It may be up already: a runner that stood by is.
    return 0;
  }

  async #prepare(parent: AbortSignal): Promise<PreparedRun> {
    const { clock } = this.#ports;
    const bound = { what: "Preparing the run", ms: prepareMs(), parent };
    this.#prepared ??= await bounded(clock, bound, (call) =>
      this.#ports.prepare(this.key, this.run, call),
    );
    return this.#prepared;
  }

  /** Speaks with the runner over one connection, which is thrown away at the first trouble. */
  async #talk(ended: AbortSignal): Promise<Round> {
    const { clock, platform } = this.#ports;
    const parent = AbortSignal.any([ended, this.#interruption.signal]);
    const connection = platform.connect(this.run.id, this.#ports.epoch);
    try {
      await converse(connection, this.#listener(parent), clock, parent);
    } finally {
      connection.close();
    }
    return 0;
  }

  #listener(parent: AbortSignal): Listener {
    return {
      runId: this.run.id,
      prepared: () => this.#prepare(parent),
      sign: () => this.#sign(),
      ordering: () => {
        this.#orderSent = true;
      },
      refused: () => {
        this.#refusals += 1;
      },
      started: () => {
        this.#startedAt ??= timeText(this.#ports.clock.now());
        this.#prepared = undefined;
        this.#launchError = undefined;
        this.tell();
      },
      place: () => ({
        fromSequence: this.#view.sequence + 1,
        logOffset: this.#view.logOffset,
      }),
      hear: (event) => {
        this.#hear(event);
        return this.#view.outcome !== undefined;
      },
    };
  }

  #hear(event: RunEvent): void {
    const { logOffset, stage: before } = this.#view;
    if (event.type === "log" && event.offset > logOffset) {
      const at = timeText(this.#ports.clock.now());
      const { stage } = this.#view;
      this.#sink.add({ at, runId: this.run.id, stage, text: event.line });
    }
    this.#view = heard(this.#view, event);
    if (this.#view.stage !== before) this.#stageBeganMs = this.#beginOfStage();
    if (event.type === "stage") this.#tellSoon();
  }

  /** After a restart all stages are told once more, up to the one that the status knew. */
  #beginOfStage(): number {
    const { stage, stageSince } = this.#view;
    const known = stage === this.run.stage && timeOf(stageSince) === timeOf(this.run.stageSince);
    return known ? this.#storedStageBeganMs : this.#ports.clock.monotonic();
  }

  /** Steps that are over in a moment are not worth a write each. */
  #tellSoon(): void {
    if (this.#tellsSoon) return;
    this.#tellsSoon = true;
    const { signal } = this.#ended;
    void this.#ports.clock.sleep(STAGES_TOGETHER_MS, signal).then(() => {
      this.#tellsSoon = false;
      if (!signal.aborted) this.tell();
    });
  }

  /** The runner is dead and nothing of the run lives: what it left tells the outcome. */
  async #collect(parent: AbortSignal): Promise<Round> {
    const { clock, platform } = this.#ports;
    const bound = { what: "Collecting the run", ms: callMs(), parent };
    try {
      const state = this.run.operation === "apply" ? await this.#state(parent) : undefined;
      const outcome = await bounded(clock, bound, (call) =>
        platform.collect(this.run.id, call, state),
      );
      await this.#readRest(parent);
      return await this.#finish(outcome, parent);
    } catch (error) {
      if (error instanceof RunnerError && error.code === "NotFound") return this.#vanished();
      throw error;
    }
  }

  /** Without it more is called unrecorded than need be, and nothing less. */
  async #state(parent: AbortSignal): Promise<Uint8Array | undefined> {
    const { clock, log } = this.#ports;
    const bound = { what: "Reading the state", ms: callMs(), parent };
    try {
      return await bounded(clock, bound, (call) => this.#ports.state(this.key, call));
    } catch (error) {
      const fields = { run: this.run.id, error: messageOf(error) };
      log.warn("The state cannot be read that a lost run wrote to", fields);
      return undefined;
    }
  }

  /** The log lines that the dead runner could not hand over; without them it goes on as well. */
  async #readRest(parent: AbortSignal): Promise<void> {
    const { clock, log, platform } = this.#ports;
    const bound = { what: "Reading the rest of the run's log", ms: callMs(), parent };
    try {
      for (let more = true; more; ) {
        const { logOffset } = this.#view;
        const lines = await bounded(clock, bound, (call) =>
          platform.readLog(this.run.id, logOffset, call),
        );
        for (const line of lines) this.#hear(line);
        more = this.#view.logOffset > logOffset;
      }
    } catch (error) {
      log.debug("The rest of a run's log cannot be read", { error: messageOf(error) });
    }
  }

  /** Brings a state left behind to safety before anybody hears of the outcome. */
  async #finish(outcome: RunOutcome, parent: AbortSignal): Promise<Round> {
    const { clock } = this.#ports;
    if (this.run.operation === "apply") {
      const bound = { what: "Rescuing a state", ms: callMs(), parent };
      const aside = await bounded(clock, bound, (call) =>
        this.#ports.rescue(this.key, this.run, call),
      );
      if ("stateRescued" in outcome) return this.#end({ ...outcome, stateRescued: aside });
    }
    return this.#end(outcome);
  }

  #end(outcome: RunOutcome): Round {
    this.#outcome = outcome;
    this.#prepared = undefined;
    return "ended";
  }

  /** The run was begun, and nothing is left of it: nobody can say how far it came. */
  #vanished(): Round {
    this.#platform = {
      runner: "gone",
      proof: "nothing of the run is left where it ran",
      workersAlive: 0,
      goneAt: timeText(this.#ports.clock.now()),
    };
    return this.#end(vanishedOutcome(this.run, this.#view.stage));
  }

  /** Nothing was started, and nothing will be. */
  #giveUp(message: string): Round {
    return this.#end({ kind: "cancelled", stage: "launch", message });
  }

  #failed(error: unknown): Round {
    if (this.#comesUp(error)) return this.#comingUp();
    const message = messageOf(error);
    this.#ports.log.debug("A look at a run failed", { run: this.run.id, error: message });
    if (this.#startedAt === undefined) this.#launchError = message;
    if (error instanceof ArtifactError && !error.transient) {
      return this.#end(artifactFailedOutcome(message));
    }
    if (this.#refusals >= REFUSALS_MAX && this.#startedAt === undefined) {
      return this.#end(refusedOutcome(message));
    }
    this.#failures += 1;
    return Math.min(PAUSE_FIRST_MS * 2 ** Math.min(this.#failures - 1, 10), PAUSE_MAX_MS);
  }

  /** It was launched a moment ago and does not listen yet: that is no trouble to tell of. */
  #comesUp(error: unknown): boolean {
    const { runner } = this.#platform;
    return (
      (runner === "starting" || runner === "running") &&
      !this.#heard &&
      this.#silentMs() < COMES_UP_MS &&
      error instanceof RunnerError &&
      error.code === "Unavailable"
    );
  }

  /** Lines that were written before a restart are not asked for again. */
  async #findLogOffset(): Promise<void> {
    const { clock, logs } = this.#ports;
    const bound = { what: "Reading the run's log", ms: callMs(), parent: this.#ended.signal };
    try {
      const options = { runId: this.run.id };
      const lines = await bounded(clock, bound, (call) => logs.read(this.key, options, call));
      const bytes = lines.reduce((sum, { text }) => sum + Buffer.byteLength(text) + 1, 0);
      this.#view = viewOf(this.run, bytes);
    } catch (error) {
      this.#ports.log.debug("A run's log cannot be read", { error: messageOf(error) });
    }
  }
}
