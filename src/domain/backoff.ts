import { parseDuration } from "../api/duration.ts";
import type { TerraformSpec } from "../api/terraform.ts";
import { lostRunPauseMaxMs, lostRunPauseMs } from "./limits.ts";

/** Pause before a lost run's next attempt: full jitter below a bound that doubles up to a cap. */
export function lostRunPause(lostRuns: number, jitter: number): number {
  const doublings = Math.min(Math.max(lostRuns, 1) - 1, 30);
  const bound = Math.min(lostRunPauseMs() * 2 ** doublings, lostRunPauseMaxMs());
  return Math.floor(bound * jitter);
}

/** spec.interval in ms; undefined if it is no positive duration. */
export function intervalMs(spec: TerraformSpec): number | undefined {
  return positiveMs(spec.interval);
}

/** spec.retryInterval in ms, taken as it is; 15 s by default and where it makes no sense. */
export function retryIntervalMs(spec: TerraformSpec): number {
  return positiveMs(spec.retryInterval ?? "") ?? 15_000;
}

/** A Go duration in ms; undefined if it is none, or not more than nothing. */
export function positiveMs(text: string): number | undefined {
  const ms = parseDuration(text);
  return ms !== undefined && ms > 0 ? ms : undefined;
}
