import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RunOutcome } from "../../domain/facts.ts";
import type { Call } from "../../ports/call.ts";
import type {
  InputFile,
  PlatformFact,
  RunEvent,
  RunnerConnection,
  RunnerErrorCode,
  RunnerLaunch,
  RunnerPlatform,
  StartOrder,
} from "../../ports/runner.ts";

/** A run ready to be launched, with what it is to be given. */
export interface PreparedRun {
  readonly launch: RunnerLaunch;
  readonly inputs: readonly InputFile[];
  readonly order: StartOrder;
}

/** A platform and the means to hurt it. */
export interface RunnerPlatformBench {
  readonly platform: RunnerPlatform;
  /**
   * "plan": quick, finds changes. "apply": a quick resource, then one that takes `slowMs`.
   * "stubborn": an apply whose workers ignore the interrupt.
   */
  prepare(kind: "plan" | "apply" | "stubborn"): Promise<PreparedRun>;
  readonly slowMs: number;
  /** Addresses of the quick and the slow resource of an apply, in the order of their actions. */
  readonly resources: readonly [quick: string, slow: string];
  killRunner(runId: string): Promise<void>;
  killWorkers(runId: string): Promise<void>;
  freezeRunner(runId: string): Promise<void>;
  /** How often each resource took effect for this run, by address. */
  effects(runId: string): Promise<Record<string, number>>;
  close(): Promise<void>;
}

/** Bound of each call of these tests. */
const CALL_MS = 9_000;

