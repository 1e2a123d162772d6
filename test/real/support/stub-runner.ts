import { writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startGroup } from "../../../src/processes/group.ts";
import { identityOf } from "../../../src/processes/identity.ts";
import { STANDBY, STANDING_BY } from "../../../src/protocol/hand-over.ts";
import { runFolder } from "../../../src/protocol/run-folder.ts";
import { standBy } from "../../../src/runner/standby.ts";

/**
 * A program that does of a runner only what the platform sees: it says who it is, starts a step and
 * waits. STUB_START_MS: time until it says so. STUB_EXIT: it exits with this code instead.
 * STUB_STEP: script of its apply. STUB_DEAF: it stands by and hears nothing.
 */
let root = process.argv[2] ?? "";
let env = process.env;
if (env.STUB_DEAF !== undefined && root === STANDBY) {
  process.stdout.write(`${STANDING_BY}\n`);
  await sleep(600_000);
}
if (root === STANDBY) {
  const shutdown = new AbortController().signal;
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const run = await standBy({ input: process.stdin, shutdown, say });
  if (run === undefined) process.exit(0);
  root = run.folder;
  process.chdir(root);
  env = run.env;
}
const folder = runFolder(root);
const { STUB_START_MS, STUB_EXIT, STUB_STEP } = env;
await sleep(Number(STUB_START_MS ?? 0));
if (STUB_EXIT !== undefined) process.exit(Number(STUB_EXIT));
writeFileSync(folder.runner, JSON.stringify(identityOf(process.pid)), { mode: 0o600 });
if (STUB_STEP !== undefined) {
  await mkdir(folder.steps, { mode: 0o700 });
  const files = join(folder.steps, "apply");
  await startGroup({
    argv: ["/bin/sh", "-c", STUB_STEP],
    cwd: folder.root,
    env: env as Record<string, string>,
    stdout: `${files}.out`,
    stderr: `${files}.err`,
    identityFile: `${files}.json`,
    exitFile: `${files}.exit`,
  });
}
await sleep(600_000);
