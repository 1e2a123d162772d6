import type { ClusterObject } from "../../ports/cluster.ts";

/** Fields of objects whose form nobody has checked: what is not there is undefined. */

export function at(object: unknown, ...path: readonly (string | number)[]): unknown {
  let value = object;
  for (const step of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Readonly<Record<string | number, unknown>>)[step];
  }
  return value;
}

export function textAt(object: unknown, ...path: readonly (string | number)[]): string {
  const found = at(object, ...path);
  return typeof found === "string" ? found : "";
}

export function listAt(object: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = at(object, ...path);
  return Array.isArray(found) ? found : [];
}

export function namespaced({ metadata }: ClusterObject): string {
  return metadata.namespace === undefined
    ? metadata.name
    : `${metadata.namespace}/${metadata.name}`;
}

export function condition(object: unknown, type: string): unknown {
  return listAt(object, "status", "conditions").find((each) => textAt(each, "type") === type);
}
