import { formatDuration } from "../../api/duration.ts";
import type { Clock } from "../../ports/clock.ts";

/** How often the process asks itself how late it is. */
const TICK_MS = 100;
/** Lateness below this is the scheduler's ordinary grain. */
const GRAIN_MS = 20;
/** How long a stall is remembered: longer than it takes to call a runner unreachable. */
const WINDOW_MS = 10_000;
/** The longest time a Node timer can hold; more would fire at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** The error of a signal made by `deadline`. */
export class DeadlineExceeded extends Error {
  override readonly name = "DeadlineExceeded";
}

/**
 * The machine's clock. Its lag is the sum of all stalls of this process that ended in the last ten
 * seconds, and the one that goes on; `close` ends the measuring.
 */
export function createClock(): Clock & { close(): void } {
  const lag = measureLag();
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep,
    deadline,
    lagMs: lag.ms,
    close: lag.close,
  };
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = longTimer(ms, done, true);
    function done(): void {
      timer.clear();
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done);
  });
}

function deadline(what: string, ms: number, parent?: AbortSignal): AbortSignal {
  const controller = new AbortController();
  if (parent?.aborted) {
    controller.abort(parent.reason);
    return controller.signal;
  }
  function end(reason: unknown): void {
    timer.clear();
    parent?.removeEventListener("abort", followParent);
    controller.abort(reason);
  }
  const followParent = () => end(parent?.reason);
  // Not a reason to keep the process alive: whoever waits for the call does that.
  const timer = longTimer(
    ms,
    () => end(new DeadlineExceeded(`${what} took longer than ${formatDuration(ms)}`)),
    false,
  );
  parent?.addEventListener("abort", followParent);
  return controller.signal;
}

/** A timer that holds more than the 24.8 days of a Node timer: an interval may be longer. */
function longTimer(ms: number, fire: () => void, keepAlive: boolean): { clear(): void } {
  let left = Math.max(0, ms);
  let timer: NodeJS.Timeout;
  function arm(): void {
    const step = Math.min(left, TIMER_MAX_MS);
    left -= step;
    timer = setTimeout(() => (left > 0 ? arm() : fire()), step);
    if (!keepAlive) timer.unref();
  }
  arm();
  return { clear: () => clearTimeout(timer) };
}

/** Lateness of a timer that should fire every TICK_MS: it stands for everything else that waits. */
function measureLag(): { ms(): number; close(): void } {
  let stalls: { readonly endedAt: number; readonly ms: number }[] = [];
  let due = performance.now() + TICK_MS;
  let timer = setTimeout(tick, TICK_MS).unref();

  function tick(): void {
    const now = performance.now();
    if (now - due > GRAIN_MS) stalls.push({ endedAt: now, ms: now - due });
    stalls = stalls.filter((stall) => now - stall.endedAt < WINDOW_MS);
    due = now + TICK_MS;
    timer = setTimeout(tick, TICK_MS).unref();
  }
  return {
    ms() {
      const now = performance.now();
      const current = now - due > GRAIN_MS ? now - due : 0;
      const remembered = stalls.filter((stall) => now - stall.endedAt < WINDOW_MS);
      return remembered.reduce((sum, stall) => sum + stall.ms, current);
    },
    close: () => clearTimeout(timer),
  };
}
