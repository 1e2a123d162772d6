import { sameJson } from "./canonical.ts";

export type Fields = Readonly<Record<string, unknown>>;

/**
 * Brings a manifest into an object that others write too. For every field the one who changed it
 * since `base` wins: the manifest if it says something new there, else whoever changed the object.
 * A field that the manifest has dropped goes; one that it never had stays. Lists are one value.
 */
export function mergeThreeWay(base: Fields, live: Fields, manifest: Fields): Fields {
  const merged: Record<string, unknown> = { ...live };
  for (const [name, value] of Object.entries(manifest)) {
    const was = base[name];
    const is = live[name];
    if (isFields(value) && isFields(is)) {
      merged[name] = mergeThreeWay(isFields(was) ? was : {}, is, value);
    } else if (!Object.hasOwn(base, name) || !sameJson(was, value)) {
      merged[name] = value;
    }
  }
  for (const [name, was] of Object.entries(base)) {
    if (Object.hasOwn(manifest, name)) continue;
    const is = live[name];
    const rest = isFields(was) && isFields(is) ? mergeThreeWay(was, is, {}) : {};
    if (Object.keys(rest).length === 0) delete merged[name];
    else merged[name] = rest;
  }
  return merged;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
