import { keyText, type ObjectKey } from "../api/kinds.ts";
import type { EngineLoad, HealthCause } from "../ports/engine.ts";
import type { Gauge } from "../ports/meters.ts";
import type { LiveRuns } from "../ports/runs.ts";
import { bounded, messageOf } from "./bounded.ts";
import { type EngineOptions, type EnginePorts, engineDefaults } from "./ports.ts";
import { Session } from "./session.ts";

/** How long a stop waits for passes to finish and logs to be written, in milliseconds. */
const STOP_MS = 10_000;

export interface Engine {
  /**
   * Waits to lead, learns what there is, and begins. Resolves once passes go; fails with NotLeader
   * if the signal fires before. The engine goes on until `stop`, or until it leads no longer.
   */
  start(signal: AbortSignal): Promise<void>;
  /** Starts nothing new, and resolves once no run goes on or the signal fires. */
  drain(signal: AbortSignal): Promise<void>;
  /** Ends passes within a bound and lets go of the runs, which go on. Safe to call again. */
  stop(): Promise<void>;
  /** Resolves when the engine has ended, with the reason. */
  readonly ended: Promise<"stopped" | "leadership lost">;
  readonly live: LiveRuns;
  load(): EngineLoad;
  /** Why the engine is stuck; empty if it is not, or has not begun. */
  health(): readonly HealthCause[];
  /** Why it takes no new work; undefined if it does. */
  unready(): string | undefined;
  gauges(): readonly Gauge[];
  /** Asks for a pass of an object, soon. */
  enqueue(key: ObjectKey): void;
}

/** The loop gather → decide → execute over all objects, and what keeps it going. */
export function createEngine(
  ports: EnginePorts,
  options: Partial<EngineOptions> & Pick<EngineOptions, "digestKey">,
): Engine {
  const all = { ...engineDefaults, ...options };
  const ended = Promise.withResolvers<"stopped" | "leadership lost">();
  let session: Session | undefined;
  let stopped = false;
  let leads = false;
  let begun = false;

  async function start(signal: AbortSignal): Promise<void> {
    const lead = await ports.leadership.acquire({ signal });
    if (stopped) return await lead.release();
    ports.log.info("Leading", { epoch: lead.epoch });
    session = new Session(ports, all, lead);
    leads = true;
    lead.lost.addEventListener("abort", () => {
      leads = false;
      session?.abandon();
      ended.resolve("leadership lost");
    });
    await session.start(signal);
    begun = !signal.aborted;
  }

  function unready(): string | undefined {
    if (stopped) return "The engine is stopping";
    if (!leads) return "Another engine leads, or none yet";
    return begun ? undefined : "The engine is learning what there is";
  }

  async function stop(): Promise<void> {
    stopped = true;
    try {
      const bound = { what: "Stopping the engine", ms: STOP_MS };
      await bounded(ports.clock, bound, async () => session?.finish());
    } catch (error) {
      ports.log.warn("The engine stops although not all has finished", {
        error: messageOf(error),
      });
    }
    session?.abandon();
    await session?.release();
    ended.resolve("stopped");
  }

  return {
    start,
    stop,
    ended: ended.promise,
    drain: async (signal) => session?.drain(signal),
    live: { describe: (key) => session?.live.describe(key) },
    load: () => session?.load ?? { runs: [], slots: { taken: 0, all: all.maxRuns } },
    health: () => session?.health() ?? [],
    unready,
    gauges: () => session?.gauges() ?? [],
    enqueue: (key) => session?.ask(keyText(key), "urgent"),
  };
}
