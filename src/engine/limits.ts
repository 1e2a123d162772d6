/**
 * Every bound of what the engine waits for, in milliseconds, each made by one function: the
 * simulation takes any one of them away and must then see something wait for ever. What decisions
 * know is bounded in domain/limits.ts.
 */

/** A pass, all in all. It never waits for a run. */
export function passMs(): number {
  return 60_000;
}

/** Reading all that a pass decides about. */
export function gatherMs(): number {
  return 20_000;
}

/** One effect of a pass. */
export function effectMs(): number {
  return 15_000;
}

/** Storing a status. */
export function storeMs(): number {
  return 10_000;
}

/** One call to the platform of runners, and one reading of a state or log. */
export function callMs(): number {
  return 10_000;
}

/** A greeting is answered at once or not at all. */
export function helloMs(): number {
  return 4_000;
}

/** Making the order of a run from what is stored. */
export function prepareMs(): number {
  return 10_000;
}

/** Sending files to a runner. */
export function sendingMs(): number {
  return 30_000;
}

/** Taking an order. */
export function startMs(): number {
  return 10_000;
}

/** Silence of a stream after which its transport is thrown away: two beats have not come. */
export function streamSilenceMs(): number {
  return 5_000;
}

/** Listing all objects of a kind. */
export function listMs(): number {
  return 30_000;
}

/** Bookmarks come at least once a minute: a watch that is silent for longer is dead. */
export function watchSilenceMs(): number {
  return 90_000;
}

/** How long a watch is trusted before everything is listed again. */
export function relistMs(): number {
  return 600_000;
}

/** How often objects are looked for that are due and that nobody asked for. */
export function sweepMs(): number {
  return 15_000;
}

/** No pause after a failed pass grows beyond this: a status must not be older for long. */
export function backoffCapMs(): number {
  return 20_000;
}
