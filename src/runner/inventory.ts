import type { Inventory } from "../protocol/messages.ts";
import { listOf, recordOf } from "./results.ts";

/** Bytes of entries, for they end in an object's status, which has room for about 1 MiB. */
const ENTRIES_BYTES_MAX = 256 << 10;

/**
 * The managed resources of a state as `show -json` tells it (`values` of a state, or of a plan's
 * `prior_state`), sorted. The identifier is the attribute `arn`, else `id`, whatever its type;
 * empty if it has neither.
 */
export function inventoryOf(values: unknown): Inventory {
  const all = [...resourcesIn(recordOf(values).root_module)].sort(
    (a, b) => compare(a.t, b.t) || compare(a.n, b.n) || compare(a.id, b.id),
  );
  let bytes = 0;
  const entries = all.filter(({ n, t, id }) => {
    bytes += Buffer.byteLength(n + t + id) + 24;
    return bytes <= ENTRIES_BYTES_MAX;
  });
  return { entries, more: all.length - entries.length };
}

type Entry = Inventory["entries"][number];

function* resourcesIn(module: unknown): Iterable<Entry> {
  const { resources, child_modules: children } = recordOf(module);
  for (const each of listOf(resources)) {
    const { mode, name, type, values } = recordOf(each);
    if (mode !== "managed" || typeof name !== "string" || typeof type !== "string") continue;
    const { arn, id } = recordOf(values);
    yield { n: name, t: type, id: textOf(arn ?? id) };
  }
  for (const child of listOf(children)) yield* resourcesIn(child);
}

/** An identifier may be a number, or not be known at all. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
