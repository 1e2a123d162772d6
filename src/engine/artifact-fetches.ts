import { keyText, type ObjectKey } from "../api/kinds.ts";
import type { ArtifactFact, ArtifactFetchFact } from "../domain/facts.ts";
import type { ArtifactKeeper, ArtifactStore } from "../ports/artifacts.ts";
import type { Call } from "../ports/call.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { bounded, messageOf } from "./bounded.ts";

/** Beyond the bounds that the store keeps itself: silence of seconds, minutes in all. */
const FETCH_MS = 330_000;
/** Archives on their way at once; one whose server is away holds its place for seconds. */
const FETCHES_MAX = 32;
/** Failures that are remembered; the oldest are forgotten, and then fetched anew. */
const FAILURES_MAX = 1_000;
const CLEAR_MS = 600_000;

export interface FetchPorts {
  readonly artifacts: ArtifactStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Asks for a pass of an object that waited. */
  ask(key: string): void;
}

interface Fetch {
  readonly waiting: Set<string>;
  running: boolean;
  failure: string | undefined;
}

/**
 * Fetches archives apart from passes: one fetch for all objects that wait for the same. What came
 * of it is read by the next pass of each.
 */
export class ArtifactFetches {
  readonly #ports: FetchPorts;
  readonly #over: AbortSignal;
  readonly #byDigest = new Map<string, Fetch>();
  readonly #places: (() => void)[] = [];
  #taken = 0;

  constructor(ports: FetchPorts, over: AbortSignal) {
    this.#ports = ports;
    this.#over = over;
  }

  /** Undefined: it is kept on this machine. */
  async fact(artifact: ArtifactFact, call: Call): Promise<ArtifactFetchFact | undefined> {
    const { artifacts } = this.#ports;
    if (artifacts.isKept === undefined) return undefined;
    const fetch = this.#byDigest.get(artifact.digest);
    if (fetch?.failure !== undefined) return { state: "failed", message: fetch.failure };
    if (fetch?.running === true) return { state: "fetching" };
    try {
      return (await artifacts.isKept(artifact, call)) ? undefined : { state: "absent" };
    } catch (error) {
      // A digest of no known form is kept nowhere and can be fetched from nowhere.
      return { state: "failed", message: messageOf(error) };
    }
  }

  /** Fetches it, or joins the fetch that goes on. */
  begin(artifact: ArtifactFact, key: ObjectKey): void {
    const fetch = this.#byDigest.get(artifact.digest) ?? this.#added(artifact.digest);
    fetch.waiting.add(keyText(key));
    if (fetch.running) return;
    fetch.running = true;
    this.#fetch(artifact, fetch).catch(() => {});
  }

  #added(digest: string): Fetch {
    for (const [old, { running }] of this.#byDigest) {
      if (this.#byDigest.size < FAILURES_MAX) break;
      if (!running) this.#byDigest.delete(old);
    }
    const fetch: Fetch = { waiting: new Set(), running: false, failure: undefined };
    this.#byDigest.set(digest, fetch);
    return fetch;
  }

  async #fetch(artifact: ArtifactFact, fetch: Fetch): Promise<void> {
    const { artifacts, clock, log, ask } = this.#ports;
    await this.#place();
    const beganMs = clock.monotonic();
    const fields = { revision: artifact.revision, digest: artifact.digest };
    try {
      const bound = { what: "Fetching an artifact", ms: FETCH_MS, parent: this.#over };
      await bounded(clock, bound, (call) => artifacts.open(artifact, call));
      this.#byDigest.delete(artifact.digest);
      log.info("Artifact fetched", { ...fields, ms: Math.round(clock.monotonic() - beganMs) });
    } catch (error) {
      fetch.failure = messageOf(error);
      if (!this.#over.aborted)
        log.warn("Artifact not fetched", { ...fields, error: fetch.failure });
    } finally {
      fetch.running = false;
      this.#leave();
      for (const key of fetch.waiting) ask(key);
      fetch.waiting.clear();
    }
  }

  async #place(): Promise<void> {
    if (this.#taken >= FETCHES_MAX) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#places.push(resolve);
      await promise;
    }
    this.#taken += 1;
  }

  #leave(): void {
    this.#taken -= 1;
    this.#places.shift()?.();
  }
}

/** Removes, now and then, the archives whose digest stands in none of the texts. */
export async function clearArtifacts(
  { keeper, clock, log }: { keeper: ArtifactKeeper; clock: Clock; log: Log },
  texts: (call: Call) => Promise<Iterable<string>>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(CLEAR_MS, signal);
    if (signal.aborted) return;
    try {
      const bound = { what: "Clearing out artifacts", ms: 10_000, parent: signal };
      const removed = await bounded(clock, bound, async (call) => {
        const digests = [...(await texts(call))].flatMap(
          (text) => text.match(/sha256:[0-9a-f]{64}/g) ?? [],
        );
        return await keeper.retain(digests, call);
      });
      if (removed > 0) log.info("Old artifacts removed", { count: removed });
    } catch (error) {
      if (!signal.aborted) log.warn("Old artifacts stay", { error: messageOf(error) });
    }
  }
}
