import type { CellResult } from "./matrix.ts";

export interface Summary {
  /** All that were asked for. */
  readonly cells: number;
  readonly asExpected: number;
  readonly impossible: number;
  readonly skipped: number;
  readonly failed: number;
  /** The largest figure of each kind, in milliseconds. */
  readonly worst: Readonly<Record<string, number>>;
}

export function summaryOf(results: readonly CellResult[]): Summary {
  const count = (came: CellResult["came"]) => results.filter((each) => each.came === came).length;
  const worst: Record<string, number> = {};
  for (const { figures } of results) {
    for (const [name, ms] of Object.entries(figures)) {
      worst[name] = Math.max(worst[name] ?? 0, Math.round(ms));
    }
  }
  return {
    cells: results.length,
    asExpected: count("as-expected"),
    impossible: count("impossible"),
    skipped: count("skipped"),
    failed: count("failed"),
    worst,
  };
}
