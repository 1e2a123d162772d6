import type { Call } from "../../ports/call.ts";
import { ApiError } from "./api-error.ts";
import type { Connection } from "./connection.ts";
import { pathOf, type Resource } from "./resources.ts";

/** A whole list, all its pages. */
export interface Listed {
  readonly resource: Resource;
  readonly version: string;
  /** Undefined: the whole cluster. */
  readonly namespace: string | undefined;
  readonly items: readonly Fields[];
  /** The server's own time when it was asked. */
  readonly dateMs: number | undefined;
  readonly origin: string;
}
export type Fields = Readonly<Record<string, unknown>>;

/** Large enough that a cluster of thousands of objects takes few calls. */
const PAGE_ITEMS = 1_000;
const PAGE_LIMIT_MS = 20_000;
/** A list of this many pages is of another size than the doctor was made for. */
const PAGES_MAX = 200;

const METADATA_ONLY =
  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;q=0.1";

/**
 * Lists a kind page by page. A list that the server forgot in between (410) is begun once more;
 * one that cannot be read whole is an ApiError: half a list would make what is missing look gone.
 */
export async function listAll(
  connection: Connection,
  { resource, version, namespace }: Pick<Listed, "resource" | "version" | "namespace">,
  call: Call,
): Promise<Listed> {
  const path = pathOf(resource, version, namespace);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const pages = await allPages(connection, path, resource, call);
      return { resource, version, namespace, ...pages, origin: `GET ${path}` };
    } catch (error) {
      if (attempt > 1 || !(error instanceof ApiError) || error.status !== 410) throw error;
    }
  }
}

async function allPages(
  connection: Connection,
  path: string,
  resource: Resource,
  call: Call,
): Promise<Pick<Listed, "items" | "dateMs">> {
  const items: Fields[] = [];
  let dateMs: number | undefined;
  let next = "";
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const from = next === "" ? "" : `&continue=${encodeURIComponent(next)}`;
    const request = {
      path: `${path}?limit=${PAGE_ITEMS}${from}`,
      limitMs: PAGE_LIMIT_MS,
      ...(resource.metadataOnly ? { accept: METADATA_ONLY } : {}),
    };
    const answer = await connection.json(request, call);
    dateMs ??= answer.dateMs;
    const list = answer.value as { items?: unknown; metadata?: { continue?: unknown } } | null;
    if (Array.isArray(list?.items)) items.push(...(list.items as Fields[]));
    next = typeof list?.metadata?.continue === "string" ? list.metadata.continue : "";
    if (next === "") return { items, dateMs };
  }
  throw new ApiError("too-large", `More than ${PAGES_MAX * PAGE_ITEMS} ${resource.plural}`);
}

/** Which versions of which groups a server has; undefined if it does not say. */
export type Served = ReadonlyMap<string, ReadonlySet<string>> | undefined;

const DISCOVERY_LIMIT_MS = 10_000;

/** Asks once for all groups. Whatever goes wrong, the lists themselves will tell. */
export async function servedGroups(connection: Connection, call: Call): Promise<Served> {
  const request = { path: "/apis", limitMs: DISCOVERY_LIMIT_MS };
  const answer = await connection.json(request, call).catch((error: unknown) => {
    if (error instanceof ApiError && error.why !== "unreachable") return undefined;
    throw error;
  });
  const groups = (answer?.value as { groups?: unknown } | undefined)?.groups;
  if (!Array.isArray(groups)) return undefined;
  const served = new Map<string, ReadonlySet<string>>();
  for (const group of groups as { name?: unknown; versions?: { version?: unknown }[] }[]) {
    const versions = (group.versions ?? []).map((each) => String(each.version));
    served.set(String(group.name), new Set(versions));
  }
  return served;
}

/** The versions to try; none if the server does not have the group at all. */
export function versionsToTry(resource: Resource, served: Served): readonly string[] {
  if (resource.group === "" || served === undefined) return resource.versions;
  const own = served.get(resource.group);
  if (own === undefined) return [];
  const known = resource.versions.filter((version) => own.has(version));
  // Better a version that is new to us than none: its fields are mostly the old ones.
  return known.length > 0 ? known : [...own].slice(0, 1);
}
