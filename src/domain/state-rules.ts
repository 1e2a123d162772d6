import type { StateHead } from "./state-file.ts";
import {
  buildsOnCurrent,
  hasLineage,
  holdsLock,
  isAsBefore,
  isNewer,
  isNotLockedByAnother,
  isNotRevoked,
  isReadable,
  isUnlocked,
  isWithinHistory,
  namesLock,
  wasGranted,
} from "./state-guards.ts";

/**
 * What may become the current state, and what is kept aside for a person. The rules behind every
 * storage: pure, judged inside the transaction that acts on the verdict. What they look at are the
 * guards of state-guards.ts; here is what follows, in which words.
 */
export interface KeptState {
  readonly current: KeptVersion | undefined;
  readonly lock: { readonly id: string; readonly runId: string } | undefined;
}
export interface KeptVersion extends StateHead {
  /** Grows with every version that is kept, of whatever state. */
  readonly order: number;
  /** SHA-256, hex. */
  readonly digest: string;
  /** Undefined: a person pushed it. */
  readonly runId: string | undefined;
}

export interface Incoming {
  readonly head: StateHead;
  readonly digest: string;
  readonly runId: string;
  readonly revoked: boolean;
}
export type Verdict =
  | { readonly become: "current" }
  /** The very same content is current already: the answer to the first write was lost. */
  | { readonly become: "repeated" }
  | { readonly become: "aside"; readonly why: string };

/** What becomes of a write that comes over HTTP. */
export function judgeWrite(
  incoming: Incoming,
  lockId: string | undefined,
  { current, lock }: KeptState,
): Verdict {
  if (current?.digest === incoming.digest) return { become: "repeated" };
  if (!isNotRevoked(incoming)) return aside("the run was revoked before");
  if (!holdsLock(incoming.runId, lock)) return aside("the run does not hold the lock");
  if (!namesLock(lockId, lock)) return aside("the write names another lock than the run holds");
  return fitsOn(incoming.head, current);
}

/**
 * What becomes of a state that a run could not write and that was collected from its folder.
 * `grantedOrder` is the latest version at the time the run was given access; undefined: it never
 * was. Without the lock, only that nobody wrote since tells that the content builds on `current`:
 * the serial alone does not, for it grows with every attempt to write.
 */
export function judgeRescue(
  incoming: Incoming,
  grantedOrder: number | undefined,
  { current, lock }: KeptState,
): Verdict {
  if (current?.digest === incoming.digest) return { become: "repeated" };
  if (!isNotRevoked(incoming)) return aside("the run was revoked before");
  if (!isNotLockedByAnother(incoming.runId, lock))
    return aside(`run ${lock?.runId} holds the lock`);
  if (!wasGranted(grantedOrder)) return aside("the run was never given access to this state");
  if (!buildsOnCurrent(incoming.runId, grantedOrder, { current, lock })) {
    return aside("the state was changed after the run was given access");
  }
  return fitsOn(incoming.head, current);
}

/** What is known of a state in a Secret, where nobody notes who wrote it. */
export type SecretState =
  | { readonly present: boolean; readonly serial: number; readonly lineage?: string }
  | undefined;

/**
 * Why a state that a run left behind must not replace the one in a Secret; undefined: it may.
 * `before`: the state that the object knew before the run, or "held" if the run's lock has been
 * held all along, so that nobody else can have written. Else, again, its serial alone tells
 * nothing.
 */
export function judgeSecretRescue(
  head: StateHead,
  current: StateHead | undefined,
  before: SecretState | "held",
): string | undefined {
  if (before !== "held") {
    const then = before?.present === true ? before : undefined;
    if (!isAsBefore(current, then)) {
      return "the state was changed after the run began, and the lock was free meanwhile";
    }
  }
  const verdict = fitsOn(head, current);
  return verdict.become === "aside" ? verdict.why : undefined;
}

/** Why a person's push is refused: a clause that follows the state's name. */
export function judgePush(
  head: StateHead,
  force: boolean,
  { current, lock }: KeptState,
): string | undefined {
  return isUnlocked(lock) ? judgeSecretPush(head, current, force) : lockedBy(lock);
}

/** The same where the lock is held by whoever asks. */
export function judgeSecretPush(
  head: StateHead,
  current: StateHead | undefined,
  force: boolean,
): string | undefined {
  const verdict = fitsOn(head, current);
  if (force || verdict.become !== "aside") return undefined;
  return `is not replaced: ${verdict.why}; look at both, and use --force to replace it anyhow`;
}

/** A kept version as a person may want it back. */
export type FormerVersion = Pick<KeptVersion, "serial" | "lineage" | "resources" | "digest">;

/**
 * What a rollback to this version comes to: the serial that its content gets, above every serial
 * that `kept` ever had, so that tofu and the guard take it for news; or why it is refused, as a
 * clause that follows the state's name.
 */
export function judgeRollback(
  version: FormerVersion,
  force: boolean,
  kept: KeptState & { readonly serials: readonly number[] },
): { readonly serial: number } | { readonly refusal: string } {
  const { current, lock } = kept;
  if (!isUnlocked(lock)) return { refusal: lockedBy(lock) };
  if (current?.digest === version.digest) return { refusal: "is this very version already" };
  if (!isReadable(version)) {
    return {
      refusal:
        "cannot be rolled back to a version that is encrypted, for its serial cannot be raised " +
        "without the key; take it out with nigari state show --version, make it current with " +
        "nigari state push --force, and accept it with nigari state accept",
    };
  }
  if (current !== undefined && !hasLineage(version, current) && !force) {
    return {
      refusal:
        `is not rolled back: that version has lineage ${version.lineage || "empty"}, the current ` +
        `state ${current.lineage || "empty"}; look at both, and use --force to take it anyhow`,
    };
  }
  return { serial: Math.max(version.serial, ...kept.serials) + 1 };
}

function lockedBy(lock: { readonly id: string; readonly runId: string }): string {
  return `is locked by run ${lock.runId} (lock ${lock.id}); wait until that run has ended`;
}

function fitsOn(head: StateHead, current: StateHead | undefined): Verdict {
  if (current === undefined) return { become: "current" };
  if (!hasLineage(head, current)) {
    const [its, currents] = [head, current].map(({ lineage }) => lineage || "empty");
    return aside(`its lineage is ${its}, that of the current state ${currents}`);
  }
  if (!isNewer(head, current)) {
    return aside(`its serial ${head.serial} is not above ${current.serial}, the current one`);
  }
  return { become: "current" };
}

function aside(why: string): Verdict {
  return { become: "aside", why };
}

/** Which earlier versions go, of those given with the newest first. The newest always stays. */
export function beyondHistory<T extends { readonly sizeBytes: number }>(
  history: readonly T[],
): readonly T[] {
  let sizeBytes = 0;
  const end = history.findIndex((version, index) => {
    sizeBytes += version.sizeBytes;
    return index > 0 && !isWithinHistory({ versions: index + 1, sizeBytes });
  });
  return end === -1 ? [] : history.slice(end);
}
