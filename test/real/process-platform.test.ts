import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ProcessPlatform } from "../../src/adapters/process/platform.ts";
import { socketFolder } from "../../src/adapters/process/socket-folder.ts";
import { createClock } from "../../src/adapters/system/clock.ts";
import { noLog } from "../../src/ports/log.ts";
import type { PlatformFact, RunnerLaunch } from "../../src/ports/runner.ts";
import { parseIdentity, sameProcess } from "../../src/processes/identity.ts";
import { readProcessTable } from "../../src/processes/members.ts";
import { type RunFolder, runFolder } from "../../src/protocol/run-folder.ts";
import { seededRandom } from "../../src/testing/fakes/clock.ts";

// The platform on local processes, with a program in the runner's place that does nothing itself.

const STUB = join(import.meta.dirname, "support/stub-runner.ts");
const RUN = "run-1";
const clock = createClock();
let runs = "";
let seed = 1;

beforeEach(() => {
  runs = mkdtempSync(join(tmpdir(), "nigari-runs-"));
});
afterEach(async () => {
  const last = open();
  for (const runId of await last.list(call())) {
    await last.signal(runId, "terminate", call());
    await last.remove(runId, call());
  }
  for (const folder of [runs, socketFolder(runs, undefined)]) rmSync(folder, { recursive: true });
});

const call = (ms = 10_000) => ({ signal: AbortSignal.timeout(ms) });
const folder = (): RunFolder => runFolder(join(runs, RUN));

/** A platform as an engine opens it at its start; an earlier one's runs are found. */
function open(): ProcessPlatform {
  seed += 1;
  return new ProcessPlatform({
    runsFolder: runs,
    runnerCommand: [process.execPath, STUB],
    runtimeFolder: undefined,
    clock,
    random: seededRandom(seed),
    log: noLog,
  });
}

function launch(env: Record<string, string> = {}) {
  const base = { PATH: process.env.PATH ?? "" };
  return { runId: RUN, namespace: "default", name: "one", epoch: 1, env: { ...base, ...env } };
}

async function until(
  platform: ProcessPlatform,
  holds: (fact: PlatformFact) => boolean,
): Promise<PlatformFact> {
  const end = performance.now() + 10_000;
  for (;;) {
    const fact = await platform.inspect(RUN, call());
    if (holds(fact)) return fact;
    if (performance.now() > end) throw new Error(`It stays at ${JSON.stringify(fact)}`);
    await sleep(20);
  }
}
const running = (fact: PlatformFact) => fact.runner === "running";
const gone = (fact: PlatformFact) => fact.runner === "gone";
const working = (fact: PlatformFact) => (fact.workersAlive ?? 0) > 0;

function runnerPid(): number {
  const identity = parseIdentity(readFileSync(folder().runner, "utf8"));
  if (identity === undefined || !sameProcess(identity)) throw new Error("There is no runner");
  return identity.pid;
}

/** The run is launched by another engine, which is killed as soon as it has done so. */
async function launchedByAnother(run: RunnerLaunch): Promise<void> {
  const script = join(import.meta.dirname, "support/other-engine.ts");
  const order = { runsFolder: runs, runnerCommand: [process.execPath, STUB], launch: run };
  const stdio: ["ignore", "pipe", "inherit"] = ["ignore", "pipe", "inherit"];
  const engine = spawn(process.execPath, [script, JSON.stringify(order)], { stdio });
  const exit = once(engine, "exit");
  const [said] = await Promise.race([once(engine.stdout, "data"), exit]);
  expect(`${said}`).toBe("launched\n");
  engine.kill("SIGKILL");
  await exit;
}

async function withToken(): Promise<number[]> {
  const { token } = JSON.parse(readFileSync(folder().identity, "utf8"));
  return (await readProcessTable()).withToken(token).map((stat) => stat.pid);
}

