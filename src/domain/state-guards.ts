import type { KeptState, KeptVersion } from "./state-rules.ts";

/**
 * What stands between a state and what must not become it: each guard is one function that answers
 * true if all is well, as in guards.ts. The simulation takes any one of them out and must then see
 * a state lost; so a new guard belongs here, and its harm into the truth that it is held against.
 */

type Lock = KeptState["lock"];
type Lineage = Pick<KeptVersion, "lineage">;
type Serial = Pick<KeptVersion, "serial">;

/** The run is not proven dead: what a dead one sent and still comes replaces nothing. */
export function isNotRevoked(run: { readonly revoked: boolean }): boolean {
  return !run.revoked;
}

/** This run may change the state now. */
export function holdsLock(runId: string, lock: Lock): boolean {
  return lock !== undefined && lock.runId === runId;
}

/** The write is of the time for which the lock was taken, and not a late one of a time before. */
export function namesLock(lockId: string | undefined, lock: Lock): boolean {
  return lock?.id === lockId;
}

/** Nobody else is at work on the state. */
export function isNotLockedByAnother(runId: string, lock: Lock): boolean {
  return lock === undefined || lock.runId === runId;
}

/** Nobody at all is at work on the state: a person's order would take it away from below a run. */
export function isUnlocked(lock: Lock): lock is undefined {
  return lock === undefined;
}

/** The run was given access to this state, so that what it left can build on it. */
export function wasGranted(grantedOrder: number | undefined): grantedOrder is number {
  return grantedOrder !== undefined;
}

/**
 * What the run left builds on the current state: it has held the lock, or nobody else wrote after
 * it was given access.
 */
export function buildsOnCurrent(
  runId: string,
  grantedOrder: number,
  { current, lock }: KeptState,
): boolean {
  const foreign = current !== undefined && current.runId !== runId;
  return lock !== undefined || !foreign || current.order <= grantedOrder;
}

/** The state in a Secret is the one that was there before the run: nobody notes who wrote it. */
export function isAsBefore(
  current: (Lineage & Serial) | undefined,
  before: { readonly serial: number; readonly lineage?: string } | undefined,
): boolean {
  return before?.serial === current?.serial && before?.lineage === current?.lineage;
}

/** It is of the same life: tofu gives every state that it begins a lineage of its own. */
export function hasLineage(incoming: Lineage, current: Lineage): boolean {
  return incoming.lineage === current.lineage;
}

/** It was written after the current one. */
export function isNewer(incoming: Serial, current: Serial): boolean {
  return incoming.serial > current.serial;
}

/** Its serial can be raised: what is encrypted cannot be changed without the key. */
export function isReadable(version: { readonly resources?: number | undefined }): boolean {
  return version.resources !== undefined;
}

/** How many earlier versions of one state are kept, and how many bytes of them. */
export const HISTORY_VERSIONS_MAX = 50;
export const HISTORY_BYTES_MAX = 1024 * 1024 * 1024;

/** There is room for so many earlier versions. */
export function isWithinHistory(history: {
  readonly versions: number;
  readonly sizeBytes: number;
}): boolean {
  return history.versions <= HISTORY_VERSIONS_MAX && history.sizeBytes <= HISTORY_BYTES_MAX;
}

/**
 * A version kept aside can go, for `newer` tells all that it tells: what one run writes of one
 * lineage grows, so a person is asked about the last of it alone.
 */
export function isCoveredBy(
  older: Pick<KeptVersion, "serial" | "lineage" | "runId" | "digest">,
  newer: Pick<KeptVersion, "serial" | "lineage" | "runId" | "digest">,
): boolean {
  if (older.digest === newer.digest) return true;
  return (
    older.runId !== undefined &&
    older.runId === newer.runId &&
    older.lineage === newer.lineage &&
    older.serial < newer.serial
  );
}
