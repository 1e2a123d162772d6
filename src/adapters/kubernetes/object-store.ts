import {
  type AnyObject,
  type KindName,
  keyOf,
  kinds,
  type ObjectKey,
  type ObjectOf,
  type ObjectRef,
} from "../../api/kinds.ts";
import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";
import {
  describeRef,
  type ListOptions,
  type ObjectList,
  type ObjectStore,
  type Preconditions,
  StoreError,
  type WatchEvent,
  type WatchOptions,
} from "../../ports/object-store.ts";
import type { Connection, Request } from "./connection.ts";
import { askPatiently } from "./patience.ts";
import { pathOf } from "./resources.ts";
import { storeError } from "./store-error.ts";
import { watchEvents } from "./watch.ts";

/** Bound on one request. */
const REQUEST_MS = 30_000;
const PAGE_ITEMS = 500;
/** The server ends a watch after about so long, so that load spreads over its replicas. */
const WATCH_SECONDS = 300;
const WATCH_SLACK_MS = 30_000;

export interface ApiServerPorts {
  readonly connection: Connection;
  readonly clock: Pick<Clock, "sleep">;
  /** Lists and watches that name no namespace see this one alone; all if left out. */
  readonly namespace?: string | undefined;
}

/** The ObjectStore of a cluster: its API server. Bookkeeping of field owners is left out. */
export class ApiServerStore implements ObjectStore {
  readonly #connection: Connection;
  readonly #clock: Pick<Clock, "sleep">;
  readonly #namespace: string | undefined;

  constructor({ connection, clock, namespace }: ApiServerPorts) {
    this.#connection = connection;
    this.#clock = clock;
    this.#namespace = namespace;
  }

  async get<K extends KindName>(ref: ObjectRef<K>, call: Call): Promise<ObjectOf<K> | undefined> {
    try {
      return await this.#one(ref, { path: objectPath(ref) }, call);
    } catch (error) {
      if (error instanceof StoreError && error.code === "NotFound") return undefined;
      throw error;
    }
  }

  async list<K extends KindName>(kind: K, where: ListOptions, call: Call): Promise<ObjectList<K>> {
    const items: ObjectOf<K>[] = [];
    let page = "";
    for (;;) {
      const query = new URLSearchParams({ limit: String(PAGE_ITEMS) });
      const labels = Object.entries(where.labels ?? {}).map(([key, value]) => `${key}=${value}`);
      if (labels.length > 0) query.set("labelSelector", labels.join(","));
      if (page !== "") query.set("continue", page);
      const path = `${kindPath(kind, where.namespace ?? this.#namespace)}?${query}`;
      const request = { path, ...accepting("PartialObjectMetadataList", where) };
      const list = (await this.#json(`Listing ${kind}`, request, call)) as {
        metadata: { resourceVersion: string; continue?: string };
        items: unknown[] | null;
      };
      for (const item of list.items ?? []) items.push(received(kind, item));
      page = list.metadata.continue ?? "";
      if (page === "") return { resourceVersion: list.metadata.resourceVersion, items };
    }
  }

  async create<T extends AnyObject>(object: T, call: Call): Promise<ObjectOf<T["kind"]>> {
    const ref: ObjectRef<T["kind"]> = { kind: object.kind, ...keyOf(object) };
    // The server would refuse it as a fault of its own.
    if (object.metadata.resourceVersion !== undefined) {
      const text = `${describeRef(ref)}: metadata.resourceVersion must not be set on a new object`;
      throw new StoreError("Invalid", text);
    }
    const path = kindPath(ref.kind, ref.namespace);
    return this.#one(ref, { method: "POST", path, body: JSON.stringify(object) }, call);
  }

  async update<T extends AnyObject>(
    object: T,
    part: "main" | "status",
    call: Call,
  ): Promise<ObjectOf<T["kind"]>> {
    const ref: ObjectRef<T["kind"]> = { kind: object.kind, ...keyOf(object) };
    // A kind of Kubernetes' own would take it, and overwrite what somebody else wrote.
    if (object.metadata.resourceVersion === undefined) {
      throw new StoreError("Conflict", `${describeRef(ref)}: a change must carry resourceVersion`);
    }
    const path = `${objectPath(ref)}${part === "status" ? "/status" : ""}`;
    return await this.#one(ref, { method: "PUT", path, body: JSON.stringify(object) }, call);
  }

