import { isEvidenceKind, kindOfWord } from "../../evidence/kinds.ts";
import type { EvidenceObject, Place } from "../../evidence/model.ts";

/** What a document of a bundle gives. */
export interface Found {
  readonly objects: readonly EvidenceObject[];
  /** Kinds that were listed, even if the list is empty. */
  readonly kinds: readonly string[];
}

interface Hint {
  /** Kind by the file's path, for what does not say its own. */
  readonly kind: string | undefined;
  readonly apiVersion: string | undefined;
}

const NOTHING: Found = { objects: [], kinds: [] };

/**
 * The objects of one document: an object, a list, or a bare array. An item of a typed list need
 * not say its kind: the list, the path or its fields do. Of each is kept what a doctor reads:
 * never the data of a Secret, nor what managers note about fields.
 */
export function objectsOf(document: unknown, hint: Hint, place: Place): Found {
  if (Array.isArray(document)) return merged(document.map((each) => objectsOf(each, hint, place)));
  if (!isRecord(document)) return NOTHING;
  const own = text(document.kind);
  const apiVersion = text(document.apiVersion) ?? hint.apiVersion;
  if ("items" in document && (own === undefined || /List$/.test(own))) {
    const kind = listKind(own) ?? hint.kind;
    const items = Array.isArray(document.items) ? document.items : [];
    const found = merged(items.map((each) => objectsOf(each, { kind, apiVersion }, place)));
    return { objects: found.objects, kinds: [...found.kinds, ...seen(kind)] };
  }
  const kind = own ?? kindByFields(document) ?? hint.kind;
  const name = isRecord(document.metadata) ? text(document.metadata.name) : undefined;
  if (kind === undefined || name === undefined) return NOTHING;
  if (!isEvidenceKind(kind)) return NOTHING;
  const object = kept({ ...document, kind, apiVersion: apiVersion ?? "" }, place);
  return { objects: [object], kinds: [kind] };
}

/** `PodList` → `Pod`; a plain `List` says nothing. */
export function listKind(kind: string | undefined): string | undefined {
  const found = kind === undefined ? undefined : /^(.+)List$/.exec(kind)?.[1];
  return found;
}

const seen = (kind: string | undefined) =>
  kind !== undefined && isEvidenceKind(kind) ? [kind] : [];

/** The kind that the path of a file speaks of: its name, else its folder. */
export function kindByPath(path: string): string | undefined {
  const parts = path.split("/");
  const base = (parts.at(-1) ?? "").replace(/\.(json|ya?ml)$/, "");
  return kindOfWord(base) ?? kindOfWord(parts.at(-2) ?? "");
}

/** Fields that only one kind has, for items that say no kind. */
const telling: readonly { kind: string; fits: (object: Record<string, unknown>) => boolean }[] = [
  { kind: "Event", fits: (o) => "involvedObject" in o || ("regarding" in o && "reason" in o) },
  { kind: "Node", fits: (o) => has(o.status, "nodeInfo") },
  { kind: "Pod", fits: (o) => has(o.spec, "containers") && !has(o.spec, "template") },
  {
    kind: "Lease",
    fits: (o) => has(o.spec, "leaseDurationSeconds") || has(o.spec, "holderIdentity"),
  },
  {
    kind: "Terraform",
    fits: (o) => has(o.spec, "sourceRef") && has(o.spec, "interval") && has(o.spec, "path"),
  },
  { kind: "EndpointSlice", fits: (o) => "endpoints" in o && "addressType" in o },
];

const kindByFields = (object: Record<string, unknown>) =>
  telling.find((row) => row.fits(object))?.kind;

/** Fields of the body that no recognizer reads and that make an object large, or secret. */
const dropped: Readonly<Record<string, readonly string[]>> = {
  Secret: ["data", "stringData", "binaryData"],
  Event: ["source", "series", "related"],
};

function kept(object: Record<string, unknown>, place: Place): EvidenceObject {
  const { metadata: own, ...body } = object;
  const kind = text(object.kind) ?? "";
  for (const field of dropped[kind] ?? []) delete body[field];
  const trimmed = kind === "Pod" ? { ...body, ...trimmedPod(body) } : body;
  const { managedFields, ...metadata } = isRecord(own) ? own : {};
  const annotations = isRecord(metadata.annotations) ? { ...metadata.annotations } : {};
  delete annotations["kubectl.kubernetes.io/last-applied-configuration"];
  return { ...trimmed, metadata: { ...metadata, annotations }, place } as EvidenceObject;
}

/** Of a pod's spec what says where and what it runs; not its environment, volumes, probes. */
function trimmedPod({ spec }: Record<string, unknown>) {
  if (!isRecord(spec)) return {};
  const containers = (Array.isArray(spec.containers) ? spec.containers : []).filter(isRecord);
  return {
    spec: {
      nodeName: spec.nodeName,
      containers: containers.map(({ name, image, command, args, ports }) => ({
        ...{ name, image, command, args, ports },
      })),
    },
  };
}

/** Events of pods that were pulled and started by the thousand say nothing. */
export function isTelling(object: EvidenceObject): boolean {
  if (object.kind !== "Event") return true;
  const about = isRecord(object.involvedObject) ? object.involvedObject : object.regarding;
  const kind = isRecord(about) ? about.kind : undefined;
  return object.type === "Warning" || kind === "Node" || kind === "Lease";
}

function merged(found: readonly Found[]): Found {
  return {
    objects: found.flatMap((each) => each.objects),
    kinds: [...new Set(found.flatMap((each) => each.kinds))],
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const has = (value: unknown, key: string) => isRecord(value) && key in value;
const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
