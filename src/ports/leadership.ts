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
export class NotLeader extends Error {
  override readonly name = "NotLeader";
}
