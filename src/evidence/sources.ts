import { at, type ConditionView, conditionOf, keyOf, refOf, text, time } from "./fields.ts";
import type { EvidenceObject, Place } from "./model.ts";

/** A Flux source and the artifact it offers now. */
export interface SourceView {
  readonly kind: string;
  readonly key: string;
  readonly ref: string;
  readonly revision: string | undefined;
  readonly updatedMs: number | undefined;
  readonly url: string | undefined;
  readonly ready: ConditionView | undefined;
  readonly suspended: boolean;
  readonly place: Place;
}

export const sourceKinds = ["GitRepository", "OCIRepository", "Bucket"] as const;

export function sourceView(object: EvidenceObject): SourceView {
  const artifact = at(object.status, "artifact");
  return {
    kind: object.kind,
    key: keyOf(object),
    ref: refOf(object),
    revision: text(at(artifact, "revision")),
    updatedMs: time(at(artifact, "lastUpdateTime")),
    url: text(at(artifact, "url")),
    ready: conditionOf(object, "Ready"),
    suspended: at(object.spec, "suspend") === true,
    place: object.place,
  };
}
