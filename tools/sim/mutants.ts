// Takes out each bound and each guard of the engine in turn; the simulation must see it. The last
// line is JSON.
import { tryMutants } from "../../src/testing/simulation/mutants.ts";
import { askedOfUs, wholeNumber } from "./arguments.ts";

const USAGE = `Usage: npm run -s sim:mutants -- [--only NAME,NAME] [--jobs N] [--json]

Takes out each bound and each guard of the engine in turn, and looks whether the simulation sees it.

  --only NAMES  these alone, with commas between
  --jobs N      threads; 2 if left out
  --json        nothing but the last line, which is JSON in any case

Exit code: 0 if every mutant is caught, 1 if not, 2 for wrong arguments.
`;
const values = askedOfUs(USAGE, {
  only: { type: "string" },
  jobs: { type: "string", default: "2" },
  json: { type: "boolean", default: false },
});
const only = values.only === undefined ? [] : values.only.split(",");
const results = await tryMutants(wholeNumber("--jobs", values.jobs), {
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
