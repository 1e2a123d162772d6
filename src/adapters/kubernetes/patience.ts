import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";
import { ApiError } from "./api-error.ts";

const ATTEMPTS = 5;
/** A server that asks for more patience than this is not there. */
const PAUSE_MAX_MS = 30_000;

/**
 * Asks again when the server says when: it has then done nothing. The call's own bound ends it,
 * and so does the last attempt.
 */
export async function askPatiently<T>(
  clock: Pick<Clock, "sleep">,
  ask: () => Promise<T>,
  call: Call,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      const pauseMs = pauseAsked(error);
      if (pauseMs === undefined || attempt === ATTEMPTS) throw error;
      await clock.sleep(pauseMs, call.signal);
      call.signal.throwIfAborted();
    }
  }
}

function pauseAsked(error: unknown): number | undefined {
  // Only these two say that nothing was done; a 500 with Retry-After does not.
  if (!(error instanceof ApiError) || (error.status !== 429 && error.status !== 503)) {
    return undefined;
  }
  const { retryAfterMs } = error;
  return retryAfterMs !== undefined && retryAfterMs <= PAUSE_MAX_MS ? retryAfterMs : undefined;
}
