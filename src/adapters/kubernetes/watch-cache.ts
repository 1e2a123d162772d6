import type { Call } from "../../ports/call.ts";
import type { Clock, Random } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { ApiError, messageOf } from "./api-error.ts";
import type { Connection } from "./connection.ts";
import { type WatchedChange, watchEvents } from "./watch.ts";

const PAGE_ITEMS = 500;
const LIST_LIMIT_MS = 30_000;
/** The server ends a watch after about so long, so that load spreads over its replicas. */
const WATCH_SECONDS = 300;
/** Bookmarks come at least once a minute: a watch that is silent for longer is dead. */
const SILENCE_MS = 90_000;
/** A change that no watch told of is found by listing again, a little earlier or later. */
const RELIST_MS = 600_000;
const PAUSE_FIRST_MS = 200;
const PAUSE_MAX_MS = 10_000;

/** What every object is known by. */
interface Named {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
}

export interface WatchCacheOptions<T> {
  /** Path of the whole list, such as /api/v1/pods. */
  readonly path: string;
  /** Selectors. */
  readonly query: Readonly<Record<string, string>>;
  /** What is kept of an object. */
  keep(raw: unknown): T;
  /** It came to be, changed, or (`now` undefined) is gone; `before` is what was kept of it. */
  changed(now: T | undefined, before: T | undefined): void;
}

export interface WatchCachePorts {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface Entry<T> {
  readonly uid: string;
  readonly version: string;
  readonly kept: T;
}

/**
 * All objects of one kind as an API server has them: listed page by page, then watched. A watch
 * that breaks or falls silent is made again from where it was; one that comes too late (410) lists
 * anew and tells the differences. Another uid under the same name is another object.
 */
export class WatchCache<T> {
  readonly #options: WatchCacheOptions<T>;
  readonly #ports: WatchCachePorts;
  readonly #known = new Map<string, Entry<T>>();
  #version: string | undefined;
  #listedMs = 0;
  #relistMs = RELIST_MS;
  #failures = 0;

  constructor(options: WatchCacheOptions<T>, ports: WatchCachePorts) {
    this.#options = options;
    this.#ports = ports;
  }

  /** By `namespace/name`, or by name where the kind knows no namespaces. */
  get(key: string): T | undefined {
    return this.#known.get(key)?.kept;
  }

  values(): T[] {
    return [...this.#known.values()].map(({ kept }) => kept);
  }

  /** What an answer to a write of our own has told, ahead of the watch. */
  put(raw: unknown): void {
    this.#put(raw as Named);
  }

  /** Lists once. Fails with ApiError. */
  async list(call: Call): Promise<void> {
    const seen = new Set<string>();
    let page = "";
    for (;;) {
      const query = { ...this.#options.query, limit: String(PAGE_ITEMS) };
      const search = new URLSearchParams(page === "" ? query : { ...query, continue: page });
      const request = { path: `${this.#options.path}?${search}`, limitMs: LIST_LIMIT_MS };
      const { value } = await this.#ports.connection.json(request, call);
      const list = value as {
        readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
        readonly items: readonly Named[] | null;
      };
      for (const item of list.items ?? []) {
        seen.add(keyOf(item));
        this.#put(item);
      }
      page = list.metadata.continue ?? "";
      if (page === "") {
        this.#version = list.metadata.resourceVersion;
        break;
      }
    }
    for (const key of [...this.#known.keys()]) if (!seen.has(key)) this.#remove(key);
    const { clock, random } = this.#ports;
    this.#listedMs = clock.monotonic();
    this.#relistMs = RELIST_MS * (0.8 + 0.4 * random.next());
  }

  /** Keeps it true until the signal fires. Never fails. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#ports;
    while (!signal.aborted) {
      try {
        if (this.#version === undefined) await this.list({ signal });
        await this.#watch(this.#version ?? "", signal);
      } catch (error) {
        if (signal.aborted) return;
        const { path } = this.#options;
        log.debug("A watch ended", { path, error: messageOf(error) });
        if (error instanceof ApiError && error.status === 410) this.#version = undefined;
        const boundMs = Math.min(PAUSE_FIRST_MS * 2 ** Math.min(this.#failures, 10), PAUSE_MAX_MS);
        this.#failures += 1;
        await clock.sleep(random.next() * boundMs, signal);
      }
    }
  }

  async #watch(from: string, parent: AbortSignal): Promise<void> {
    const { clock, connection } = this.#ports;
    const query = new URLSearchParams({
      ...this.#options.query,
      ...{ watch: "1", allowWatchBookmarks: "true", resourceVersion: from },
      timeoutSeconds: String(WATCH_SECONDS),
    });
    const request = { path: `${this.#options.path}?${query}`, limitMs: WATCH_SECONDS * 1_000 * 2 };
    const over = new AbortController();
    const silence = new Silence(clock, () => over.abort(new Error("The watch fell silent")));
    const signal = AbortSignal.any([parent, over.signal]);
    try {
      for await (const change of watchEvents(connection, request, { signal })) {
        silence.broken();
        this.#failures = 0;
        this.#take(change);
        if (clock.monotonic() - this.#listedMs > this.#relistMs) {
          this.#version = undefined;
          return;
        }
      }
    } finally {
      silence.end();
      over.abort();
    }
  }

  #take({ type, object, resourceVersion }: WatchedChange): void {
    if (type === "DELETED") this.#end(object as Named);
    else if (type !== "BOOKMARK") this.#put(object as Named);
    this.#version = resourceVersion;
  }

  #put(object: Named): void {
    const key = keyOf(object);
    const { uid, resourceVersion: version } = object.metadata;
    const before = this.#known.get(key);
    if (before !== undefined && before.uid !== uid) this.#remove(key);
    const same = this.#known.get(key);
    if (same !== undefined && !isNewer(version, same.version)) return;
    const kept = this.#options.keep(withoutOwners(object));
    this.#known.set(key, { uid, version, kept });
    this.#options.changed(kept, same?.kept);
  }

  /** The last state of an object is told with its end, and may be the only word of it. */
  #end(object: Named): void {
    const key = keyOf(object);
    if (this.#known.get(key)?.uid !== object.metadata.uid) return;
    this.#put(object);
    this.#remove(key);
  }

  #remove(key: string): void {
    const before = this.#known.get(key);
    this.#known.delete(key);
    if (before !== undefined) this.#options.changed(undefined, before.kept);
  }
}

/** Calls back when nothing has broken it for its time. */
class Silence {
  readonly #clock: Clock;
  readonly #fire: () => void;
  readonly #over = new AbortController();
  #sinceMs: number;

  constructor(clock: Clock, fire: () => void) {
    this.#clock = clock;
    this.#fire = fire;
    this.#sinceMs = clock.monotonic();
    void this.#listen();
  }

  broken(): void {
    this.#sinceMs = this.#clock.monotonic();
  }

  end(): void {
    this.#over.abort();
  }

  async #listen(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      const leftMs = this.#sinceMs + SILENCE_MS - this.#clock.monotonic();
      if (leftMs <= 0) return this.#fire();
      await this.#clock.sleep(leftMs, signal);
    }
  }
}

function keyOf({ metadata: { namespace, name } }: Named): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Versions grow; one that is no number is believed. */
function isNewer(version: string, than: string): boolean {
  if (version === than) return false;
  return !(Number(version) < Number(than));
}

/** Who owns which field fills half of an object, and nobody here asks. */
function withoutOwners(object: Named): Named {
  const { managedFields: _, ...metadata } = object.metadata as Named["metadata"] & {
    readonly managedFields?: unknown;
  };
  return { ...object, metadata };
}
