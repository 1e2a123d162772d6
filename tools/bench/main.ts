// npm run -s bench [-- --json] [--only ratios,rest,deaths] [--rounds N] [--profile FOLDER]: what
// Nigari costs beside bare OpenTofu, at rest, and how soon a death is known. Prints figures;
// nothing fails by them. docs/bench.md says what they mean.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { deaths } from "./deaths.ts";
import { BenchEngine } from "./engine.ts";
import { median, type Pair, pairs, quantile } from "./ratios.ts";
import { atRest } from "./rest.ts";

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    only: { type: "string", default: "ratios,rest,deaths" },
    rounds: { type: "string", default: "5" },
    /** Folder for Node's profile of the engine's processor. */
    profile: { type: "string" },
    kills: { type: "string", default: "30" },
  },
});
const parts = values.only.split(",");
const rounds = Number(values.rounds);

/** Some 3 s of evaluation at each plan, as with a few hundred real resources. */
const hashing = (count: number) => `
resource "terraform_data" "many" {
  count = ${count}
  input = sha256(join(",", [for i in range(1000) : sha256("\${count.index} \${i}")]))
}
output "count" {
  value = length(terraform_data.many)
}
`;
const modules = {
  heavy: hashing(500),
  slow: hashing(120),
  trivial: `
variable "text" {
  default = "hello"
}
resource "terraform_data" "one" {
  input = var.text
}
`,
};

const scratch = mkdtempSync(join(tmpdir(), "nigari-bench-"));
execFileSync(process.execPath, [join(import.meta.dirname, "../build.ts")], { stdio: "ignore" });
const engine = new BenchEngine(scratch, modules);
const figures: Record<string, number> = {};
try {
  await engine.start(values.profile);
  if (parts.includes("ratios")) await ratios();
  if (parts.includes("deaths")) {
    const known = await deaths(engine, Number(values.kills));
    figures.deathKnownMsMedian = Math.round(median(known));
    figures.deathKnownMsP99 = Math.round(quantile(known, 0.99));
  }
  if (parts.includes("rest")) {
    const { stepCpuMs, rssMiB, idleCpuPercent } = await atRest(engine, {
      objects: 1_000,
      rounds: 3,
    });
    figures.stepCpuMs = hundredths(stepCpuMs);
    figures.rss1000MiB = Math.round(rssMiB);
    figures.idleCpuPercent = hundredths(idleCpuPercent);
  }
  figures.load = hundredths(loadavg()[0] ?? 0);
  figures.cores = cpus().length;
  print();
} finally {
  await engine.stop();
  engine.close();
  rmSync(scratch, { recursive: true, force: true });
}

async function ratios(): Promise<void> {
  const of = (module: "heavy" | "trivial", rounds: number) =>
    pairs(engine, { module, text: modules[module], rounds, scratch });
  // The first of all pays for what is loaded once.
  await of("trivial", 1);
  const heavy = await of("heavy", rounds);
  const before = await engineCpu();
  const trivial = await of("trivial", rounds * 2);
  const after = await engineCpu();
  figures.engineCpuMsPerRun = Math.round((after.ms - before.ms) / (after.runs - before.runs));
  const by = (all: Pair[], value: (pair: Pair) => number) => median(all.map(value));
  figures.barePlanMs = Math.round(by(heavy, ({ bare }) => bare.planMs));
  figures.applyRatio = hundredths(by(heavy, ({ bare, nigari }) => nigari.applyMs / bare.applyMs));
  figures.noChangeRatio = hundredths(
    by(heavy, ({ bare, nigari }) => nigari.noChangeMs / bare.noChangeMs),
  );
  const applyAdded = by(trivial, ({ bare, nigari }) => nigari.applyMs - bare.applyMs);
  const noChangeAdded = by(trivial, ({ bare, nigari }) => nigari.noChangeMs - bare.noChangeMs);
  figures.trivialApplyAddedMs = Math.round(applyAdded);
  figures.trivialNoChangeAddedMs = Math.round(noChangeAdded);
  figures.trivialAddedMs = Math.round(Math.max(applyAdded, noChangeAdded));
}

async function engineCpu(): Promise<{ ms: number; runs: number }> {
  return {
    ms: (await engine.metric("process_cpu_seconds_total")) * 1_000,
    runs: await engine.metric("nigari_runs_started_total"),
  };
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}

function print(): void {
  if (values.json) {
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    return;
  }
  const goals: Record<string, string> = {
    applyRatio: "at most 1.25",
    noChangeRatio: "at most 1.15",
    trivialAddedMs: "at most 300",
    stepCpuMs: "below 5",
    rss1000MiB: "below 150",
    deathKnownMsP99: "at most 1000",
    barePlanMs: "at least 3000",
  };
  for (const [name, value] of Object.entries(figures)) {
    const goal = goals[name] === undefined ? "" : ` (${goals[name]})`;
    process.stdout.write(`${name}: ${value}${goal}\n`);
  }
}
