import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { type DetachedProcess, killProcess, startDetached } from "../../processes/group.ts";
import { isDead, statOf } from "../../processes/identity.ts";
import { writeDurably } from "../../protocol/durable.ts";
import {
  handOverLine,
  SPARE_LOG,
  STANDBY,
  STANDING_BY,
  startsAlike,
} from "../../protocol/hand-over.ts";
import type { RunRecord } from "./record.ts";

export interface SpareOptions {
  /** Program and arguments that start a runner. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where the runs have their folders. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** A run that has just got its runner is given its order first, and is not disturbed by a start. */
const START_AFTER_MS = 100;
/** One that is not up by then hangs, and is ended. */
const UP_MS = 60_000;
/** How long it may take to claim the run that it was given: some ms, if all is well. */
const CLAIM_MS = 2_000;
/** And how long to listen then: who greets it before that has to try again. */
const LISTEN_MS = 100;
const LOOK_MS = 2;
/** What has not ended by then hangs in the kernel. */
const KILL_MS = 2_000;

/**
 * One runner that is started ahead, so that a run need not wait for a program to be loaded. It
 * stands by for 15 min at most, and ends when this process does, however that comes.
 */
export class SpareRunner {
  readonly #options: SpareOptions;
  /** Of the one that stands by; it becomes the log of its run. */
  readonly #log: string;
  #spare: DetachedProcess | undefined;
  #startedAtMs = 0;
  #starting = false;
  readonly #closing = new AbortController();

  constructor(options: SpareOptions) {
    this.#options = options;
    this.#log = join(options.folder, SPARE_LOG);
  }

  /** Starts one, unless there is one or none is wanted any more. Never fails. */
  prepare(): void {
    if (this.#closing.signal.aborted || this.#starting || this.#spare !== undefined) return;
    this.#starting = true;
    this.#start()
      .catch((error: unknown) => {
        this.#options.log.warn("No runner can be started ahead", { error: String(error) });
      })
      .finally(() => {
        this.#starting = false;
      });
  }

  /** Ends the one that stands by; no other is started, and no run gets one. */
  close(): void {
    this.#closing.abort();
    this.#dismiss();
  }

  /**
   * Gives the run to the one that stands by, and answers with that. Undefined: the run has no
   * runner, on proof, and is to be started as if there were no spare.
   *
   * Who it is stands in launch.json before it hears of the run, so that no moment has a runner of
   * which nobody knows. It has taken the run once it has claimed it (runner.json), which it does
   * before anything else. If it does not in time it is killed; only when it has ended without a
   * claim is the run nobody's. A claim made in the last moment counts: then the run has had its
   * runner, which is dead.
   */
  async give(
    run: RunRecord,
    env: Readonly<Record<string, string>>,
  ): Promise<DetachedProcess | undefined> {
    const spare = this.#take(env);
    if (spare === undefined) return undefined;
    const { folder } = run;
    let hasEnded = false;
    void spare.ended.then(() => {
      hasEnded = true;
    });
    try {
      renameSync(this.#log, folder.runnerLog);
      await writeDurably(folder.launch, JSON.stringify(spare.identity));
      // Not waited for: one that is frozen reads nothing.
      spare.input?.end(handOverLine({ folder: folder.root, env }));
      await this.#until(CLAIM_MS, () => hasEnded || run.isUp());
      await this.#until(LISTEN_MS, () => hasEnded || existsSync(run.identity()?.socket ?? ""));
    } catch (error) {
      this.#options.log.warn("A run cannot be handed over", { error: String(error) });
    }
    if (run.isUp()) return spare;
    // It is not to be taken for the run's runner while it dies.
    rmSync(folder.launch, { force: true });
    killProcess(spare.identity);
    await Promise.race([spare.ended, sleep(KILL_MS, undefined, { ref: false })]);
    if (hasEnded && !run.isUp()) return undefined;
    await writeDurably(folder.launch, JSON.stringify(spare.identity));
    return spare;
  }

  async #until(limitMs: number, holds: () => boolean): Promise<void> {
    const { clock } = this.#options;
    const endMs = clock.monotonic() + limitMs;
    while (!holds() && clock.monotonic() < endMs) await sleep(LOOK_MS);
  }

  async #start(): Promise<void> {
    const { command, env, folder, clock } = this.#options;
    await clock.sleep(START_AFTER_MS, this.#closing.signal);
    if (this.#closing.signal.aborted) return;
    rmSync(this.#log, { force: true });
    const started = await startDetached({
      argv: [...command, STANDBY],
      cwd: folder,
      env,
      stdout: this.#log,
      stderr: this.#log,
      input: "pipe",
    });
    this.#spare = started;
    this.#startedAtMs = clock.monotonic();
    void started.ended.then(() => {
      if (this.#spare === started) this.#spare = undefined;
    });
    if (this.#closing.signal.aborted) this.#dismiss();
  }

  /** The one that stands by, if it is fit for such an environment; it is the caller's then. */
  #take(env: Readonly<Record<string, string>>): DetachedProcess | undefined {
    const spare = this.#spare;
    if (spare === undefined || this.#closing.signal.aborted) return undefined;
    const stat = statOf(spare.identity.pid);
    const alive = stat !== undefined && !isDead(stat) && !/^t/i.test(stat.state);
    const late = this.#options.clock.monotonic() - this.#startedAtMs > UP_MS;
    const up = alive && this.#isUp();
    if (!alive || (late && !up)) this.#dismiss();
    if (!up || !startsAlike(this.#options.env, env)) return undefined;
    this.#spare = undefined;
    return spare;
  }

  #isUp(): boolean {
    try {
      return readFileSync(this.#log, "utf8").includes(STANDING_BY);
    } catch {
      return false;
    }
  }

  #dismiss(): void {
    if (this.#spare === undefined) return;
    killProcess(this.#spare.identity);
    this.#spare.input?.destroy();
    this.#spare = undefined;
  }
}
