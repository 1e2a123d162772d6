/** The largest distance from 1970 that a Date can hold, in milliseconds. */
const FARTHEST_MS = 8.64e15;

/** RFC 3339 with milliseconds. Times that no date can hold become the nearest that can. */
export function timeText(ms: number): string {
  const bounded = Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, -FARTHEST_MS), FARTHEST_MS);
  return new Date(bounded).toISOString();
}

/** RFC 3339 in whole seconds, as Kubernetes writes it. */
export function secondText(ms: number): string {
  return timeText(ms).replace(/\.\d+Z$/, "Z");
}

/** Milliseconds since 1970; undefined if there is no text or it is no time. */
export function timeOf(text: string | undefined): number | undefined {
  const ms = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
