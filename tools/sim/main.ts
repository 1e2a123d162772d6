// npm run -s sim [-- --seeds N] [--start S] [--replay SEED] [--jobs N] [--json]: the real engine in
// simulated worlds in which everything goes wrong. The last line is JSON.
import { parseArgs } from "node:util";
import {
  crashPoints,
  type SeedResult,
  trySeed,
  unstruckCells,
} from "../../src/testing/simulation/campaign.ts";
import { type PoolOptions, trySeeds, tryTasks } from "../../src/testing/simulation/pool.ts";
import {
  FULL_CAMPAIGN,
  failureText,
  isClean,
  summarizeSeeds,
} from "../../src/testing/simulation/summary.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "2000" },
    start: { type: "string", default: "1" },
    replay: { type: "string" },
    jobs: { type: "string", default: "2" },
    json: { type: "boolean", default: false },
  },
});

const print = (text: string) => process.stdout.write(text);
const TOLD_MAX = 5;
const ROUNDS_MAX = 5;

async function replay(seed: number): Promise<SeedResult[]> {
  const result = await trySeed(seed, { tell: true });
  if (!values.json) {
    if (result.violations.length > 0) print(failureText(result));
    else print(`Seed ${seed} is clean.\n${result.story.map((line) => `  ${line}\n`).join("")}`);
  }
  return [result];
}

async function campaign(): Promise<SeedResult[]> {
  const start = Number(values.start);
  const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => start + index);
  let told = 0;
  let done = 0;
  const options: PoolOptions = {
    jobs: Number(values.jobs),
    onResult: (result) => {
      done += 1;
      if (values.json) return true;
      if (done % 500 === 0) print(`${done} of ${seeds.length} worlds\n`);
      if (result.violations.length > 0 && told++ < TOLD_MAX) print(failureText(result));
      return true;
    },
  };
  const found = await trySeeds(seeds, options);
  return seeds.length < FULL_CAMPAIGN ? found : await strikeTheRest(found, options);
}

/** Chance may leave out a cell: worlds of their own are aimed at it. */
async function strikeTheRest(found: SeedResult[], options: PoolOptions): Promise<SeedResult[]> {
  let all = found;
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    const left = unstruckCells(all);
    if (left.length === 0) break;
    const tasks = left.map((cell, index) => ({ seed: -1_000 * round - index, aims: [cell] }));
    all = [...all, ...(await tryTasks(tasks, options))];
  }
  return all;
}

const results =
  values.replay === undefined ? await campaign() : await replay(Number(values.replay));
const summary = summarizeSeeds(results, await crashPoints());
print(`${JSON.stringify(summary)}\n`);
process.exitCode = isClean(summary) ? 0 : 1;