/** What every RunnerPlatform does, wherever its runners live. */
export function runnerPlatformContract(
  name: string,
  open: () => Promise<RunnerPlatformBench>,
): void {
  describe(`RunnerPlatform: ${name}`, () => {
    let bench: RunnerPlatformBench;
    let platform: RunnerPlatform;
    let connections: RunnerConnection[] = [];
    beforeEach(async () => {
      bench = await open();
      platform = bench.platform;
      connections = [];
    });
    afterEach(async () => {
      for (const connection of connections) connection.close();
      await bench.close();
    });

    const connect = (runId: string) => {
      const connection = platform.connect(runId);
      connections.push(connection);
      return connection;
    };
    const up = (run: PreparedRun) => launched(platform, run);
    const begin = async (run: PreparedRun) => {
      await up(run);
      const connection = connect(run.launch.runId);
      for (const file of run.inputs) await connection.putFile(file, call());
      await connection.start(run.order, call());
      return connection;
    };
    const fact = (run: PreparedRun) => platform.inspect(run.launch.runId, call());
    /** Resolves when the slow resource of an apply is in the making. */
    const inSlow = async (connection: RunnerConnection) => {
      for await (const event of connection.watch(START, call(60_000))) {
        if (event.type === "progress" && event.resource === bench.resources[1]) return;
      }
      throw new Error("The run ended before its slow resource began");
    };
    const dead = (run: PreparedRun) =>
      untilFact(platform, run, (now) => now.runner === "gone" && now.workersAlive === 0);

    test("of a run it never had it knows that nothing of it lives, and nothing else", async () => {
      expect(await platform.inspect("unheard", call())).toEqual({
        runner: "unknown",
        proof: undefined,
        workersAlive: 0,
        goneAt: undefined,
      });
      await fails("NotFound", platform.collect("unheard", call()));
      await fails("NotFound", platform.readLog("unheard", 0, call()));
      await fails("Unavailable", connect("unheard").hello(call()));
      await platform.signal("unheard", "terminate", call());
      await platform.remove("unheard", call());
      expect(await platform.list(call())).toEqual([]);
    });

    test("a second launch of a run changes nothing", async () => {
      const run = await bench.prepare("plan");
      const hello = await up(run);
      await platform.launch(run.launch, call());
      expect(await connect(run.launch.runId).hello(call())).toEqual(hello);
      expect(hello).toMatchObject({ runId: run.launch.runId, started: false, finished: false });
      expect(await platform.list(call())).toEqual([run.launch.runId]);
      expect(await fact(run)).toMatchObject({ runner: "running", proof: undefined });
      expect((await fact(run)).uid).toBe(run.launch.uid);
    });

    test("a plan goes from launch to removal", async () => {
      const run = await bench.prepare("plan");
      const { runId } = run.launch;
      const connection = await begin(run);
      const events = await all(connection.watch(START, call(60_000)));
      const outcome = outcomeOf(events);
      expect(outcome).toMatchObject({ kind: "planned", changes: true, nothingToDestroy: false });
      const stages = events.flatMap((event) => (event.type === "stage" ? [event.stage] : []));
      expect(stages.slice(0, 4)).toEqual(["artifact", "init", "workspace", "plan"]);
      const plan = await platform.readFile(runId, "plan.bin", call());
      expect(outcome.kind === "planned" && outcome.planDigest).toBe(sha256(plan));
      expect(await platform.readFile(runId, "errored.tfstate", call())).toBeUndefined();
      await connection.release(call());
      expect(await dead(run)).toMatchObject({ proof: "exited with code 0" });
      await platform.remove(runId, call());
      expect(await platform.list(call())).toEqual([]);
    });

    test("watching goes on where it was broken off, with no event lost or doubled", async () => {
      const connection = await begin(await bench.prepare("plan"));
      const whole = numbered(await all(connection.watch(START, call(60_000))));
      const first = whole.slice(0, 2);
      const from = { fromSequence: first.length + 1, logOffset: 0 };
      const rest = numbered(await all(connection.watch(from, call())));
      expect([...first, ...rest]).toEqual(whole);
      expect(whole.map((each) => each.sequence)).toEqual(whole.map((_, index) => index + 1));
    });

    test("log lines are resumed by their offset, from runner and platform", async () => {
      const run = await bench.prepare("plan");
      const connection = await begin(run);
      const lines = logOf(await all(connection.watch(START, call(60_000))));
      expect(lines.length).toBeGreaterThan(2);
      const from = { fromSequence: 1, logOffset: lines[1]?.offset ?? 0 };
      expect(logOf(await all(connection.watch(from, call())))).toEqual(lines.slice(2));
      const rest = await platform.readLog(run.launch.runId, from.logOffset, call());
      expect(rest).toEqual(lines.slice(2));
    });

    test("a second start answers like the first, and the run is one", async () => {
      const run = await bench.prepare("apply");
      const connection = await begin(run);
      await connection.start(run.order, call());
      const events = await all(connection.watch(START, call(60_000)));
      expect(outcomeOf(events)).toMatchObject({ kind: "applied" });
      const [quick, slow] = bench.resources;
      expect(await bench.effects(run.launch.runId)).toEqual({ [quick]: 1, [slow]: 1 });
    });

    test("a file that is not what its digest says is not taken", async () => {
      const run = await bench.prepare("plan");
      await up(run);
      const connection = connect(run.launch.runId);
      const [artifact] = run.inputs;
      if (artifact === undefined) throw new Error("A run has an artifact");
      const wrong = { ...artifact, digest: "0".repeat(64) };
      await fails("DataLoss", connection.putFile(wrong, call()));
      await fails("Refused", connection.start(run.order, call()));
    });

    test("an order for another run, or from an older epoch, is refused", async () => {
      const run = await bench.prepare("plan");
      await up(run);
      const connection = connect(run.launch.runId);
      for (const file of run.inputs) await connection.putFile(file, call());
      await fails("Refused", connection.start({ ...run.order, runId: "another" }, call()));
      const epoch = run.launch.epoch - 1;
      await fails("Superseded", connection.start({ ...run.order, epoch }, call()));
      expect(await connection.hello(call())).toMatchObject({ started: false });
    });

    test("an engine whose epoch is over commands nothing", async () => {
      const run = await bench.prepare("apply");
      const { runId, epoch } = run.launch;
      const by = (older: number) => ({ ...call(), epoch: epoch + 10 - older });
      await inSlow(await begin(run));
      await platform.signal("unheard", "interrupt", by(0));
      for (const what of ["interrupt", "end-runner", "terminate"] as const) {
        await fails("Refused", platform.signal(runId, what, by(1)));
      }
      const now = await fact(run);
      expect(now.runner).toBe("running");
      expect(now.workersAlive).toBeGreaterThan(0);
      await platform.signal(runId, "terminate", by(0));
      await fails("Refused", platform.collect(runId, by(1)));
      await fails("Refused", platform.remove(runId, by(1)));
      expect(await platform.list(call())).toEqual([runId]);
      await platform.remove(runId, by(0));
      // What was done and removed must not be begun anew by one who does not know of it.
      await fails("Refused", platform.launch(run.launch, by(1)));
      expect(await platform.list(call())).toEqual([]);
    });

    test("nothing is collected or removed while a process lives", async () => {
      const run = await bench.prepare("apply");
      await inSlow(await begin(run));
      await fails("StillAlive", platform.collect(run.launch.runId, call()));
      await fails("StillAlive", platform.remove(run.launch.runId, call()));
      await bench.killRunner(run.launch.runId);
      await untilFact(platform, run, (now) => now.runner === "gone");
      await fails("StillAlive", platform.collect(run.launch.runId, call()));
      await fails("StillAlive", platform.remove(run.launch.runId, call()));
    });

    test("terminate ends runner and workers, and returns when none is left", async () => {
      const run = await bench.prepare("stubborn");
      await inSlow(await begin(run));
      await platform.signal(run.launch.runId, "terminate", call());
      const now = await fact(run);
      expect(now).toMatchObject({ runner: "gone", workersAlive: 0 });
      expect(now.proof).toMatch(/killed by signal 9|is gone/);
      expect(Date.parse(now.goneAt ?? "")).not.toBeNaN();
      expect(await platform.collect(run.launch.runId, call())).toMatchObject({
        kind: "orphaned",
        stage: "apply",
        exitCode: undefined,
        unrecorded: expect.arrayContaining([bench.resources[1]]),
      });
      await platform.remove(run.launch.runId, call());
    });

    test("end-runner ends the runner alone, and what its worker does is known", async () => {
      const run = await bench.prepare("apply");
      await inSlow(await begin(run));
      await bench.freezeRunner(run.launch.runId);
      await platform.signal(run.launch.runId, "end-runner", call());
      const now = await fact(run);
      expect(now).toMatchObject({ runner: "gone", workersStage: "apply" });
      expect(now.workersAlive).toBeGreaterThan(0);
      await platform.signal(run.launch.runId, "end-runner", call());
      await platform.signal(run.launch.runId, "terminate", call());
      expect(await fact(run)).toMatchObject({ runner: "gone", workersAlive: 0 });
    });

    test("an interrupt ends the workers, not the runner, which tells how it ended", async () => {
      const run = await bench.prepare("apply");
      const connection = await begin(run);
      await inSlow(connection);
      await platform.signal(run.launch.runId, "interrupt", call());
      const outcome = outcomeOf(await all(connection.watch(START, call(60_000))));
      expect(outcome).toMatchObject({ kind: "failed", stage: "apply", exitCode: 1 });
      expect(await fact(run)).toMatchObject({ runner: "running", workersAlive: 0 });
    });

    test("cancel interrupts, and kills who does not listen when the grace is over", async () => {
      const run = await bench.prepare("stubborn");
      const connection = await begin(run);
      await inSlow(connection);
      await connection.cancel(200, call());
      const outcome = outcomeOf(await all(connection.watch(START, call(60_000))));
      expect(outcome).toMatchObject({
        kind: "failed",
        stage: "apply",
        exitCode: undefined,
        unrecorded: expect.arrayContaining([bench.resources[1]]),
      });
      expect((await fact(run)).workersAlive).toBe(0);
    });

    test("a killed runner is news, its worker goes on and is collected", async () => {
      const run = await bench.prepare("apply");
      const { runId } = run.launch;
      const stop = new AbortController();
      const news = newsOf(platform, stop.signal);
      const connection = await begin(run);
      await inSlow(connection);
      const watching = all(connection.watch(START, call(60_000)));
      // It may fail while the kill is still being waited for.
      watching.catch(() => undefined);
      const before = news.count(runId);
      await bench.killRunner(runId);
      await fails("Unavailable", watching);
      await untilTrue("the end of a runner is news", () => news.count(runId) > before);
      expect(await fact(run)).toMatchObject({ runner: "gone" });
      await fails("Unavailable", connection.hello(call()));
      const now = await fact(run);
      expect(now.workersAlive).toBeGreaterThan(0);
      expect(now.proof).toMatch(/killed by signal 9|is gone/);
      const heard = news.count(runId);
      await dead(run);
      await untilTrue("the end of an orphan is news", () => news.count(runId) > heard);
      stop.abort();
      expect(await platform.collect(runId, call())).toEqual({
        kind: "orphaned",
        stage: "apply",
        exitCode: 0,
        unrecorded: [],
        stateRescued: false,
      });
      const [quick, slow] = bench.resources;
      expect(await bench.effects(runId)).toEqual({ [quick]: 1, [slow]: 1 });
      await platform.remove(runId, call());
    });

    test("killed workers are a failure that names the resource in flight", async () => {
      const run = await bench.prepare("apply");
      const connection = await begin(run);
      await inSlow(connection);
      await bench.killWorkers(run.launch.runId);
      const outcome = outcomeOf(await all(connection.watch(START, call(60_000))));
      expect(outcome).toMatchObject({
        kind: "failed",
        stage: "apply",
        exitCode: undefined,
        unrecorded: expect.arrayContaining([bench.resources[1]]),
      });
    });

    test("a finished run whose runner died is collected with its own word", async () => {
      const run = await bench.prepare("plan");
      const connection = await begin(run);
      const outcome = outcomeOf(await all(connection.watch(START, call(60_000))));
      await bench.killRunner(run.launch.runId);
      await dead(run);
      expect(await platform.collect(run.launch.runId, call())).toEqual(outcome);
      const plan = await platform.readFile(run.launch.runId, "plan.bin", call());
      expect(outcome.kind === "planned" && outcome.planDigest).toBe(sha256(plan));
    });

    test("a frozen runner: calls end at their bound, and terminate works", async () => {
      const run = await bench.prepare("apply");
      const connection = await begin(run);
      await inSlow(connection);
      await bench.freezeRunner(run.launch.runId);
      for (let time = 0; time < 3; time += 1) {
        await fails("DeadlineExceeded", connect(run.launch.runId).hello(call(300)));
      }
      expect((await fact(run)).runner).toBe("running");
      await platform.signal(run.launch.runId, "terminate", call());
      expect(await fact(run)).toMatchObject({ runner: "gone", workersAlive: 0 });
    });

    test("a call whose deadline has passed does nothing", async () => {
      const run = await bench.prepare("plan");
      const late: Call = { signal: AbortSignal.abort(new Error("Too late")) };
      await fails("DeadlineExceeded", platform.launch(run.launch, late));
      expect(await platform.list(call())).toEqual([]);
    });
  });
}

