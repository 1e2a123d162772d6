// npm run doctor:score [-- --json] [--seeds N] [--from SEED] [--size N]: how often the doctor is
// right about clusters that were made up, whose truth is known.
import { parseArgs } from "node:util";
import { type Score, scoreSeeds } from "../../src/testing/doctor-worlds/score.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    seeds: { type: "string", default: "200" },
    from: { type: "string", default: "1" },
    size: { type: "string" },
  },
});
const from = Number(values.from);
const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => from + index);
const scores = await scoreSeeds(seeds, values.size === undefined ? undefined : Number(values.size));

if (values.json) {
  process.stdout.write(`${JSON.stringify(scores, null, 2)}\n`);
} else {
  const row = (name: string, { precision, recall, right, wrong, missed, undecided }: Score) =>
    `${name.padEnd(38)}${precision.toFixed(4)}  ${recall.toFixed(4)}  ` +
    `${right} right, ${wrong} wrong, ${missed} missed, ${undecided} undecided\n`;
  process.stdout.write(`${scores.worlds} worlds${" ".repeat(26)}precision  recall\n`);
  process.stdout.write(row("all", scores));
  for (const [id, score] of Object.entries(scores.perRecognizer))
    process.stdout.write(row(id, score));
  for (const [name, score] of Object.entries(scores.perThinning)) {
    process.stdout.write(row(name, score));
  }
  for (const each of scores.mistakes.slice(0, 30)) {
    const { seed, thinning, kind, id, object, faults } = each;
    process.stdout.write(
      `${kind}: seed ${seed}, ${thinning}: ${id} ${object} (${faults.join("; ")})\n`,
    );
  }
  if (scores.untried.length > 0) process.stdout.write(`untried: ${scores.untried.join("; ")}\n`);
}
process.exitCode = scores.mistakes.length === 0 ? 0 : 1;
