import type { Call } from "../ports/call.ts";
import type { Clock } from "../ports/clock.ts";

export interface Bound {
  /** Names the call in the error. */
  readonly what: string;
  readonly ms: number;
  readonly parent?: AbortSignal;
}

/** A reason spares the error that is made where none is given. */
const OVER = "the call is over";

/**
 * Makes a call that ends in time even if the one who is called does not keep to its signal: then
 * the answer is lost, and nobody waits for it. When the call is over so is its signal, which frees
 * the timer and stops what may still go on behind it.
 */
export async function bounded<T>(
  clock: Clock,
  bound: Bound,
  work: (call: Call) => Promise<T>,
): Promise<T> {
  bound.parent?.throwIfAborted();
  const over = new AbortController();
  const ends = bound.parent === undefined ? [over.signal] : [bound.parent, over.signal];
  const signal = clock.deadline(bound.what, bound.ms, AbortSignal.any(ends));
  try {
    return await orAbort(work({ signal }), signal);
  } finally {
    over.abort(OVER);
  }
}

/** The promise, or the signal's reason as an error if that comes first. */
export function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** A stream said nothing for too long. */
export class Silence extends Error {
  override readonly name = "Silence";
}

/**
 * A stream that is left when it says nothing for `ms`, with an error, and when the signal fires,
 * with its reason; whether the one who streams keeps to its signal or not.
 */
export async function* unlessSilent<T>(
  clock: Clock,
  bound: Bound & { readonly parent: AbortSignal },
  open: (call: Call) => AsyncIterable<T>,
): AsyncIterable<T> {
  const over = new AbortController();
  const signal = AbortSignal.any([bound.parent, over.signal]);
  let heardMs = clock.monotonic();
  async function guard(): Promise<void> {
    while (!signal.aborted) {
      const leftMs = heardMs + bound.ms - clock.monotonic();
      if (leftMs <= 0) over.abort(new Silence(`${bound.what} was silent for ${bound.ms} ms`));
      else await clock.sleep(leftMs, signal);
    }
  }
  const iterator = open({ signal })[Symbol.asyncIterator]();
  guard().catch(() => {});
  try {
    for (;;) {
      const next = await orAbort(iterator.next(), signal);
      if (next.done === true) return;
      heardMs = clock.monotonic();
      yield next.value;
    }
  } finally {
    over.abort(OVER);
    iterator.return?.()?.catch(() => {});
  }
}

/** The text of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
