import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { noLog } from "../../ports/log.ts";
import { startGroup } from "../../processes/group.ts";
import { bootId } from "../../processes/identity.ts";
import { Journal } from "../../protocol/journal.ts";
import { type RunFolder, type RunIdentity, runFolder } from "../../protocol/run-folder.ts";
import { createClock } from "../system/clock.ts";
import { systemRandom } from "../system/random.ts";
import { ProcessPlatform } from "./platform.ts";

// A run whose runner has died in the apply, with a shell in the place of tofu.

const TOKEN = "1eaf";
let scratch: string;
let folder: RunFolder;
let platform: ProcessPlatform;
const call = () => ({ signal: AbortSignal.timeout(9_000) });

beforeEach(async () => {
  scratch = mkdtempSync(join(tmpdir(), "nigari-platform-"));
  folder = runFolder(join(scratch, "run-1"));
  mkdirSync(folder.steps, { recursive: true });
  const at = "2026-01-01T00:00:00Z";
  const identity: RunIdentity = {
    runId: "run-1",
    namespace: "default",
    name: "demo",
    epoch: 1,
    token: TOKEN,
    socket: join(scratch, "socket"),
    createdAt: at,
  };
  writeFileSync(folder.identity, JSON.stringify(identity));
  const gone = { pid: 4_194_300, startTime: "1", bootId: bootId() };
  writeFileSync(folder.runner, JSON.stringify(gone));
  await new Journal(folder.journal).append({ type: "stage", stage: "apply", at });
  platform = new ProcessPlatform({
    runsFolder: scratch,
    runnerCommand: ["/bin/false"],
    runtimeFolder: undefined,
    clock: createClock(),
    random: systemRandom,
    log: noLog,
  });
});
afterEach(async () => {
  await platform.signal("run-1", "terminate", call());
  rmSync(scratch, { recursive: true });
});

async function apply(script: string) {
  return await startGroup({
    argv: ["/bin/sh", "-c", script],
    cwd: scratch,
    env: { PATH: process.env.PATH ?? "", NIGARI_RUN_TOKEN: TOKEN },
    stdout: join(folder.steps, "apply.out"),
    stderr: join(folder.steps, "apply.err"),
    identityFile: join(folder.steps, "apply.json"),
    exitFile: join(folder.steps, "apply.exit"),
  });
}

test("an apply that goes on without its runner is not called left over", async () => {
  await apply("sleep 30");
  const fact = await platform.inspect("run-1", call());
  expect(fact).toMatchObject({ runner: "gone", workersStage: "apply" });
  expect(fact.workersAlive).toBeGreaterThan(0);
  expect(fact.onlyLeftovers).toBeUndefined();
});

test.each([
  ["ended by itself", "exit 0", 0],
  ["was killed", "kill -9 $$", undefined],
])("once it %s, what it began and left behind is known as such", async (_how, end, exitCode) => {
  const { ended } = await apply(`sleep 30 & ${end}`);
  await ended;
  const fact = await platform.inspect("run-1", call());
  expect(fact).toMatchObject({ runner: "gone", workersAlive: 1, onlyLeftovers: true });
  await platform.signal("run-1", "terminate", call());
  const outcome = await platform.collect("run-1", call());
  expect(outcome).toMatchObject({ kind: "orphaned", stage: "apply", exitCode });
});
