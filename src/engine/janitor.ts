import type { Clock, Random } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { RunnerPlatform } from "../ports/runner.ts";
import { bounded, messageOf } from "./bounded.ts";
import { callMs } from "./limits.ts";
import { WorkQueue } from "./queue.ts";

/** A runner that was let go may take so long to exit. */
const EXIT_MS = 3_000;
const LOOK_MS = 100;

export interface JanitorPorts {
  /** Of the engine: its calls to runners bear it. */
  readonly epoch: number;
  readonly platform: RunnerPlatform;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Removes what is left of collected runs, apart from any pass, and tries again until it is gone.
 * What a restart makes it forget, the sweep at the start finds again.
 */
export class Janitor {
  readonly #ports: JanitorPorts;
  readonly #queue: WorkQueue;

  constructor(ports: JanitorPorts) {
    this.#ports = ports;
    const { clock, random } = ports;
    this.#queue = new WorkQueue({ clock, random, backoffBaseMs: 500, backoffCapMs: 60_000 });
  }

  /** The run's outcome is stored, and nobody needs its files any more. */
  remove(runId: string): void {
    this.#queue.add(runId);
  }

  /** Resolves once all is removed that can be removed now, or when the signal fires. */
  async settle(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    for (let size = this.#queue.size(); size.ready + size.running > 0; size = this.#queue.size()) {
      if (signal.aborted) return;
      await clock.sleep(LOOK_MS, signal);
    }
  }

  /** Works until the signal fires. */
  async work(signal: AbortSignal): Promise<void> {
    for (;;) {
      const runId = await this.#queue.take(signal);
      if (runId === undefined) return;
      try {
        await this.#clean(runId, signal);
        this.#queue.forget(runId);
      } catch (error) {
        const error_ = messageOf(error);
        this.#ports.log.debug("A run cannot be removed yet", { run: runId, error: error_ });
        this.#queue.retry(runId);
      } finally {
        this.#queue.done(runId);
      }
    }
  }

  async #clean(runId: string, parent: AbortSignal): Promise<void> {
    const { clock, platform } = this.#ports;
    const bound = (what: string) => ({ what, ms: callMs(), parent });
    await this.#letGo(runId, parent);
    if (!(await this.#hasEnded(runId, parent))) {
      // Its outcome is known, so nothing that still lives has anything left to write.
      await bounded(clock, bound("Ending the run"), (call) =>
        platform.signal(runId, "terminate", call),
      );
    }
    await bounded(clock, bound("Removing the run"), (call) => platform.remove(runId, call));
  }

  /** Tells a living runner that it is no longer needed. */
  async #letGo(runId: string, parent: AbortSignal): Promise<void> {
    const { clock, platform } = this.#ports;
    const bound = { what: "Inspecting the run", ms: callMs(), parent };
    const { runner } = await bounded(clock, bound, (call) => platform.inspect(runId, call));
    if (runner !== "running") return;
    const connection = platform.connect(runId, this.#ports.epoch);
    try {
      const releasing = { what: "Releasing the runner", ms: EXIT_MS, parent };
      await bounded(clock, releasing, (call) => connection.release(call));
    } catch (error) {
      const message = messageOf(error);
      this.#ports.log.debug("A runner did not take its release", { run: runId, error: message });
    } finally {
      connection.close();
    }
  }

  async #hasEnded(runId: string, parent: AbortSignal): Promise<boolean> {
    const { clock, platform } = this.#ports;
    const untilMs = clock.monotonic() + EXIT_MS;
    while (!parent.aborted && clock.monotonic() < untilMs) {
      const bound = { what: "Inspecting the run", ms: callMs(), parent };
      const fact = await bounded(clock, bound, (call) => platform.inspect(runId, call));
      const ended = fact.runner === "gone" || fact.runner === "unknown";
      if (ended && fact.workersAlive === 0) return true;
      await clock.sleep(LOOK_MS, parent);
    }
    return false;
  }
}
