import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ProcessPlatform } from "../../src/adapters/process/platform.ts";
import { socketFolder } from "../../src/adapters/process/socket-folder.ts";
import { createClock } from "../../src/adapters/system/clock.ts";
import { systemRandom } from "../../src/adapters/system/random.ts";
import { noLog } from "../../src/ports/log.ts";
import { parseIdentity, sameProcess, statOf } from "../../src/processes/identity.ts";
import { readProcessTable } from "../../src/processes/members.ts";
import { SPARE_LOG, STANDBY } from "../../src/protocol/hand-over.ts";
import { runFolder } from "../../src/protocol/run-folder.ts";
import { LocalRuns, outcomeOf, within } from "../../src/testing/harness/local-runs.ts";
import { until } from "../../src/testing/harness/victims.ts";

// The runner that is started ahead: a run gets it or is started without it, and never both.

const STUB = [process.execPath, join(import.meta.dirname, "support/stub-runner.ts")];
const ENV = { PATH: process.env.PATH ?? "" };
const clock = createClock();
let runs = "";
let platform: ProcessPlatform;

beforeEach(() => {
  runs = mkdtempSync(join(tmpdir(), "nigari-spare-"));
});
afterEach(async () => {
  platform.close();
  for (const runId of await platform.list(within())) {
    await platform.signal(runId, "terminate", within());
  }
  for (const folder of [runs, socketFolder(runs, undefined)]) rmSync(folder, { recursive: true });
});

function open(spareEnv: Record<string, string> = ENV): void {
  platform = new ProcessPlatform({
    runsFolder: runs,
    runnerCommand: STUB,
    runtimeFolder: undefined,
    spareEnv,
    clock,
    random: systemRandom,
    log: noLog,
  });
}

const launchOf = (runId: string, env: Record<string, string> = {}) => {
  return { runId, namespace: "default", name: "one", epoch: 1, env: { ...ENV, ...env } };
};
const launch = (runId: string, env: Record<string, string> = {}) =>
  platform.launch(launchOf(runId, env), within());

/** The pid of the run's runner, once it runs. */
async function running(runId: string): Promise<number> {
  await until(`${runId} runs`, async () => {
    return (await platform.inspect(runId, within())).runner === "running";
  });
  const runner = parseIdentity(readFileSync(runFolder(join(runs, runId)).runner, "utf8"));
  if (runner === undefined || !sameProcess(runner)) throw new Error(`${runId} has no runner`);
  return runner.pid;
}

/** Living processes that stand by in this folder: a program's working folder tells whose it is. */
async function spares(folder = runs): Promise<number[]> {
  return [...(await readProcessTable()).byPid.keys()].filter((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return words.includes(STANDBY) && readlinkSync(`/proc/${pid}/cwd`) === folder;
    } catch {
      return false;
    }
  });
}

/** The one spare, once it can be given a run. */
async function spareUp(folder = runs): Promise<number> {
  const log = join(folder, SPARE_LOG);
  await until("a spare stands by", async () => {
    return existsSync(log) && readFileSync(log, "utf8").includes("standing by");
  });
  const [pid, ...others] = await spares(folder);
  if (pid === undefined || others.length > 0) throw new Error(`Not one spare: ${pid}, ${others}`);
  return pid;
}

/** A platform whose first run is under way and whose spare stands by. */
async function withSpare(spareEnv?: Record<string, string>): Promise<number> {
  open(spareEnv);
  await launch("first");
  await running("first");
  return await spareUp();
}

function isGone(pid: number): Promise<boolean> {
  return readProcessTable().then(({ byPid }) => !byPid.has(pid));
}

async function withToken(runId: string): Promise<number[]> {
  const { token } = JSON.parse(readFileSync(runFolder(join(runs, runId)).identity, "utf8"));
  return (await readProcessTable()).withToken(token).map(({ pid }) => pid);
}

