// npm run -s e2e:faults -- [--json] [--fault NAME]...: everything that can befall runs in a
// cluster, on a whole one. Writes docs/faults-kubernetes.md.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type CellResult, Matrix } from "../../src/testing/e2e/matrix.ts";
import { withCluster } from "../../src/testing/e2e/own-cluster.ts";
import { clusterFaultsPage } from "../../src/testing/e2e/page.ts";
import { type StrikeName, strikeNames } from "../../src/testing/e2e/strikes.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    fault: { type: "string", multiple: true, default: [...strikeNames] },
  },
});
const faults = values.fault.filter((each): each is StrikeName =>
  (strikeNames as readonly string[]).includes(each),
);
if (faults.length !== values.fault.length) {
  process.stderr.write(`e2e:faults: --fault takes ${strikeNames.join(", ")}\n`);
  process.exit(2);
}

writeFileSync(join(import.meta.dirname, "../../docs/faults-kubernetes.md"), clusterFaultsPage());
const beganMs = performance.now();
const results: CellResult[] = [];
await withCluster(async (cluster, folder) => {
  const matrix = await Matrix.open(cluster, folder, faults);
  try {
    for (const fault of faults) {
      const found = await matrix.run(fault);
      for (const each of found) process.stderr.write(`${lineOf(each)}\n`);
      results.push(...found);
    }
  } finally {
    await matrix.close();
  }
});
const failed = results.filter(({ failure }) => failure !== undefined).length;
const known = results.flatMap(({ recoveredMs }) => recoveredMs ?? []);
const summary = {
  cells: results.length,
  failed,
  worstRecoveredMs: Math.max(0, ...known),
  seconds: Math.round((performance.now() - beganMs) / 1_000),
};
if (values.json) process.stdout.write(`${JSON.stringify({ results })}\n`);
process.stdout.write(`${JSON.stringify(summary)}\n`);
process.exitCode = failed === 0 ? 0 : 1;

function lineOf({ fault, stage, failure, recoveredMs, asked }: CellResult): string {
  const time = recoveredMs === undefined ? "" : ` ${(recoveredMs / 1_000).toFixed(1)} s`;
  const person = asked ? ", a person was asked" : "";
  const came = failure === undefined ? "ok  " : "FAIL";
  return `${came} ${fault} in ${stage}${time}${person} ${failure?.slice(0, 600) ?? ""}`.trim();
}
