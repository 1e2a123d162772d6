import { expect, test } from "vitest";
import { faults, stages } from "../../src/testing/faults/cells.ts";
import { type Cell, type CellResult, lineOf, runMatrix } from "../../src/testing/faults/matrix.ts";
import { summaryOf } from "../../src/testing/faults/summary.ts";

// The whole matrix of docs/faults.md, as `npm run faults` goes through it. A cell that fails is
// tried once more, as every test on real parts is, and both tries are shown.

const LIMIT_MS = 1_200_000;

async function run(only: (cell: Cell) => boolean): Promise<CellResult[]> {
  return await runMatrix({ only, say: (line) => process.stdout.write(`${line}\n`) });
}

test("every fault in every stage comes to its end", { timeout: LIMIT_MS, retry: 0 }, async () => {
  const first = await run(() => true);
  const failed = first.filter(({ came }) => came === "failed");
  const again =
    failed.length === 0
      ? []
      : await run(({ stage, fault }) => {
          return failed.some((each) => each.stage === stage && each.fault === fault);
        });
  const results = [...first.filter(({ came }) => came !== "failed"), ...again];
  process.stdout.write(`${JSON.stringify(summaryOf(results))}\n`);
  expect(results).toHaveLength(stages.length * faults.length);
  expect(results.filter(({ came }) => came === "failed").map(lineOf)).toEqual([]);
});