  async delete(ref: ObjectRef, preconditions: Preconditions, call: Call): Promise<void> {
    const body = {
      ...{ apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Background" },
      ...(Object.keys(preconditions).length === 0 ? {} : { preconditions }),
    };
    const request = {
      method: "DELETE",
      path: objectPath(ref),
      body: JSON.stringify(body),
    } as const;
    await this.#json(describeRef(ref), request, call);
  }

  async *watch<K extends KindName>(
    kind: K,
    from: WatchOptions,
    call: Call,
  ): AsyncIterable<WatchEvent<ObjectOf<K>>> {
    let version = from.resourceVersion;
    // Each turn is one request; the server ends it from time to time, and the next goes on.
    while (!call.signal.aborted) {
      const query = new URLSearchParams({
        ...{ watch: "1", allowWatchBookmarks: "true", resourceVersion: version },
        timeoutSeconds: String(WATCH_SECONDS),
      });
      const request = {
        path: `${kindPath(kind, from.namespace ?? this.#namespace)}?${query}`,
        limitMs: WATCH_SECONDS * 1_000 + WATCH_SLACK_MS,
        ...accepting("PartialObjectMetadata", from),
      };
      try {
        for await (const event of watchEvents(this.#connection, request, call)) {
          version = event.resourceVersion;
          if (event.type === "BOOKMARK") yield { type: "BOOKMARK", resourceVersion: version };
          else yield { type: event.type, object: received(kind, event.object) };
        }
      } catch (error) {
        if (call.signal.aborted) return;
        throw storeError(`Watching ${kind}`, error, call);
      }
    }
  }

  async #one<K extends KindName>(
    ref: ObjectRef<K>,
    request: Asked,
    call: Call,
  ): Promise<ObjectOf<K>> {
    return received(ref.kind, await this.#json(describeRef(ref), request, call));
  }

  /** `what` begins the message if it goes wrong. */
  async #json(what: string, request: Asked, call: Call): Promise<unknown> {
    const ask = () => this.#connection.json({ ...request, limitMs: REQUEST_MS }, call);
    try {
      return (await askPatiently(this.#clock, ask, call)).value;
    } catch (error) {
      throw storeError(what, error, call);
    }
  }
}

type Asked = Omit<Request, "limitMs">;

/** Values of a Secret that nobody asked for do not even leave the server. */
function accepting(as: string, { metadataOnly }: { readonly metadataOnly?: boolean }) {
  if (metadataOnly !== true) return {};
  return { accept: `application/json;as=${as};g=meta.k8s.io;v=v1,application/json;q=0.1` };
}

function kindPath(kind: KindName, namespace: string | undefined): string {
  const { apiVersion, plural } = kinds[kind];
  const slash = apiVersion.indexOf("/");
  const group = apiVersion.slice(0, Math.max(slash, 0));
  const version = apiVersion.slice(slash + 1);
  return pathOf(
    { group, plural },
    version,
    namespace === undefined ? namespace : segment(namespace),
  );
}

function objectPath(ref: { kind: KindName } & ObjectKey): string {
  return `${kindPath(ref.kind, ref.namespace)}/${segment(ref.name)}`;
}

/** A name that is none must not become another path, least of all that of the whole list. */
function segment(name: string): string {
  if (name === "" || name === "." || name === "..") {
    throw new StoreError("Invalid", `"${name}" is no name of an object`);
  }
  return encodeURIComponent(name);
}

/** An object as the engine knows it: of a stated kind, and without the owners of its fields. */
function received<K extends KindName>(kind: K, value: unknown): ObjectOf<K> {
  const object = value as { metadata: { managedFields?: unknown } };
  // Items of a list do not tell their kind.
  const whole = { ...object, apiVersion: kinds[kind].apiVersion, kind };
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...whole, metadata } as unknown as ObjectOf<K>;
}
