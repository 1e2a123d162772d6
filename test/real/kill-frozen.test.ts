import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LocalRuns, outcomeOf, within } from "../../src/testing/harness/local-runs.ts";
import { livingOf, runnerOf, until } from "../../src/testing/harness/victims.ts";

// SIGSTOP of the runner: its kernel keeps the connection, so nothing but its silence shows.

const resources = [{ name: "first" }, { name: "slow", gated: true }];
/** Heartbeats come every 2 s; two missing ones make a runner suspect. */
const SILENCE_MS = 5_000;

let runs: LocalRuns;
beforeEach(() => {
  runs = new LocalRuns();
});
afterEach(() => runs.close());

async function frozenInApply() {
  const run = await runs.prepareApply(resources);
  const { runId } = run.launch;
  const connection = await runs.begin(run);
  await until("slow is being made", () => runs.workspace.hasEffect("slow"));
  return { runId, connection, runner: runnerOf(runs.folder(runId)) };
}

describe("a frozen runner", () => {
  test("is silent, answers no call, and is ended by terminate", async () => {
    const { runId, connection, runner } = await frozenInApply();
    const beats: number[] = [];
    const watching = (async () => {
      const from = { fromSequence: 1, logOffset: 0 };
      for await (const event of connection.watch(from, within(60_000))) {
        if (event.type === "heartbeat") beats.push(performance.now());
      }
    })();
    watching.catch(() => undefined);
    await until("it beats", () => beats.length >= 2);
    await runner.freeze();
    const frozen = performance.now();
    const calls = [1, 2, 3].map(() => runs.connect(runId).hello(within(1_000)));
    calls.push(connection.hello(within(1_000)));
    for (const call of calls) {
      await expect(call).rejects.toMatchObject({ code: "DeadlineExceeded" });
    }
    expect(performance.now() - frozen).toBeLessThan(3_000);
    await sleep(SILENCE_MS - (performance.now() - frozen));
    expect(beats.filter((at) => at > frozen + 100)).toEqual([]);
    // Its process is there, so its death is not proven.
    expect(await runs.fact(runId)).toMatchObject({ runner: "running", proof: undefined });
    await runs.platform.signal(runId, "terminate", within());
    expect(await runs.fact(runId)).toMatchObject({ runner: "gone", workersAlive: 0 });
    expect(await livingOf(runs.folder(runId))).toEqual([]);
    await expect(watching).rejects.toMatchObject({ code: "Unavailable" });
  });

  test("that is thawed goes on as if nothing had been", async () => {
    const { runId, connection, runner } = await frozenInApply();
    await runner.freeze();
    runs.workspace.passGate("slow");
    await until("its tofu is done", () => runs.state() !== undefined);
    runner.thaw();
    expect(await outcomeOf(connection)).toMatchObject({ kind: "applied" });
    expect(runs.workspace.counts(runId)).toEqual({
      [runs.workspace.address("first")]: 1,
      [runs.workspace.address("slow")]: 1,
    });
  });
});
