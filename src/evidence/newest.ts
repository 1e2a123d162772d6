import { timeMs } from "./log-line.ts";
import type { EvidenceObject, LogStream } from "./model.ts";

/** A log whose newest line is later than the API server's newest time by more has a wrong clock. */
const CLOCK_TRUST_MS = 15 * 60_000;

/**
 * The newest time in the evidence: of what the API server and the controllers wrote into objects,
 * and of logs that agree with it. Undefined if nothing has a time.
 */
export function newestTime(
  objects: readonly EvidenceObject[],
  logs: readonly LogStream[],
): number | undefined {
  const ofObjects = largest(objects.map(objectTime));
  const ofLogs = logs.map((log) => log.span?.lastMs);
  if (ofObjects === undefined) return middleLargest(ofLogs);
  const trusted = ofLogs.filter((ms) => ms !== undefined && ms <= ofObjects + CLOCK_TRUST_MS);
  return largest([ofObjects, ...trusted]);
}

/** Without objects one clock that runs ahead must not lead: the newest that another supports. */
function middleLargest(times: readonly (number | undefined)[]): number | undefined {
  const sorted = times.filter((ms) => ms !== undefined).sort((one, two) => two - one);
  const supported = sorted.find((ms, index) => {
    const next = sorted[index + 1];
    return next === undefined || ms - next <= CLOCK_TRUST_MS;
  });
  return supported ?? sorted[0];
}

function largest(times: readonly (number | undefined)[]): number | undefined {
  let found: number | undefined;
  for (const ms of times) if (ms !== undefined && (found === undefined || ms > found)) found = ms;
  return found;
}

/** The newest time in an object, of those fields that are always in the past. */
export function objectTime(object: EvidenceObject): number | undefined {
  const times: unknown[] = [object.metadata.creationTimestamp];
  const status = record(object.status);
  const spec = record(object.spec);
  times.push(spec.renewTime, spec.acquireTime);
  times.push(object.lastTimestamp, object.firstTimestamp, object.eventTime);
  for (const condition of list(status.conditions)) {
    times.push(condition.lastTransitionTime, condition.lastHeartbeatTime);
  }
  for (const container of list(status.containerStatuses)) {
    times.push(record(record(container.state).running).startedAt);
    times.push(record(record(container.state).terminated).finishedAt);
  }
  return largest(times.map(timeMs));
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function list(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.map(record) : [];
}
