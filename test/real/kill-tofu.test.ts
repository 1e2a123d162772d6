import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LocalRuns, outcomeOf, within } from "../../src/testing/harness/local-runs.ts";
import { livingOf, runnerOf, tofuOf, until } from "../../src/testing/harness/victims.ts";

// SIGKILL of OpenTofu in the middle of an apply: what it had under way may exist, and no state says
// so. What the last written state says is kept.

const before = [{ name: "base" }];
const after = [...before, { name: "quick" }, { name: "slow", gated: true }];

let runs: LocalRuns;
beforeEach(() => {
  runs = new LocalRuns();
});
afterEach(() => runs.close());

/** An apply on top of an earlier one, caught while its slow resource is being made. */
async function inSlow() {
  const first = await runs.prepareApply(before);
  expect(await outcomeOf(await runs.begin(first))).toMatchObject({ kind: "applied" });
  await runs.platform.signal(first.launch.runId, "terminate", within());
  const written = runs.state();
  expect(written?.resources).toEqual([runs.workspace.address("base")]);
  const run = await runs.prepareApply(after);
  const connection = await runs.begin(run);
  await until("slow is being made", () => runs.workspace.hasEffect("slow"));
  return { connection, written, runId: run.launch.runId };
}

/** "quick" is done and not yet in any state: OpenTofu hands its state on 20 s later at most. */
function unrecorded(): string[] {
  return [runs.workspace.address("quick"), runs.workspace.address("slow")];
}

describe("SIGKILL of OpenTofu in apply", () => {
  test("its runner tells it, and names what may exist unrecorded", async () => {
    const { connection, written, runId } = await inSlow();
    await (await tofuOf(runs.folder(runId), "apply")).kill();
    expect(await outcomeOf(connection)).toMatchObject({
      kind: "failed",
      stage: "apply",
      exitCode: undefined,
      unrecorded: unrecorded(),
      stateRescued: false,
    });
    expect(runs.state()).toEqual(written);
    expect(runs.gate.calls("apply")).toBe(2);
    // The child it left, the resource's own command, was ended with it.
    expect(await livingOf(runs.folder(runId))).toEqual([runnerOf(runs.folder(runId)).identity.pid]);
  });

  test("with its runner: the platform tells it, once the children have ended too", async () => {
    const { written, runId } = await inSlow();
    await runnerOf(runs.folder(runId)).kill();
    await (await tofuOf(runs.folder(runId), "apply")).kill();
    const fact = await runs.fact(runId);
    expect(fact.runner).toBe("gone");
    // The resource's own command lives on: as long as it does, the run is not dead.
    expect(fact.workersAlive).toBeGreaterThan(0);
    await expect(runs.platform.collect(runId, within())).rejects.toMatchObject({
      code: "StillAlive",
    });
    runs.workspace.passGate("slow");
    await runs.dead(runId);
    expect(await runs.platform.collect(runId, within())).toEqual({
      kind: "orphaned",
      stage: "apply",
      exitCode: undefined,
      unrecorded: unrecorded(),
      stateRescued: false,
    });
    expect(runs.state()).toEqual(written);
    const once = after.map(({ name }) => [runs.workspace.address(name), 1]);
    expect(runs.workspace.counts()).toEqual(Object.fromEntries(once));
    await runs.platform.remove(runId, within());
  });
});
