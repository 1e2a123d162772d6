import { specDefaults } from "../api/defaults.ts";
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

/**
 * Pause in ms after so many failures in a row: spec.retryInterval, or under ExponentialBackoff the
 * double for each failure, up to spec.maxRetryInterval.
 */
export function retryPauseMs(spec: TerraformSpec, failures: number): number {
  const firstMs = retryIntervalMs(spec);
  if (spec.retryStrategy !== "ExponentialBackoff") return firstMs;
  // Beyond 60 doublings every cap is reached, and a number stays a number.
  const doublings = Math.min(Math.max(failures, 0), 60);
  return Math.min(firstMs * 2 ** doublings, maxRetryMs(spec));
}

function maxRetryMs(spec: TerraformSpec): number {
  return positiveMs(spec.maxRetryInterval ?? "") ?? positiveMs(specDefaults.maxRetryInterval) ?? 0;
}

/** The longest pause that `retryPauseMs` may give. */
export function longestRetryMs(spec: TerraformSpec): number {
  return Math.max(retryIntervalMs(spec), retryPauseMs(spec, Number.POSITIVE_INFINITY));
}

/**
 * Whether so many failures in a row are as many as spec.remediation allows. The first attempt is
 * always made; a negative number sets no limit.
 */
export function retriesUsedUp(spec: TerraformSpec, failures: number): boolean {
  if (spec.remediation === undefined) return false;
  const { retries = 0 } = spec.remediation;
  return retries >= 0 && failures >= Math.max(retries, 1);
}

/** A Go duration in ms; undefined if it is none, or not more than nothing. */
export function positiveMs(text: string): number | undefined {
  const ms = parseDuration(text);
  return ms !== undefined && ms > 0 ? ms : undefined;
}