describe("a spare that stands by", () => {
  test("is given the next run, and another one is started", async () => {
    const spare = await withSpare();
    await launch("second");
    expect(await running("second")).toBe(spare);
    const { launch: file, runnerLog } = runFolder(join(runs, "second"));
    expect(parseIdentity(readFileSync(file, "utf8"))?.pid).toBe(spare);
    expect(readFileSync(runnerLog, "utf8")).toContain("standing by");
    expect(await spareUp()).not.toBe(spare);
  });

  test("starts what it starts with the run's environment and with nothing of its own", async () => {
    await withSpare({ ...ENV, ITS_OWN: "1" });
    await launch("second", { OF_THE_RUN: "2", STUB_STEP: "env; sleep 300" });
    await running("second");
    const out = join(runFolder(join(runs, "second")).steps, "apply.out");
    await until("the step has told", async () => /OF_THE_RUN/.test(readIfThere(out)));
    const names = readIfThere(out).match(/^\w+(?==)/gm) ?? [];
    expect(names).toContain("NIGARI_RUN_TOKEN");
    expect(names).not.toContain("ITS_OWN");
    const fact = await platform.inspect("second", within());
    expect(fact).toMatchObject({ runner: "running", workersAlive: 3 });
    await platform.signal("second", "terminate", within());
    expect(await platform.inspect("second", within())).toMatchObject({
      runner: "gone",
      proof: "killed by signal 9",
      workersAlive: 0,
    });
    expect(await withToken("second")).toEqual([]);
  });

  test("is given one run only, where two are launched at once", async () => {
    const spare = await withSpare();
    await Promise.all([launch("second"), launch("third")]);
    const pids = [await running("second"), await running("third")];
    expect(new Set([...pids, spare]).size).toBe(2);
  });

  test("is left alone by a run that needs another start, and is there for the next", async () => {
    const spare = await withSpare();
    await launch("second", { TZ: "Asia/Tokyo" });
    expect(await running("second")).not.toBe(spare);
    await launch("third");
    expect(await running("third")).toBe(spare);
  });

  test("ends when the platform is closed, and no other is started", async () => {
    const spare = await withSpare();
    platform.close();
    await until("the spare is gone", () => isGone(spare));
    await launch("second");
    await running("second");
    expect(await spares()).toEqual([]);
    expect((await platform.inspect("first", within())).runner).toBe("running");
  });
});

describe("a spare that is not in order", () => {
  test("because it was killed: the run is started without it", async () => {
    const spare = await withSpare();
    process.kill(spare, "SIGKILL");
    await launch("second");
    expect(await running("second")).not.toBe(spare);
    expect(await withToken("second")).toEqual([await running("second")]);
  });

  test("because it is frozen: it is ended, and the run is started without it", async () => {
    const spare = await withSpare();
    process.kill(spare, "SIGSTOP");
    await until("it stands still", () => statOf(spare)?.state === "T");
    await launch("second");
    expect(await running("second")).not.toBe(spare);
    await until("the spare is gone", () => isGone(spare));
  });

  test("because it does not take the run: known in 2 s, and nobody else has it", async () => {
    const spare = await withSpare({ ...ENV, STUB_DEAF: "1" });
    const begun = performance.now();
    // Whoever asks meanwhile is not told of a runner that dies.
    const [, fact] = await Promise.all([launch("second"), platform.inspect("second", within())]);
    expect(performance.now() - begun).toBeLessThan(5_000);
    expect(fact.runner).not.toBe("gone");
    expect(await isGone(spare)).toBe(true);
    const runner = await running("second");
    expect(runner).not.toBe(spare);
    expect(await withToken("second")).toEqual([runner]);
    expect(existsSync(runFolder(join(runs, "second")).end)).toBe(false);
  });

  test("because it takes the run too late: it is dead by then", async () => {
    await withSpare();
    await launch("second", { STUB_START_MS: "2600" });
    await sleep(2_800);
    const runner = await running("second");
    expect(await withToken("second")).toEqual([runner]);
    const { launch: file } = runFolder(join(runs, "second"));
    expect(parseIdentity(readFileSync(file, "utf8"))?.pid).toBe(runner);
  });
});

test("an engine is killed: its spare is gone, the run that it launched goes on", async () => {
  open();
  const script = join(import.meta.dirname, "support/other-engine.ts");
  const order = { runsFolder: runs, runnerCommand: STUB, launch: launchOf("first"), spareEnv: ENV };
  const stdio: ["ignore", "pipe", "inherit"] = ["ignore", "pipe", "inherit"];
  const engine = spawn(process.execPath, [script, JSON.stringify(order)], { stdio });
  const exit = once(engine, "exit");
  await Promise.race([once(engine.stdout, "data"), exit]);
  const spare = await spareUp();
  engine.kill("SIGKILL");
  await exit;
  await until("the spare is gone", () => isGone(spare), 2_000);
  expect((await platform.inspect("first", within())).runner).toBe("running");
});

test("the real runner that stood by brings its run to its end", async () => {
  open();
  const local = new LocalRuns();
  try {
    await local.plan([{ name: "one" }]);
    const spare = await spareUp(local.runsFolder);
    const run = await local.prepare([{ name: "one" }]);
    const connection = await local.begin(run);
    expect((await connection.hello(within())).pid).toBe(spare);
    expect(await outcomeOf(connection)).toMatchObject({ kind: "planned" });
    await connection.release(within());
    expect(await local.dead(run.launch.runId)).toMatchObject({ proof: "exited with code 0" });
  } finally {
    await local.close();
  }
});

function readIfThere(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}
