// npm run -s sim:mutants [-- --only NAME,NAME] [--jobs N] [--json]: takes out each bound and each
// guard of the engine in turn; the simulation must see it. The last line is JSON.
import { parseArgs } from "node:util";
import { tryMutants } from "../../src/testing/simulation/mutants.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    jobs: { type: "string", default: "2" },
    json: { type: "boolean", default: false },
  },
});
const only = values.only === undefined ? [] : values.only.split(",");
const results = await tryMutants(Number(values.jobs), {
  only,
  onResult: ({ mutant, kind, caughtBy, seed, worlds }) => {
    if (values.json) return;
    const end = caughtBy === undefined ? "NOT CAUGHT" : `${caughtBy} (seed ${seed ?? "?"})`;
    process.stdout.write(`${kind} ${mutant.padEnd(20)} ${end}, worlds: ${worlds}\n`);
  },
});
const missed = results.filter(({ caughtBy }) => caughtBy === undefined);
const mutants = results.map(({ mutant }) => mutant);
const summary = { mutants: mutants.length, missed: missed.map(({ mutant }) => mutant), results };
process.stdout.write(`${JSON.stringify(summary)}\n`);
process.exitCode = missed.length === 0 ? 0 : 1;
