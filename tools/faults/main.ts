// npm run faults [-- --json] [--stage NAME]... [--fault NAME]...: every stage of a run × all
// that can befall it there, on real processes. Writes docs/faults.md.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { faults, stages } from "../../src/testing/faults/cells.ts";
import { lineOf, runMatrix } from "../../src/testing/faults/matrix.ts";
import { faultsPage } from "../../src/testing/faults/page.ts";
import { summaryOf } from "../../src/testing/faults/summary.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    stage: { type: "string", multiple: true, default: [...stages] },
    fault: { type: "string", multiple: true, default: [...faults] },
  },
});
for (const [flag, given, known] of [
  ["--stage", values.stage, stages],
  ["--fault", values.fault, faults],
] as const) {
  const wrong = given.find((each) => !(known as readonly string[]).includes(each));
  if (wrong === undefined) continue;
  process.stderr.write(`faults: ${flag} ${wrong} is none of ${known.join(", ")}\n`);
  process.exit(2);
}

writeFileSync(join(import.meta.dirname, "../../docs/faults.md"), faultsPage());
const beganMs = performance.now();
const results = await runMatrix({
  only: ({ stage, fault }) => values.stage.includes(stage) && values.fault.includes(fault),
  say: (line) => process.stderr.write(`${line}\n`),
});
const summary = {
  ...summaryOf(results),
  seconds: Math.round((performance.now() - beganMs) / 1_000),
};
if (values.json) process.stdout.write(`${JSON.stringify({ results }, null, 2)}\n`);
else process.stdout.write(`${results.map(lineOf).join("\n")}\n`);
process.stdout.write(`${JSON.stringify(summary)}\n`);
process.exitCode = summary.failed === 0 ? 0 : 1;
