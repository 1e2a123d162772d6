/**
 * Every call over a wire or to a process takes one of these: it ends at the latest when the signal
 * fires, with an error whose cause is the signal's reason. Adapters add a bound of their own, never
 * a longer one.
 */
export interface Call {
  readonly signal: AbortSignal;
  /**
   * Of the engine that asks; undefined: a person or a run does. Who keeps states or runners
   * remembers the newest that it has met and refuses an older one: whoever led before, and does not
   * know yet that he leads no longer, changes nothing.
   */
  readonly epoch?: number | undefined;
}
