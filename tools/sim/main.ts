// npm run -s sim [-- --seeds N] [--start S] [--replay SEED] [--jobs N] [--json]: the real engine in
// simulated worlds in which everything goes wrong. The last line is JSON.
import { parseArgs } from "node:util";
import { crashPoints, type SeedResult, trySeed } from "../../src/testing/simulation/campaign.ts";
import { trySeeds } from "../../src/testing/simulation/pool.ts";
import { failureText, isClean, summarizeSeeds } from "../../src/testing/simulation/summary.ts";

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
  return await trySeeds(seeds, {
    jobs: Number(values.jobs),
    onResult: (result) => {
      done += 1;
      if (values.json) return true;
      if (done % 500 === 0) print(`${done} of ${seeds.length} worlds\n`);
      if (result.violations.length > 0 && told++ < TOLD_MAX) print(failureText(result));
      return true;
    },
  });
}

const results =
  values.replay === undefined ? await campaign() : await replay(Number(values.replay));
const summary = summarizeSeeds(results, await crashPoints());
print(`${JSON.stringify(summary)}\n`);
process.exitCode = isClean(summary) ? 0 : 1;
