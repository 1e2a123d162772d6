// npm run -s fuzz -- [--seeds N] [--start S] [--area NAME] [--runs N] [--json]: hostile input at
// every door, with other seeds than the tests have. A failure prints its seed and its case.
import { parseArgs } from "node:util";
import { fuzz } from "../../src/testing/fuzz/area.ts";
import { fuzzAreas, GROWTH_BYTES_MAX } from "../../src/testing/fuzz/areas.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "20" },
    start: { type: "string", default: "2" },
    area: { type: "string" },
    runs: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const areas = fuzzAreas.filter(({ name }) => values.area === undefined || name === values.area);
if (areas.length === 0) {
  process.stderr.write(`No such area; there are ${fuzzAreas.map(({ name }) => name).join(", ")}\n`);
  process.exit(3);
}
const before = process.memoryUsage.rss();
const tried: Record<string, number> = {};
let failures = 0;
let peak = before;
for (let seed = Number(values.start); seed < Number(values.start) + Number(values.seeds); seed++) {
  for (const area of areas) {
    const runs = values.runs === undefined ? area.runs : Number(values.runs);
    const { failure, runs: made, ms } = await fuzz(area, seed, runs);
    tried[area.name] = (tried[area.name] ?? 0) + made;
    peak = Math.max(peak, process.memoryUsage.rss());
    if (failure === undefined) continue;
    failures += 1;
    process.stderr.write(`${area.name}, seed ${seed}, ${Math.round(ms)} ms:\n${failure}\n\n`);
  }
}
const growthMiB = Math.round((peak - before) / 1_024 / 1_024);
const isBounded = peak - before < GROWTH_BYTES_MAX;
const result = { seeds: Number(values.seeds), failures, cases: tried, growthMiB };
process.stdout.write(
  values.json
    ? `${JSON.stringify(result)}\n`
    : `${failures} failures in ${JSON.stringify(tried)}; memory grew by ${growthMiB} MiB\n`,
);
process.exitCode = failures === 0 && isBounded ? 0 : 1;
