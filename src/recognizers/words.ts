import { formatDuration } from "../api/duration.ts";

/** Times and counts as recognizers write them. */

/** RFC 3339 to the second. */
export function stamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, "Z");
}

export const stampOf = (ms: number | undefined) => (ms === undefined ? undefined : stamp(ms));

/** Time of day to the second, for a sentence. */
export function clock(ms: number): string {
  return stamp(ms).slice(11, 19);
}

export const span = (ms: number) => formatDuration(Math.max(0, ms));

/** `1 pod`, `2 pods`. */
export function count(amount: number, one: string, many = `${one}s`): string {
  return `${amount} ${amount === 1 ? one : many}`;
}

export const HARMLESS = "Nothing: it only reads.";
export const MINUTE_MS = 60_000;
