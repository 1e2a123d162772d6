import { isDeepStrictEqual } from "node:util";
import { kinds } from "../api/kinds.ts";
import { describeRef, StoreError } from "../ports/object-store.ts";
import { errorAt, type Problem } from "./problem.ts";
import type { Stored } from "./shelf.ts";
import { mapOf, problemsOf, withoutBreaks } from "./validity.ts";

/**
 * What becomes of an object that somebody hands in: the bookkeeping of metadata as the Kubernetes
 * API does it. Pure; nothing here writes. Refusals are StoreError `Invalid` or `Conflict`.
 */

export interface Birth {
  readonly uid: string;
  readonly nowMs: number;
}

/** The object as it will be created. */
export function admitNew(input: Stored, { uid, nowMs }: Birth): Stored {
  const { resourceVersion, deletionTimestamp, deletionGracePeriodSeconds, generation, ...given } =
    input.metadata;
  const namespace = given.namespace ?? "default";
  const counted = kinds[input.kind].hasStatus ? { generation: 1 } : {};
  const object: Stored = normalized({
    ...input,
    metadata: { ...given, namespace, uid, ...counted, creationTimestamp: timestamp(nowMs) },
  });
  // Status is written apart, by the one who observes; what a manifest says of it is no fact. The
  // definitions of these kinds begin it like this: nobody has looked yet.
  if (kinds[input.kind].hasStatus) object.status = { observedGeneration: -1 };
  const wrong = problemsOf(object);
  if (resourceVersion !== undefined) {
    const text = "must not be set on an object to be created; remove it";
    wrong.push(errorAt(["metadata", "resourceVersion"], text));
  }
  refuse(object, wrong);
  return object;
}

/** The object as it will be after this change; equal to `stored` if nothing changes. */
export function admitChange(stored: Stored, input: Stored): Stored {
  const { generation } = stored.metadata;
  const next: Stored = normalized({ ...input, metadata: keepOwned(stored, input) });
  if (kinds[stored.kind].hasStatus) {
    delete next.status;
    if (stored.status !== undefined) next.status = stored.status;
  }
  refuse(next, [...problemsOf(next), ...changeProblems(stored, next)]);
  if (generation === undefined || isDeepStrictEqual(counted(stored), counted(next))) return next;
  return { ...next, metadata: { ...next.metadata, generation: generation + 1 } };
}

/** The stored object with the status of `input`. */
export function admitStatus(stored: Stored, input: Stored): Stored {
  if (!kinds[stored.kind].hasStatus) {
    refuse(stored, [errorAt(["status"], `a ${stored.kind} has none; change the object`)]);
  }
  const { status: _, ...rest } = stored;
  const next = input.status === undefined ? rest : { ...rest, status: input.status };
  refuse(next as Stored, problemsOf(next as Stored));
  return next as Stored;
}

/** The object marked as being deleted; its generation counts up, as in Kubernetes. */
export function admitDeletion(stored: Stored, nowMs: number): Stored {
  const { generation } = stored.metadata;
  return {
    ...stored,
    metadata: {
      ...stored.metadata,
      ...(generation === undefined ? {} : { generation: generation + 1 }),
      deletionTimestamp: timestamp(nowMs),
      deletionGracePeriodSeconds: 0,
    },
  };
}

/** Refuses with Conflict unless what the caller knows of the object still holds. */
export function refuseStale(
  stored: Stored,
  known: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined },
): void {
  const name = nameOf(stored);
  const { uid, resourceVersion } = stored.metadata;
  if (known.uid !== undefined && known.uid !== uid) {
    throw new StoreError("Conflict", `${name}: was deleted and made anew meanwhile; read it again`);
  }
  if (known.resourceVersion !== undefined && known.resourceVersion !== resourceVersion) {
    throw new StoreError(
      "Conflict",
      `${name}: changed since it was read (version ${known.resourceVersion} is now ` +
        `${resourceVersion}); read it again and repeat the change`,
    );
  }
}

/** Seconds, as Kubernetes writes times. */
export function timestamp(nowMs: number): string {
  return new Date(Math.floor(nowMs / 1_000) * 1_000).toISOString().replace(".000Z", "Z");
}

export function nameOf({ kind, metadata }: Stored): string {
  return describeRef({ kind, namespace: metadata.namespace ?? "default", name: metadata.name });
}

function refuse(object: Stored, problems: readonly Problem[]): void {
  if (problems.length === 0) return;
  throw new StoreError(
    "Invalid",
    `${nameOf(object)}: ${problems.map(({ text }) => text).join("; ")}`,
  );
}

/** The part of an object whose changes a generation counts. */
function counted({ metadata: _, status: __, ...rest }: Stored): unknown {
  return rest;
}

function normalized(object: Stored): Stored {
  return object.kind === "Secret" ? foldStringData(object) : object;
}

/** Secrets are kept as base64 under `data`; `stringData` is only a way to write them. */
function foldStringData(secret: Stored): Stored {
  const { stringData, data, ...rest } = secret;
  // Made from entries, so that a key such as __proto__ is a key like any other.
  const folded = Object.fromEntries([
    ...Object.entries(mapOf(data)).map(([key, value]) => [key, bare(value)]),
    ...Object.entries(mapOf(stringData)).map(([key, value]) => [key, encoded(value)]),
  ]);
  const held = Object.keys(folded).length === 0 ? {} : { data: folded };
  return { ...rest, type: rest.type ?? "Opaque", ...held } as Stored;
}

/** Values of another type are left for `problemsOf` to refuse. */
function bare(value: unknown): unknown {
  return typeof value === "string" ? withoutBreaks(value) : value;
}
function encoded(value: unknown): unknown {
  return typeof value === "string" ? Buffer.from(value).toString("base64") : value;
}

function changeProblems(stored: Stored, next: Stored): Problem[] {
  const problems: Problem[] = [];
  if (stored.metadata.deletionTimestamp !== undefined) {
    const had = new Set(stored.metadata.finalizers);
    const added = (next.metadata.finalizers ?? []).filter((each) => !had.has(each));
    if (added.length > 0) {
      const text = `${added.join(", ")} cannot be added while the object is being deleted`;
      problems.push(errorAt(["metadata", "finalizers"], text));
    }
  }
  if (stored.kind === "Secret" && stored.type !== next.type) {
    problems.push(errorAt(["type"], "cannot be changed; delete the Secret and make it anew"));
  }
  if (stored.immutable === true && holdsData(stored)) {
    for (const field of ["immutable", "data", "binaryData"]) {
      if (isDeepStrictEqual(stored[field], next[field])) continue;
      const text = `cannot be changed, since the ${stored.kind} is immutable; make it anew`;
      problems.push(errorAt([field], text));
    }
  }
  return problems;
}

function holdsData({ kind }: Stored): boolean {
  return kind === "Secret" || kind === "ConfigMap";
}

/** The metadata of `input`, with what the store alone decides as it is stored. */
function keepOwned(stored: Stored, input: Stored): Stored["metadata"] {
  const metadata: Record<string, unknown> = { ...input.metadata };
  for (const field of OWNED) {
    if (stored.metadata[field] === undefined) delete metadata[field];
    else metadata[field] = stored.metadata[field];
  }
  return metadata as Stored["metadata"];
}

const OWNED = [
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const;
