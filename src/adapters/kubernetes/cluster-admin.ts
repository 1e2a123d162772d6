import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";
import {
  type ClusterAdmin,
  type ClusterKey,
  type ClusterKind,
  type ClusterObject,
  type ClusterQuery,
  clusterKinds,
  type Right,
} from "../../ports/cluster.ts";
import { isStoreError, StoreError } from "../../ports/object-store.ts";
import type { Connection, Request } from "./connection.ts";
import type { ClusterAccess } from "./kubeconfig.ts";
import { askPatiently } from "./patience.ts";
import { pathOf } from "./resources.ts";
import { storeError } from "./store-error.ts";

const REQUEST_MS = 30_000;
const PAGE_ITEMS = 500;
const METADATA =
  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;q=0.1";

export interface ClusterAdminPorts {
  readonly connection: Connection;
  readonly clock: Pick<Clock, "sleep">;
}

/** How a person calls the cluster behind an access. */
export function clusterName({ name, server }: Pick<ClusterAccess, "name" | "server">): string {
  return `cluster ${name} (${server.host})`;
}

/** The cluster behind a connection. */
export class ApiServerAdmin implements ClusterAdmin {
  readonly name: string;
  readonly namespace: string;
  readonly #ports: ClusterAdminPorts;
  #date: number | undefined;

  constructor(access: ClusterAccess, ports: ClusterAdminPorts) {
    this.name = clusterName(access);
    this.namespace = access.namespace;
    this.#ports = ports;
  }

  nowMs(): number | undefined {
    return this.#date;
  }

  async list(kind: ClusterKind, where: ClusterQuery, call: Call): Promise<ClusterObject[]> {
    const found: ClusterObject[] = [];
    const { labels, fields, metadataOnly = false } = where;
    for (let page = ""; ; ) {
      const query = new URLSearchParams({
        limit: String(PAGE_ITEMS),
        ...(labels === undefined ? {} : { labelSelector: labels }),
        ...(fields === undefined ? {} : { fieldSelector: fields }),
        ...(page === "" ? {} : { continue: page }),
      });
      const path = `${kindPath(kind, where.namespace)}?${query}`;
      const request = { path, ...(metadataOnly ? { accept: METADATA } : {}) };
      const list = (await this.#ask(`Listing ${kind}`, request, call).catch(none)) as List;
      found.push(...(list.items ?? []));
      page = list.metadata?.continue ?? "";
      if (page === "") return found;
    }
  }

  async get(kind: ClusterKind, key: ClusterKey, call: Call): Promise<ClusterObject | undefined> {
    try {
      const path = objectPath(kind, key);
      return (await this.#ask(textOf(kind, key), { path }, call)) as ClusterObject;
    } catch (error) {
      if (isStoreError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  async create(kind: ClusterKind, object: ClusterObject, call: Call): Promise<ClusterObject> {
    const { namespace, name } = object.metadata;
    const path = kindPath(kind, namespace);
    const request = { method: "POST", path, body: JSON.stringify(object) } as const;
    return (await this.#ask(textOf(kind, { namespace, name }), request, call)) as ClusterObject;
  }

  async patch(kind: ClusterKind, key: ClusterKey, fields: object, call: Call): Promise<void> {
    const request = {
      method: "PATCH",
      path: objectPath(kind, key),
      body: JSON.stringify(fields),
      contentType: "application/merge-patch+json",
    } as const;
    await this.#ask(textOf(kind, key), request, call);
  }

  async delete(
    kind: ClusterKind,
    key: ClusterKey & { readonly uid: string },
    call: Call,
  ): Promise<void> {
    const options = {
      ...{ apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Background" },
      preconditions: { uid: key.uid },
    };
    const body = JSON.stringify(options);
    const request = { method: "DELETE", path: objectPath(kind, key), body } as const;
    try {
      await this.#ask(textOf(kind, key), request, call);
    } catch (error) {
      // A conflict is another object under that name.
      if (!isStoreError(error, "NotFound") && !isStoreError(error, "Conflict")) throw error;
    }
  }

  async mayI({ verb, kind, part, namespace }: Right, call: Call): Promise<boolean> {
    const { group, plural: resource } = clusterKinds[kind];
    const resourceAttributes = {
      ...{ verb, group, resource },
      ...(part === undefined ? {} : { subresource: part }),
      ...(namespace === undefined ? {} : { namespace }),
    };
    const review = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes },
    };
    const request = {
      method: "POST",
      path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      body: JSON.stringify(review),
    } as const;
    const answer = (await this.#ask("Asking for rights", request, call)) as {
      status?: { allowed?: boolean };
    };
    return answer.status?.allowed === true;
  }

  /** `what` begins the message if it goes wrong. */
  async #ask(what: string, request: Omit<Request, "limitMs">, call: Call): Promise<unknown> {
    const { connection, clock } = this.#ports;
    const ask = () => connection.json({ ...request, limitMs: REQUEST_MS }, call);
    try {
      const { value, dateMs } = await askPatiently(clock, ask, call);
      this.#date = dateMs ?? this.#date;
      return value;
    } catch (error) {
      throw storeError(what, error, call);
    }
  }
}

interface List {
  readonly metadata?: { readonly continue?: string };
  readonly items?: readonly ClusterObject[] | null;
}

/** A path that the server does not know: it has no such kind, and so none of it. */
function none(error: unknown): List {
  const cause = error instanceof StoreError ? error.cause : undefined;
  const status = cause instanceof Error && "status" in cause ? cause.status : undefined;
  if (status === 404) return {};
  throw error;
}

function kindPath(kind: ClusterKind, namespace: string | undefined): string {
  const { group, version, plural } = clusterKinds[kind];
  const where = namespace === undefined ? undefined : segment(namespace);
  return pathOf({ group, plural }, version, where);
}

function objectPath(kind: ClusterKind, { namespace, name }: ClusterKey): string {
  return `${kindPath(kind, namespace)}/${segment(name)}`;
}

/** A name that is none must not become another path. */
function segment(name: string): string {
  if (name === "" || name === "." || name === "..") {
    throw new StoreError("Invalid", `"${name}" is no name of an object`);
  }
  return encodeURIComponent(name);
}

function textOf(kind: ClusterKind, { namespace, name }: ClusterKey): string {
  return `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}