const START = { fromSequence: 1, logOffset: 0 };

function call(ms = CALL_MS): Call {
  return { signal: AbortSignal.timeout(ms) };
}

async function fails(code: RunnerErrorCode, promise: Promise<unknown>): Promise<void> {
  const error = await promise.then(
    (value) => value,
    (caught: unknown) => caught,
  );
  expect(error).toMatchObject({ name: "RunnerError", code });
}

async function launched(platform: RunnerPlatform, run: PreparedRun) {
  await platform.launch(run.launch, call());
  const until = performance.now() + 15_000;
  for (;;) {
    const connection = platform.connect(run.launch.runId);
    try {
      return await connection.hello(call(2_000));
    } catch (error) {
      if (performance.now() > until) throw error;
      await sleep(20);
    } finally {
      connection.close();
    }
  }
}

async function untilFact(
  platform: RunnerPlatform,
  run: PreparedRun,
  holds: (fact: PlatformFact) => boolean,
): Promise<PlatformFact> {
  let now = await platform.inspect(run.launch.runId, call());
  await untilTrue("the platform says so", async () => {
    now = await platform.inspect(run.launch.runId, call());
    return holds(now);
  });
  return now;
}

async function untilTrue(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const until = performance.now() + 20_000;
  while (!(await holds())) {
    if (performance.now() > until) throw new Error(`It did not come about in 20 s: ${what}`);
    await sleep(10);
  }
}

async function all(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const found: RunEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

function outcomeOf(events: readonly RunEvent[]): RunOutcome {
  const last = events.findLast((event) => event.type === "outcome");
  if (last === undefined) throw new Error("The run ended without an outcome");
  return last.outcome;
}

function numbered(events: readonly RunEvent[]) {
  return events.filter((event) => event.type !== "heartbeat" && event.type !== "log");
}

function logOf(events: readonly RunEvent[]) {
  return events.filter((event) => event.type === "log");
}

function newsOf(platform: RunnerPlatform, signal: AbortSignal) {
  const heard: string[] = [];
  void (async () => {
    for await (const runId of platform.changes({ signal })) heard.push(runId);
  })();
  return { count: (runId: string) => heard.filter((each) => each === runId).length };
}

function sha256(content: Uint8Array | undefined): string {
  if (content === undefined) return "no file";
  return createHash("sha256").update(content).digest("hex");
}
