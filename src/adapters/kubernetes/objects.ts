import type { EvidenceObject, Gap } from "../../evidence/model.ts";
import { redactObject } from "../../evidence/redaction.ts";
import type { Call } from "../../ports/call.ts";
import { ApiError } from "./api-error.ts";
import type { Connection } from "./connection.ts";
import { type Fields, type Listed, listAll, type Served, versionsToTry } from "./list.ts";
import { commandOf, type Resource } from "./resources.ts";

/** One kind as far as it could be read. */
export interface KindRead {
  readonly resource: Resource;
  /** Redacted, each with its kind. */
  readonly items: readonly EvidenceObject[];
  /** It was listed, if only in some namespaces: "there is none" means it there. */
  readonly listed: boolean;
  readonly gaps: readonly Gap[];
  readonly origins: readonly string[];
  readonly dateMs: number | undefined;
}

/** Lists one kind in the whole cluster. A cluster that does not know the kind has none of it. */
export async function readKind(
  connection: Connection,
  resource: Resource,
  served: Served,
  call: Call,
): Promise<KindRead> {
  try {
    return await listed(connection, resource, { served, namespace: undefined }, call);
  } catch (error) {
    return unread(resource, undefined, troubleOf(error));
  }
}

/**
 * Lists one kind in some namespaces, because the whole cluster may not be listed. Of most kinds
 * all of these must be readable: half of them would make what is missing look gone.
 */
export async function readKindIn(
  connection: Connection,
  resource: Resource,
  where: { readonly served: Served; readonly namespaces: readonly string[] },
  call: Call,
): Promise<KindRead> {
  const reads = await Promise.all(
    where.namespaces.map((namespace) =>
      listed(connection, resource, { served: where.served, namespace }, call).catch(
        (error: unknown) => unread(resource, namespace, troubleOf(error)),
      ),
    ),
  );
  const whole = wholeGap(resource, reads, where.namespaces);
  const isUsable =
    reads.some((each) => each.listed) &&
    (MAY_BE_PARTIAL.has(resource.kind) || reads.every((each) => each.listed));
  const gaps = [whole, ...reads.flatMap((each) => each.gaps)];
  if (!isUsable) return { ...unread(resource, undefined, new ApiError("absent", "")), gaps };
  return {
    resource,
    items: reads.flatMap((each) => each.items),
    listed: true,
    gaps,
    origins: reads.flatMap((each) => each.origins),
    dateMs: reads.find((each) => each.dateMs !== undefined)?.dateMs,
  };
}

/** Kinds of which the doctor knows what it means that one namespace could not be read. */
const MAY_BE_PARTIAL: ReadonlySet<string> = new Set(["Terraform", "Pod", "Event"]);

function wholeGap(
  resource: Resource,
  reads: readonly KindRead[],
  namespaces: readonly string[],
): Gap {
  const read = namespaces.filter((_, index) => reads[index]?.listed === true);
  const detail = `Only in namespaces: ${read.length === 0 ? "none" : read.join(", ")}`;
  return { ...gapOf(resource, undefined, new ApiError("not-permitted", detail)) };
}

async function listed(
  connection: Connection,
  resource: Resource,
  { served, namespace }: { readonly served: Served; readonly namespace: string | undefined },
  call: Call,
): Promise<KindRead> {
  let newest: Listed | undefined;
  for (const version of versionsToTry(resource, served)) {
    try {
      newest = await listAll(connection, { resource, version, namespace }, call);
      break;
    } catch (error) {
      // This version does not have the kind; an older one may.
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    }
  }
  return {
    resource,
    items: newest === undefined ? [] : newest.items.flatMap((item) => shown(item, newest)),
    listed: true,
    gaps: [],
    origins: newest === undefined ? [] : [newest.origin],
    dateMs: newest?.dateMs,
  };
}

function shown(item: Fields, { resource, version, origin }: Listed): EvidenceObject[] {
  const metadata = item.metadata as { name?: unknown } | undefined;
  if (typeof metadata?.name !== "string") return [];
  const apiVersion = resource.group === "" ? version : `${resource.group}/${version}`;
  const named = { ...item, apiVersion, kind: resource.kind };
  return [{ ...redactObject(named), place: { origin } } as unknown as EvidenceObject];
}

function unread(resource: Resource, namespace: string | undefined, error: ApiError): KindRead {
  return {
    ...{ resource, items: [], listed: false, origins: [], dateMs: undefined },
    gaps: [gapOf(resource, namespace, error)],
  };
}

function gapOf(resource: Resource, namespace: string | undefined, error: ApiError): Gap {
  return {
    what: namespace === undefined ? resource.plural : `${resource.plural} in ${namespace}`,
    kind: resource.kind,
    ...(namespace === undefined ? {} : { namespace }),
    why: gapWhy(error),
    detail: error.message,
    command: commandOf(resource, namespace),
  };
}

export function gapWhy(error: ApiError): Gap["why"] {
  return error.why === "unreachable" ? "timed-out" : error.why;
}

/** A trouble of the API; anything else is a bug, or the end of the whole call. */
export function troubleOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  throw error;
}
