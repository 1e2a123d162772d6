import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

type Fields = Record<string, unknown>;
interface Meta {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  deletionTimestamp?: string;
}
export interface StoredObject extends Fields {
  metadata: Meta;
}

interface Change {
  readonly plural: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: StoredObject;
}

interface Refusal {
  readonly fits: RegExp;
  /** Undefined: the request hangs. */
  readonly answer: { readonly status: number; readonly message: string } | undefined;
}

/** Makes one and serves it. */
export async function startFakePodApi(): Promise<FakePodApi> {
  const api = new FakePodApi();
  await api.listen();
  return api;
}

/**
 * As much of an API server as runs of pods need: lists, watches, merge patches, finalizers and
 * preconditions, over HTTP. Tests on a real one say what is true; this gives what that does not
 * give on demand.
 */
export class FakePodApi {
  /** Every request so far, without its query. */
  readonly requests: string[] = [];
  /** What the containers of a pod have printed, by its name. */
  readonly logs = new Map<string, string>();
  readonly #stored = new Map<string, StoredObject>();
  readonly #history: Change[] = [];
  readonly #watches = new Set<{ plural: string; response: ServerResponse }>();
  readonly #refusals: Refusal[] = [];
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #version = 100;

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", () => resolve()));
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  /** What is stored of a plural, such as "pods". */
  all(plural: string): StoredObject[] {
    return [...this.#stored].flatMap(([key, object]) =>
      key.startsWith(`${plural} `) ? [object] : [],
    );
  }

  /** Stores an object as a kubelet or a person would. */
  put(plural: string, object: object): void {
    this.#store(plural, { ...object } as StoredObject, "ADDED");
  }

  /** Changes the object of that name, in whatever namespace it is. */
  change(plural: string, name: string, by: (object: StoredObject) => void): void {
    const object = structuredClone(this.all(plural).find(({ metadata }) => metadata.name === name));
    if (object === undefined) throw new Error(`There is no ${plural} ${name}`);
    by(object);
    this.#settle(plural, object);
  }

  /** Removes an object whatever holds it. */
  drop(plural: string, name: string): void {
    const object = this.all(plural).find(({ metadata }) => metadata.name === name);
    if (object !== undefined) this.#store(plural, object, "DELETED");
  }

  /** The next request that fits is answered so. */
  refuse(fits: RegExp, answer: Refusal["answer"]): void {
    this.#refusals.push({ fits, answer });
  }

  breakWatches(): void {
    for (const { response } of this.#watches) response.destroy();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://x");
    const line = `${request.method} ${url.pathname}`;
    this.requests.push(line);
    const send = (status: number, body: unknown) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(typeof body === "string" ? body : JSON.stringify(body));
    };
    const refused = this.#refusals.findIndex(({ fits }) => fits.test(line));
    const [refusal] = refused < 0 ? [] : this.#refusals.splice(refused, 1);
    if (refusal !== undefined) {
      const { answer } = refusal;
      if (answer !== undefined) send(answer.status, { kind: "Status", message: answer.message });
      return;
    }
    const path = /^\/api\/v1(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(\/log)?$/;
    const [, namespace = "", plural = "", name, log] = path.exec(url.pathname) ?? [];
    if (url.searchParams.has("watch")) return this.#watch(plural, url, response);
    const body = JSON.parse((await text(request)) || "{}");
    const known = log === undefined ? undefined : this.logs.get(name ?? "");
    if (known !== undefined) return send(200, known);
    const at = { method: request.method ?? "", plural, namespace, name };
    const [status, found] = log === undefined ? this.#answer(at, body) : NOT_FOUND;
    send(status, found);
  }

  #answer(
    at: { method: string; plural: string; namespace: string; name: string | undefined },
    body: Fields,
  ): readonly [number, unknown] {
    const { method, plural, namespace, name } = at;
    if (method === "GET" && name === undefined) {
      const metadata = { resourceVersion: String(this.#version) };
      return [200, { metadata, items: this.all(plural) }];
    }
    const sent = (body.metadata ?? {}) as Partial<Meta>;
    const object = this.#stored.get(keyOf(plural, name ?? sent.name ?? "", namespace));
    if (method === "POST") {
      if (object !== undefined) return [409, { kind: "Status", message: "already exists" }];
      const uid = `uid-${this.#version}`;
      const metadata = { ...sent, namespace, uid, resourceVersion: "" } as Meta;
      return [201, this.#store(plural, { ...body, metadata }, "ADDED")];
    }
    if (object === undefined) return NOT_FOUND;
    if (method === "DELETE") {
      const { uid } = (body.preconditions ?? {}) as { uid?: string };
      if (uid !== undefined && uid !== object.metadata.uid) return CHANGED;
      const metadata = { ...object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
      return [200, this.#settle(plural, { ...object, metadata })];
    }
    if (method === "GET") return [200, object];
    const { resourceVersion = object.metadata.resourceVersion } = sent;
    if (resourceVersion !== object.metadata.resourceVersion) return CHANGED;
    return [200, this.#settle(plural, merged(object, body) as StoredObject)];
  }

  #watch(plural: string, url: URL, response: ServerResponse): void {
    const from = Number(url.searchParams.get("resourceVersion"));
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    for (const change of this.#history) {
      const isNew = Number(change.object.metadata.resourceVersion) > from;
      if (change.plural === plural && isNew) response.write(`${JSON.stringify(change)}\n`);
    }
    const own = { plural, response };
    this.#watches.add(own);
    response.on("close", () => this.#watches.delete(own));
  }

  /** What is deleted, and nothing holds any more, goes. */
  #settle(plural: string, object: StoredObject): StoredObject {
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    const goes = deletionTimestamp !== undefined && finalizers.length === 0;
    return this.#store(plural, object, goes ? "DELETED" : "MODIFIED");
  }

  #store(plural: string, object: StoredObject, type: Change["type"]): StoredObject {
    this.#version += 1;
    const next = structuredClone(object);
    next.metadata.resourceVersion = String(this.#version);
    const key = keyOf(plural, next.metadata.name, next.metadata.namespace ?? "");
    if (type === "DELETED") this.#stored.delete(key);
    else this.#stored.set(key, next);
    const change = { plural, type, object: next };
    this.#history.push(change);
    for (const watch of this.#watches) {
      if (watch.plural === plural) watch.response.write(`${JSON.stringify(change)}\n`);
    }
    return next;
  }
}

const NOT_FOUND = [404, { kind: "Status", reason: "NotFound", message: "not found" }] as const;
const CHANGED = [409, { kind: "Status", reason: "Conflict", message: "it is another" }] as const;

function keyOf(plural: string, name: string, namespace: string): string {
  return `${plural} ${namespace} ${name}`;
}

/** A JSON merge patch (RFC 7396). */
function merged(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Fields = isRecord(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  }
  return result;
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
