/**
 * Every call over a wire or to a process takes one of these: it ends at the latest when the signal
 * fires, with an error whose cause is the signal's reason. Adapters add a bound of their own, never
 * a longer one.
 */
export interface Call {
  readonly signal: AbortSignal;
}
