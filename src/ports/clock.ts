/** Time and chance, handed in, so that a simulation can hold them. */
export interface Clock {
  /** Wall clock in milliseconds since 1970. May jump. */
  now(): number;
  /** Milliseconds on a clock that never jumps and stops while the machine sleeps. */
  monotonic(): number;
  /** Resolves after `ms`, or at once (without an error) when the signal fires. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** A signal that fires after `ms` or with `parent`, with an error that names `what`. */
  deadline(what: string, ms: number, parent?: AbortSignal): AbortSignal;
  /**
   * How late this process itself was in the last seconds, in milliseconds: a judge that was asleep
   * must not blame a runner for silence.
   */
  lagMs(): number;
}

export interface Random {
  /** In [0, 1). */
  next(): number;
  /** `bytes` random bytes as lower-case hex. */
  hex(bytes: number): string;
}
