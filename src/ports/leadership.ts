import type { Call } from "./call.ts";

/** The right to act. Standalone: the data directory's lock; in a cluster: a Lease. */
export interface Leadership {
  /**
   * Waits to lead, at most as long as the call. The epoch is higher than any before, and every
   * intent and command bears it. `lost` fires when the right ends. Fails with `NotLeader`, which
   * names the holder.
   */
  acquire(call: Call): Promise<Lead>;
}
export interface Lead {
  readonly epoch: number;
  readonly lost: AbortSignal;
  release(): Promise<void>;
}
/**
 * Another controller for the same objects, such as the one that this engine succeeds. While it is
 * there nothing is started; what runs is followed to its end.
 */
export interface Rival {
  /** Why nothing may be started now, in words that name who is in the way; undefined: all may. */
  heldBack(): string | undefined;
  /** Yields each time that changes; ends with the signal. */
  changes(call: Call): AsyncIterable<void>;
}
export class NotLeader extends Error {
  override readonly name = "NotLeader";
}
