import type { RunStatus } from "../api/terraform.ts";
import { bringUpMs, giveUpAfterMs, stageLimitMs, unreachableAfterMs } from "../domain/limits.ts";
import { timeOf } from "../domain/time.ts";
import type { PlatformFact } from "../ports/runner.ts";

/**
 * What an earlier engine has waited for a run, as far as its status tells. It counts: a bound that
 * began anew with every restart would never come to its end if the engine is restarted often.
 * But the clock on the wall may have jumped, the machine may have slept, and nobody listened while
 * there was no engine; so each engine also waits some time of its own, in which a run that is well
 * is heard.
 */
export interface EarlierWait {
  /** Milliseconds of silence before this engine, if that is what the platform says of the run. */
  silentMs(platform: Pick<PlatformFact, "runner" | "workersAlive">): number;
  /** Milliseconds that its stage had lasted. */
  readonly stageMs: number;
}

/** Nobody has waited before. */
export const noEarlierWait: EarlierWait = { silentMs: () => 0, stageMs: 0 };

/** `nowMs`: the clock on the wall, as this engine begins to follow the run. */
export function earlierWait(run: RunStatus, nowMs: number): EarlierWait {
  const lastSignMs = timeOf(run.lastSignAt) ?? timeOf(run.intendedAt) ?? nowMs;
  const within = (ms: number, mostMs: number) => Math.min(Math.max(0, ms), Math.max(0, mostMs));
  const silentMs = nowMs - lastSignMs;
  return {
    silentMs({ runner, workersAlive }) {
      if (runner === "unknown" && workersAlive === 0) return 0;
      if (run.startedAt === undefined && runner !== "running") {
        return within(silentMs, bringUpMs() - unreachableAfterMs());
      }
      return run.verdict === "unreachable" ? within(silentMs, giveUpAfterMs() / 2) : 0;
    },
    stageMs: within(nowMs - beganMs(run, nowMs), stageLimitMs(run.stage) ?? 0),
  };
}

/** The deadline tells more than the beginning: it has moved with the time that was not watched. */
function beganMs({ stage, stageDeadline, stageSince }: RunStatus, nowMs: number): number {
  const deadlineMs = timeOf(stageDeadline);
  if (deadlineMs !== undefined) return deadlineMs - (stageLimitMs(stage) ?? 0);
  return timeOf(stageSince) ?? nowMs;
}
