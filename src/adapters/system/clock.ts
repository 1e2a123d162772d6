import { formatDuration } from "../../api/duration.ts";
import type { Clock } from "../../ports/clock.ts";

/** How often the process asks itself how late it is. */
const TICK_MS = 100;
/** Lateness below this is the scheduler's ordinary grain. */
const GRAIN_MS = 20;
/** How long the largest stall is remembered: longer than it takes to call a runner unreachable. */
const WINDOW_MS = 10_000;
/** How long small ones add up: what came in before is read by now. */
const BACKLOG_MS = 2_000;
/** The longest time a Node timer can hold; more would fire at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** The error of a signal made by `deadline`. */
export class DeadlineExceeded extends Error {
  override readonly name = "DeadlineExceeded";
}

/**
 * The machine's clock. Its lag is the largest stall of this process in the last ten seconds, or all
 * those of the last two together if they are more; `close` ends the measuring.
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

export interface Stall {
  readonly endedAtMs: number;
  readonly ms: number;
}

/**
 * By how much a process that stalled so may have misjudged. Between two stalls it reads what has
 * come in meanwhile, so that on a crowded machine, where every timer is a little late, many small
 * ones do not add up to a judge who sees nothing.
 */
export function lagOf(stalls: readonly Stall[], nowMs: number): number {
  const within = (ms: number) => stalls.filter(({ endedAtMs }) => nowMs - endedAtMs < ms);
  const largest = Math.max(0, ...within(WINDOW_MS).map(({ ms }) => ms));
  const recent = within(BACKLOG_MS).reduce((sum, { ms }) => sum + ms, 0);
  return Math.max(largest, recent);
}

/** Lateness of a timer that should fire every TICK_MS: it stands for everything else that waits. */
function measureLag(): { ms(): number; close(): void } {
  let stalls: Stall[] = [];
  let due = performance.now() + TICK_MS;
  let timer = setTimeout(tick, TICK_MS).unref();

  function tick(): void {
    const now = performance.now();
    if (now - due > GRAIN_MS) stalls.push({ endedAtMs: now, ms: now - due });
    stalls = stalls.filter(({ endedAtMs }) => now - endedAtMs < WINDOW_MS);
    due = now + TICK_MS;
    timer = setTimeout(tick, TICK_MS).unref();
  }
  return {
    ms() {
      const now = performance.now();
      const goesOn = now - due > GRAIN_MS ? [{ endedAtMs: now, ms: now - due }] : [];
      return lagOf([...stalls, ...goesOn], now);
    },
    close: () => clearTimeout(timer),
  };
}
