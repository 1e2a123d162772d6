// The real engine in simulated worlds in which everything goes wrong. The last line is JSON.
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
import { askedOfUs, wholeNumber } from "./arguments.ts";

const USAGE = `Usage: npm run -s sim -- [--seeds N] [--start SEED] [--jobs N] [--json]
       npm run -s sim -- --replay SEED [--json]

Lives through simulated worlds, each made from its seed, in which everything goes wrong.

  --seeds N      how many worlds; 2000 if left out. As many strike in every place
  --start SEED   the first seed; 1 if left out
  --replay SEED  one world, told line by line
  --jobs N       threads; 2 if left out
  --json         nothing but the last line, which is JSON in any case

Exit code: 0 if all is clean, 1 if not, 2 for wrong arguments.
`;
const values = askedOfUs(USAGE, {
  seeds: { type: "string", default: "2000" },
  start: { type: "string", default: "1" },
  replay: { type: "string" },
  jobs: { type: "string", default: "2" },
  json: { type: "boolean", default: false },
});

const print = (text: string) => process.stdout.write(text);
const TOLD_MAX = 5;
/** Worlds that were aimed at a place have seeds below zero. */
const LEAST_SEED = Number.MIN_SAFE_INTEGER;
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
  const start = wholeNumber("--start", values.start, LEAST_SEED);
  const length = wholeNumber("--seeds", values.seeds);
  const seeds = Array.from({ length }, (_, index) => start + index);
  let told = 0;
  let done = 0;
  const options: PoolOptions = {
    jobs: wholeNumber("--jobs", values.jobs),
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
  values.replay === undefined
    ? await campaign()
    : await replay(wholeNumber("--replay", values.replay, LEAST_SEED));
const summary = summarizeSeeds(results, await crashPoints());
print(`${JSON.stringify(summary)}\n`);
process.exitCode = isClean(summary) ? 0 : 1;
