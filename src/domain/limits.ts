import type { Stage } from "../api/terraform.ts";

/**
 * Every bound that decisions know, in milliseconds, each made by one function: a test can take any
 * one of them away and must then see an object wedge.
 */

/** Silence after which a runner is looked at more closely. */
export function suspectAfterMs(): number {
  return 5_000;
}

/** Silence after which a runner is called unreachable. */
export function unreachableAfterMs(): number {
  return 8_000;
}

/** Silence of a runner that the platform has not yet brought up, before it is unreachable. */
export function bringUpMs(): number {
  return 60_000;
}

/** Silence after which something is done about an unreachable runner. */
export function giveUpAfterMs(): number {
  return 30_000;
}

/** How long an apply that was asked to stop may take to do so, before a person is called. */
export function interruptGraceMs(): number {
  return 600_000;
}

/**
 * How long a step may take; undefined: it has no limit but must show signs of life. The runner
 * ends a step that overruns.
 */
export function stageLimitMs(stage: Stage): number | undefined {
  switch (stage) {
    case "plan":
      return 1_800_000;
    case "launch":
    case "init":
      return 600_000;
    case "artifact":
    case "workspace":
    case "show":
    case "outputs":
    case "health":
    case "collect":
      return 300_000;
    case "apply":
      return undefined;
  }
}

/** How long after the limit the runner may take to end a step by itself. */
export function overrunGraceMs(): number {
  return 30_000;
}

/** How long a health check may be tried, whatever its spec says: less than the step's limit. */
export function healthCheckMaxMs(): number {
  return 240_000;
}

/** How often a run under way is looked at without a cause, and its last sign of life stored. */
export function signRefreshMs(): number {
  return 10_000;
}

/** The largest pause after the first lost run; it doubles with every further one. */
export function lostRunPauseMs(): number {
  return 1_000;
}

/** No pause between two attempts grows beyond this. */
export function lostRunPauseMaxMs(): number {
  return 300_000;
}

/** Pause before an effect that failed is tried again, if it may pass by itself. */
export function effectPauseMs(): number {
  return 5_000;
}

/** How often an object looks for a free slot, if nobody tells it of one. */
export function slotPauseMs(): number {
  return 5_000;
}
