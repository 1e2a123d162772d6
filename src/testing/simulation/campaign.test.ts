import { availableParallelism } from "node:os";
import { expect, test } from "vitest";
import { trySeeds } from "./pool.ts";
import { failureText } from "./summary.ts";

/**
 * A few worlds; the whole campaign is a step of its own, `npm run sim`. NIGARI_SEEDS=500 for a long
 * night, NIGARI_SEED=42 to begin at the one that failed.
 */
const COUNT = Number(process.env.NIGARI_SEEDS ?? 60);
const FIRST = Number(process.env.NIGARI_SEED ?? 1);

test("whatever strikes, every object comes to its end", async () => {
  const seeds = Array.from({ length: COUNT }, (_, index) => FIRST + index);
  const jobs = Math.min(2, availableParallelism());
  const results = await trySeeds(seeds, { jobs });
  const failed = results.filter(({ violations }) => violations.length > 0);
  expect(failed.map(failureText)).toEqual([]);
}, 600_000);
