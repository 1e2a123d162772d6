import { type AnyObject, keyOf } from "../api/kinds.ts";
import { APPLIED_BY, LAST_APPLIED } from "../api/names.ts";
import type { Call } from "../ports/call.ts";
import { describeRef, isStoreError, type ObjectStore, StoreError } from "../ports/object-store.ts";
import { sameJson } from "./canonical.ts";
import { type Fields, isFields, mergeThreeWay } from "./three-way.ts";

/** "deleting": the object is on its way out, and is made anew once it is gone. */
export type Applied = "created" | "configured" | "unchanged" | "deleting";

const ATTEMPTS = 5;
/** Annotations have room for 256 KiB together; a manifest beyond this wins in every field. */
const REMEMBERED_MAX = 128 * 1024;

/**
 * Makes one object what its manifest says, as `kubectl apply` does: what was applied last stands in
 * an annotation, so that fields which others changed stay (`mergeThreeWay`). Writes nothing if
 * nothing changes. `owner` is put down as whose manifest it is. Fails with StoreError.
 */
export async function applyObject(
  store: ObjectStore,
  object: AnyObject,
  owner: string | undefined,
  call: Call,
): Promise<Applied> {
  const ref = { kind: object.kind, ...keyOf(object) };
  const wanted = wantedFields(object, owner);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const live = await store.get(ref, call);
    if (live?.metadata.deletionTimestamp !== undefined) return "deleting";
    try {
      if (live === undefined) {
        await store.create(assembled(object, { metadata: keyOf(object) }, wanted, {}), call);
        return "created";
      }
      const base = lastApplied(live);
      const next = assembled(object, live, wanted, base);
      if (sameJson(next, live)) return "unchanged";
      await store.update(next, "main", call);
      return "configured";
    } catch (error) {
      // Somebody else wrote in between: look again.
      if (!isStoreError(error, "Conflict") && !isStoreError(error, "AlreadyExists")) throw error;
    }
  }
  throw new StoreError("Conflict", `${describeRef(ref)}: others change it all the time; try again`);
}

/** What a manifest has a say in: labels, annotations, and everything but metadata and status. */
function wantedFields(object: AnyObject, owner: string | undefined): Fields {
  const { apiVersion: _, kind, metadata, ...rest } = object;
  const { status: __, ...fields } = rest as Record<string, unknown>;
  const labels = { ...metadata.labels, ...(owner === undefined ? {} : { [APPLIED_BY]: owner }) };
  const { [LAST_APPLIED]: ___, ...annotations } = metadata.annotations ?? {};
  const content = kind === "Secret" ? foldedSecret(fields) : fields;
  return { ...content, metadata: { labels, annotations } };
}

/** A Secret as the store keeps it, or every look would find a difference. */
function foldedSecret({ stringData, data, ...rest }: Fields): Fields {
  const plain = Object.entries(isFields(stringData) ? stringData : {}).map(([key, value]) => [
    key,
    Buffer.from(String(value)).toString("base64"),
  ]);
  const folded = { ...(isFields(data) ? data : {}), ...Object.fromEntries(plain) };
  return { type: "Opaque", ...rest, ...(Object.keys(folded).length > 0 ? { data: folded } : {}) };
}

function assembled(
  object: AnyObject,
  live: { readonly metadata: AnyObject["metadata"] },
  wanted: Fields,
  base: Fields,
): AnyObject {
  const { metadata, status, ...fields } = live as AnyObject & { status?: unknown };
  const current = {
    ...fields,
    metadata: { labels: metadata.labels ?? {}, annotations: withoutOurs(metadata.annotations) },
  };
  const { metadata: merged, ...content } = mergeThreeWay(base, current, wanted);
  const { labels, annotations } = isFields(merged) ? merged : {};
  const record = remembered(wanted);
  const note = record === undefined ? {} : { [LAST_APPLIED]: record };
  return {
    ...content,
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      ...metadata,
      labels: nonEmpty(labels),
      annotations: nonEmpty({ ...(isFields(annotations) ? annotations : {}), ...note }),
    },
    ...(status === undefined ? {} : { status }),
  } as AnyObject;
}

/** Undefined removes the field where the object had one. */
function nonEmpty(value: unknown): unknown {
  return isFields(value) && Object.keys(value).length > 0 ? value : undefined;
}

function withoutOurs(annotations: Readonly<Record<string, string>> = {}): Fields {
  const { [LAST_APPLIED]: _, ...others } = annotations;
  return others;
}

/**
 * The manifest as it is remembered. Of Secrets and ConfigMaps only which keys there were: the value
 * of a Secret belongs into no annotation, and a ConfigMap's may be too large for one. So their
 * manifest wins over every other writer.
 */
function remembered(wanted: Fields): string | undefined {
  const keysOf = (name: string) => {
    const values = wanted[name];
    if (!isFields(values)) return {};
    return { [name]: Object.fromEntries(Object.keys(values).map((key) => [key, true])) };
  };
  const text = JSON.stringify({ ...wanted, ...keysOf("data"), ...keysOf("binaryData") });
  return Buffer.byteLength(text) <= REMEMBERED_MAX ? text : undefined;
}

function lastApplied(live: AnyObject): Fields {
  try {
    const read: unknown = JSON.parse(live.metadata.annotations?.[LAST_APPLIED] ?? "{}");
    return isFields(read) ? read : {};
  } catch {
    return {};
  }
}
