import { timeMs } from "./log-line.ts";
import type { EvidenceObject } from "./model.ts";

/*
 * Reading fields of objects that came from anywhere: a field of the wrong type is a field that is
 * not there.
 */

export type Fields = Readonly<Record<string, unknown>>;

export function fields(value: unknown): Fields {
  const isRecord = typeof value === "object" && value !== null && !Array.isArray(value);
  return isRecord ? (value as Fields) : {};
}

export function at(value: unknown, ...path: readonly string[]): unknown {
  let found: unknown = value;
  for (const key of path) found = fields(found)[key];
  return found;
}

export function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function list(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fields) : [];
}

export function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

/** Milliseconds since 1970 of an RFC 3339 field. */
export const time = timeMs;

/** `namespace/name`, or the name alone of what has no namespace. */
export function keyOf(object: EvidenceObject): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** `Kind/namespace/name`; of cluster-wide kinds `Kind/name`. */
export function refOf(object: EvidenceObject): string {
  return `${object.kind}/${keyOf(object)}`;
}

export interface ConditionView {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** When status, reason or message last changed; whole seconds. */
  readonly sinceMs: number | undefined;
}

/** A condition of an object's status by its type. */
export function conditionOf(object: EvidenceObject, type: string): ConditionView | undefined {
  const found = list(at(object.status, "conditions")).find((each) => each.type === type);
  if (found === undefined) return undefined;
  return {
    type,
    status: text(found.status) ?? "Unknown",
    reason: text(found.reason) ?? "",
    message: text(found.message) ?? "",
    sinceMs: time(found.lastTransitionTime),
  };
}
