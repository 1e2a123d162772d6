import { createHash } from "node:crypto";

/** JSON with the keys of every object sorted: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : part,
  );
}

/** Whether both say the same as JSON: absent and undefined are one, the order of keys is none. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    const both = Array.isArray(a) && Array.isArray(b) && a.length === b.length;
    return both && a.every((each, index) => sameJson(each ?? null, b[index] ?? null));
  }
  const [one, other] = [Object.entries(a), Object.entries(b)].map((entries) =>
    entries.filter(([, value]) => value !== undefined),
  );
  const of = new Map<string, unknown>(other);
  return one?.length === of.size && one.every(([key, value]) => sameJson(value, of.get(key)));
}

/** As lower-case hex. */
export function sha256Hex(content: Uint8Array | string): string {
  return createHash("sha256").update(content).digest("hex");
}
