// npm run ok: everything that must hold before a change lands, in the order that fails soonest.
import { spawnSync } from "node:child_process";
import { isCi } from "../src/testing/cluster/api-server.ts";

const steps: { name: string; script: string; args?: string[] }[] = [
  { name: "generate", script: "generate" },
  { name: "types", script: "types" },
  { name: "lint", script: "lint" },
  // OpenTofu and the test provider: built the first time, there ever after.
  { name: "tools", script: "tools" },
  // A real API server takes ten minutes more, which CI has. Without it its tests are skipped, and
  // say so; in CI they fail. What a whole cluster needs besides is built by make e2e.
  ...(isCi(process.env)
    ? [{ name: "cluster", script: "cluster", args: ["--", "build", "tests"] }]
    : []),
  // The house rules (rooms, tidy) are tests of the unit project.
  { name: "tests", script: "test" },
  // 2,000 simulated worlds, and each bound and guard of the engine taken out in turn.
  { name: "simulation", script: "sim" },
  { name: "mutants", script: "sim:mutants" },
];

/** What git sees as changed: a step that alters it wrote a file that was not committed. */
function treeState(): string {
  return git("status", "--porcelain=v1") + git("diff", "HEAD", "--no-ext-diff");
}

function git(...args: string[]): string {
  const { status, stdout } = spawnSync("git", args, { encoding: "utf8", maxBuffer: 2 ** 30 });
  // Outside a checkout (an unpacked archive) there is no tree to keep clean.
  return status === 0 ? stdout : "";
}

const before = treeState();
for (const step of steps) {
  process.stdout.write(`ok: ${step.name}\n`);
  const run = spawnSync("npm", ["run", "-s", step.script, ...(step.args ?? [])], {
    stdio: "inherit",
  });
  if (run.status !== 0) {
    process.stderr.write(`ok: "npm run ${step.script}" failed\n`);
    process.exit(run.status ?? 1);
  }
}
if (!isCi(process.env)) process.stdout.write('ok: left out test/e2e; "make e2e" runs it\n');
if (treeState() !== before) {
  process.stderr.write(
    "ok: the run changed files; commit what 'npm run generate' writes:\n" +
      git("status", "--short"),
  );
  process.exit(1);
}