describe("launch", () => {
  test("two at once, and one more later, make one runner", async () => {
    const platform = open();
    await Promise.all([platform.launch(launch(), call()), platform.launch(launch(), call())]);
    await until(platform, running);
    await platform.launch(launch(), call());
    expect(await withToken()).toEqual([runnerPid()]);
  });

  test("an engine died between start and record: its runner is found by the token", async () => {
    const first = open();
    await first.launch(launch({ STUB_START_MS: "1500" }), call());
    rmSync(folder().launch);
    const second = open();
    expect(await second.inspect(RUN, call())).toMatchObject({ runner: "starting" });
    await second.launch(launch(), call());
    await until(second, running);
    expect(await withToken()).toEqual([runnerPid()]);
  });

  test("an engine that died before it started anything starts it the next time", async () => {
    mkdirSync(folder().root);
    const identity = { runId: RUN, token: "5eed", socket: join(runs, "s"), epoch: 1 };
    writeFileSync(folder().identity, JSON.stringify(identity));
    const platform = open();
    expect(await platform.inspect(RUN, call())).toMatchObject({ runner: "unknown" });
    await platform.launch(launch(), call());
    await until(platform, running);
  });

  test("a runner that is dead is not started again", async () => {
    const platform = open();
    await platform.launch(launch({ STUB_EXIT: "3" }), call());
    await until(platform, gone);
    await platform.launch(launch(), call());
    expect(await platform.inspect(RUN, call())).toMatchObject({ runner: "gone", workersAlive: 0 });
  });

  test("the runner gets exactly the environment it was launched with, and its token", async () => {
    const platform = open();
    await platform.launch(launch({ ONE: "1" }), call());
    await until(platform, running);
    const text = readFileSync(`/proc/${runnerPid()}/environ`, "utf8");
    const names = text.split("\0").map((each) => each.split("=")[0]);
    expect(names.sort()).toEqual(["", "NIGARI_RUN_TOKEN", "ONE", "PATH"]);
  });

  test("folder and files are private", async () => {
    const platform = open();
    await platform.launch(launch(), call());
    await until(platform, running);
    for (const path of [folder().root, join(runs)]) expect(statSync(path).mode & 0o077).toBe(0);
    for (const path of [folder().identity, folder().launch, folder().runnerLog]) {
      expect(statSync(path).mode & 0o777, path).toBe(0o600);
    }
  });

  test("a runner program that is not there is said at once", async () => {
    const platform = new ProcessPlatform({
      runsFolder: runs,
      runnerCommand: ["/nowhere/node"],
      runtimeFolder: undefined,
      clock,
      random: seededRandom(1),
      log: noLog,
    });
    const error = await platform.launch(launch(), call()).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "Internal" });
    expect(String((error as Error).cause)).toContain("/nowhere/node");
  });
});

describe("how an end is known", () => {
  test("by its exit code, for the engine that started it and every one after it", async () => {
    const platform = open();
    await platform.launch(launch({ STUB_EXIT: "3" }), call());
    const fact = await until(platform, gone);
    expect(fact.proof).toBe("exited with code 3");
    expect(await open().inspect(RUN, call())).toEqual(fact);
  });

  test("by the signal", async () => {
    const platform = open();
    await platform.launch(launch(), call());
    await until(platform, running);
    process.kill(runnerPid(), "SIGKILL");
    expect((await until(platform, gone)).proof).toBe("killed by signal 9");
  });

  test("by the process table, where another engine started it", async () => {
    await launchedByAnother(launch());
    const heir = open();
    await until(heir, running);
    const pid = runnerPid();
    process.kill(pid, "SIGKILL");
    expect((await until(heir, gone)).proof).toBe(`process ${pid} is gone`);
  });

  test("by a new start of the machine, whoever has the pid now", async () => {
    const platform = open();
    await platform.launch(launch(), call());
    await until(platform, running);
    const heir = open();
    const now = JSON.parse(readFileSync(folder().runner, "utf8"));
    process.kill(runnerPid(), "SIGKILL");
    await sleep(100);
    for (const file of [folder().runner, folder().launch]) {
      writeFileSync(file, JSON.stringify({ ...now, pid: process.pid, bootId: "before" }));
    }
    rmSync(folder().end, { force: true });
    expect(await heir.inspect(RUN, call())).toMatchObject({
      runner: "gone",
      proof: "the machine was started anew",
      workersAlive: 0,
    });
  });
});

describe("workers", () => {
  test("outlive their runner, are counted, and are ended by terminate", async () => {
    const platform = open();
    await platform.launch(launch({ STUB_STEP: "trap '' INT TERM HUP; sleep 300" }), call());
    await until(platform, working);
    process.kill(runnerPid(), "SIGKILL");
    expect(await until(platform, gone)).toMatchObject({ workersAlive: 3 });
    await platform.signal(RUN, "terminate", call());
    expect(await platform.inspect(RUN, call())).toMatchObject({ workersAlive: 0 });
    expect(await withToken()).toEqual([]);
    await platform.remove(RUN, call());
    expect(existsSync(folder().root)).toBe(false);
  });

  test("that left session and group and cleared their environment are ended too", async () => {
    const platform = open();
    const stop = new AbortController();
    void drain(platform.changes(stop));
    const step = "env -i /bin/sh -c 'setsid sleep 301 & echo $!; wait'; exit 0";
    await platform.launch(launch({ STUB_STEP: step }), call());
    await until(platform, working);
    await until(platform, () => readFileSync(join(folder().steps, "apply.out"), "utf8") !== "");
    const hidden = Number(readFileSync(join(folder().steps, "apply.out"), "utf8"));
    await sleep(1_300);
    // Its whole family dies, so nothing but our memory ties it to the run.
    process.kill(runnerPid(), "SIGKILL");
    const leader = parseIdentity(readFileSync(join(folder().steps, "apply.json"), "utf8"));
    process.kill(-(leader?.pid ?? Number.NaN), "SIGKILL");
    await until(platform, (fact) => gone(fact) && fact.workersAlive === 1);
    await platform.signal(RUN, "terminate", call());
    expect((await readProcessTable()).byPid.has(hidden)).toBe(false);
    stop.abort();
  });

  test("get one interrupt, however often it is asked for, and the runner gets none", async () => {
    const platform = open();
    const step = "trap 'echo int' INT; echo up; while :; do sleep 0.05; done";
    await platform.launch(launch({ STUB_STEP: step }), call());
    const out = () => readFileSync(join(folder().steps, "apply.out"), "utf8");
    await until(platform, (fact) => working(fact) && out() === "up\n");
    await platform.signal(RUN, "interrupt", call());
    await until(platform, () => out() === "up\nint\n");
    await open().signal(RUN, "interrupt", call());
    await sleep(200);
    expect(out()).toBe("up\nint\n");
    expect(await platform.inspect(RUN, call())).toMatchObject({ runner: "running" });
  });
});

describe("news", () => {
  test("of runners and orphans that another engine started come within 0.4 s", async () => {
    await launchedByAnother(launch({ STUB_STEP: "sleep 300" }));
    const heir = open();
    await until(heir, working);
    const heard: { runId: string; at: number }[] = [];
    const stop = new AbortController();
    void (async () => {
      for await (const runId of heir.changes(stop)) heard.push({ runId, at: performance.now() });
    })();
    await sleep(500);
    expect(heard.map((each) => each.runId)).toEqual([RUN]);
    const first = performance.now();
    process.kill(runnerPid(), "SIGKILL");
    await sleep(800);
    const leader = parseIdentity(readFileSync(join(folder().steps, "apply.json"), "utf8"));
    const second = performance.now();
    process.kill(-(leader?.pid ?? Number.NaN), "SIGKILL");
    await sleep(800);
    stop.abort();
    expect(heard.length).toBe(3);
    expect((heard[1]?.at ?? 0) - first).toBeLessThan(400);
    expect((heard[2]?.at ?? 0) - second).toBeLessThan(400);
  });
});

describe("remove", () => {
  test("takes what its owner may not write, and what an earlier removal left", async () => {
    const platform = open();
    await platform.launch(launch({ STUB_EXIT: "0" }), call());
    await until(platform, gone);
    const shut = join(folder().root, "shut");
    mkdirSync(join(shut, "inner"), { recursive: true });
    writeFileSync(join(shut, "inner", "file"), "");
    mkdirSync(join(runs, ".removing-old"));
    await platform.remove(RUN, call());
    expect(await platform.list(call())).toEqual([]);
    expect(existsSync(folder().root)).toBe(false);
    expect(existsSync(join(runs, ".removing-old"))).toBe(false);
  });

  test("is refused while a state lies there that nobody has collected", async () => {
    const platform = open();
    await platform.launch(launch({ STUB_STEP: "exit 1" }), call());
    await until(platform, running);
    await sleep(100);
    mkdirSync(folder().work, { mode: 0o700 });
    writeFileSync(join(folder().work, "errored.tfstate"), "{}");
    await platform.signal(RUN, "terminate", call());
    await expect(platform.remove(RUN, call())).rejects.toMatchObject({ code: "Refused" });
    mkdirSync(folder().files);
    expect(await platform.collect(RUN, call())).toMatchObject({ stateRescued: true });
    const kept = await platform.readFile(RUN, "errored.tfstate", call());
    expect(new TextDecoder().decode(kept)).toBe("{}");
    await platform.remove(RUN, call());
  });
});

test("a run id that is a path is no run id", async () => {
  await expect(open().inspect("../../etc", call())).rejects.toMatchObject({ code: "NotFound" });
});

async function drain(news: AsyncIterable<string>): Promise<void> {
  for await (const _ of news);
}
