import { describe, expect, test } from "vitest";
import { END_RUN } from "../api/names.ts";
import { type Stage, stages } from "../api/terraform.ts";
import { OneObject } from "../testing/one-object.ts";
import type { RunFact } from "./facts.ts";
import {
  type Measure,
  type Phase,
  phaseNow,
  phaseOf,
  phases,
  type Situation,
  situationOf,
  situations,
} from "./lost-run.ts";

/** An object whose run is in this phase. */
function inPhase(phase: Phase): OneObject {
  const object = new OneObject({ approvePlan: "auto" });
  object.settle();
  const stage: Record<Phase, Stage> = {
    reads: "init",
    prepares: "init",
    writes: "apply",
    ends: "outputs",
  };
  if (phase !== "reads") object.planned(1);
  object.run({ runner: "running", workersAlive: 1, stage: stage[phase], startedAt: "now" });
  object.effects.length = 0;
  return object;
}

const facts: Record<Situation, Partial<RunFact>> = {
  answers: { verdict: "suspect", silentMs: 6_000 },
  silent: { verdict: "unreachable", silentMs: 9_000 },
  "silent-long": { verdict: "unreachable", silentMs: 30_000 },
  idle: { verdict: "unreachable", silentMs: 30_000, workersAlive: 0 },
  "cut-off": { verdict: "unreachable", silentMs: 9_000, cutOff: true, workersAlive: undefined },
  orphaned: { verdict: "unreachable", runner: "gone", proof: "killed by signal 9" },
  "left-over": {
    verdict: "unreachable",
    runner: "gone",
    proof: "killed by signal 9",
    onlyLeftovers: true,
  },
  unclear: { verdict: "unreachable", runner: "gone", workersAlive: undefined },
  dead: { verdict: "dead", runner: "gone", workersAlive: 0, proof: "killed by signal 9" },
};

/** What the pass must do: what it asks of the run, and what becomes of the object. */
const follows: Record<Measure, { asks: string[]; ready: RegExp; runStays: boolean }> = {
  "go-on": { asks: [], ready: /^Unknown Progressing/, runStays: true },
  wait: { asks: [], ready: /^Unknown Runner(Lost|Unreachable)/, runStays: true },
  end: { asks: ["terminate-run"], ready: /^Unknown Runner(Lost|Unreachable)/, runStays: true },
  interrupt: { asks: ["interrupt-run"], ready: /^Unknown RunnerUnreachable/, runStays: true },
  "end-runner": {
    asks: ["end-runner"],
    ready: /^Unknown RunnerUnreachable: .*what it left is collected/,
    runStays: true,
  },
  watch: { asks: [], ready: /^Unknown RunnerLost: .*is watched/, runStays: true },
  collect: { asks: [], ready: /^Unknown RunnerLost: .*collected/, runStays: true },
  retry: {
    asks: ["revoke-credentials", "remove-run"],
    ready: /^Unknown RunnerLost: .*a new attempt starts at once/,
    runStays: false,
  },
};

// Written out once more by hand: a slip in the table must not be its own proof.
const expected: Record<Phase, Record<Situation, Measure>> = {
  reads: {
    answers: "go-on",
    silent: "wait",
    "silent-long": "end",
    idle: "end",
    "cut-off": "retry",
    orphaned: "end",
    "left-over": "end",
    unclear: "wait",
    dead: "retry",
  },
  prepares: {
    answers: "go-on",
    silent: "wait",
    "silent-long": "interrupt",
    idle: "end-runner",
    // The stage was heard from a runner that is gone: its apply may have begun since.
    "cut-off": "wait",
    orphaned: "watch",
    // Stage and end are both the journal's: nothing that lives can be tofu.
    "left-over": "end",
    unclear: "wait",
    dead: "collect",
  },
  writes: {
    answers: "go-on",
    silent: "wait",
    "silent-long": "interrupt",
    idle: "end-runner",
    "cut-off": "wait",
    orphaned: "watch",
    "left-over": "end",
    unclear: "wait",
    dead: "collect",
  },
  ends: {
    answers: "go-on",
    silent: "wait",
    "silent-long": "end",
    idle: "end",
    "cut-off": "wait",
    orphaned: "end",
    "left-over": "end",
    unclear: "wait",
    dead: "collect",
  },
};

const cells = phases.flatMap((phase) => situations.map((situation) => [phase, situation] as const));

describe("what follows, phase × situation", () => {
  test.each(cells)("%s, %s", (phase, situation) => {
    const object = inPhase(phase);
    object.observed.run = { ...(object.observed.run as RunFact), ...facts[situation] };
    object.pass();
    const { asks, ready, runStays } = follows[expected[phase][situation]];
    expect(object.asked).toEqual(asks);
    expect(object.ready).toMatch(ready);
    expect(object.status.run !== undefined).toBe(runStays);
    if (situation !== "answers") expect(object.events).toHaveLength(1);
    if (runStays && situation !== "answers") {
      expect(object.status.run?.note).toBe(object.ready.replace(/^\S+ \S+: /, ""));
    }
  });

  test("each stage of a plan only reads", () => {
    expect(new Set(stages.map((stage) => phaseOf("plan", stage)))).toEqual(new Set(["reads"]));
  });

  test("each stage of an apply before the apply itself prepares, each after it ends", () => {
    const found = stages.map((stage) => phaseOf("apply", stage));
    expect(found).toEqual([
      ...["prepares", "prepares", "prepares", "prepares", "prepares", "prepares"],
      ...["writes", "ends", "ends", "ends"],
    ]);
  });
});

describe("an apply whose runner is gone in init", () => {
  test("is ended at once if the journal proves that init is what lives", () => {
    const object = inPhase("prepares");
    object.run({ ...facts.orphaned, workersStage: "init" });
    expect(object.asked).toContain("terminate-run");
  });
  test("is watched if the journal says that apply lives", () => {
    const object = inPhase("prepares");
    object.run({ ...facts.orphaned, workersStage: "apply" });
    expect(object.asked).toEqual([]);
    expect(object.ready).toMatch(/is watched/);
  });
  test("once nothing was applied the very same plan is carried out by a new attempt", () => {
    const object = inPhase("prepares");
    const planId = object.status.run?.planId;
    object.run({
      ...facts.dead,
      outcome: {
        kind: "orphaned",
        stage: "init",
        exitCode: undefined,
        unrecorded: [],
        stateRescued: false,
      },
    });
    expect(object.status.run).toBeUndefined();
    expect(object.ready).toMatch(/before it applied anything; plan \S+ is tried again/);
    expect(object.asked).not.toContain("delete-plan");
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "apply", attempt: 2, planId });
    expect(object.events.at(-1)).toMatch(/^RunRecovered: Attempt 2 of the apply begins/);
  });
});

describe("a run in a pod", () => {
  const place = { pod: "team/demo-tf-runner-1", node: "wyrm2" };
  const nodeTrouble = "is not heard of since 2026-01-01T05:35:12Z (NodeStatusUnknown)";
  const cutOff = { ...facts["cut-off"], place: { ...place, nodeTrouble } };

  test("that applies on a node that is cut off says what it waits for, and the ways out", () => {
    const object = inPhase("writes");
    object.run(cutOff);
    expect(object.ready).toMatch(/^Unknown RunnerUnreachable: The runner does not answer during/);
    expect(object.ready).toContain(
      `pod team/demo-tf-runner-1 is on node wyrm2, which ${nodeTrouble}`,
    );
    expect(object.ready).toContain("when node wyrm2 is back");
    expect(object.ready).toContain("node.kubernetes.io/out-of-service");
    expect(object.ready).toContain('"nigari fence wyrm2 --confirm"');
    expect(object.condition("Stalled")).toBeUndefined();
    object.run({ ...cutOff, silentMs: 600_000 });
    expect(object.condition("Stalled")).toMatchObject({ reason: "RunnerUnreachable" });
    expect(object.asked).toEqual([]);
  });
  test("that plans there is begun elsewhere at once, and the node is named", () => {
    const object = inPhase("reads");
    object.run(cutOff);
    expect(object.status.lastRun?.message).toMatch(/on node wyrm2, which is not heard of/);
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "plan", attempt: 2 });
  });
  test("that plans there is not asked to end, whoever orders it: nobody can end it there", () => {
    const object = inPhase("reads");
    object.observed.run = { ...(object.observed.run as RunFact), ...cutOff };
    object.annotate({ [END_RUN]: object.status.run?.id ?? "" });
    expect(object.asked).not.toContain("terminate-run");
    expect(object.status.run).toBeUndefined();
  });
  test("that has not started says what it waits for, once that takes its time", () => {
    const object = inPhase("reads");
    const waits = { ...place, node: undefined, waitsFor: "No node takes the pod: no cpu" };
    const starting = { runner: "starting", stage: "launch", workersAlive: 0 } as const;
    object.run({ ...starting, verdict: "alive", stageMs: 1_000, place: waits });
    expect(object.ready).not.toMatch(/No node/);
    object.run({ ...starting, verdict: "alive", stageMs: 6_000, place: waits });
    expect(object.ready).toMatch(/^Unknown Progressing: .* No node takes the pod: no cpu/);
    object.run({ ...starting, verdict: "alive", stageMs: 631_000, place: waits });
    expect(object.asked).toContain("terminate-run");
  });
  test("that is evicted says so while OpenTofu ends", () => {
    const object = inPhase("writes");
    object.run({ verdict: "alive", place: { ...place, stoppedBy: "its pod is evicted" } });
    expect(object.ready).toMatch(/being stopped: its pod is evicted; OpenTofu is asked to end/);
  });
});

describe("a plan's dead run", () => {
  test("leaves nothing behind that writes or stands in the way", () => {
    const object = inPhase("reads");
    const lock = { id: "l-1", operation: "OperationTypePlan", who: "me", created: "2026" };
    object.observed.state = { lock: { ...lock, runId: "run-1" }, rescued: [] };
    object.observed.run = { ...(object.observed.run as RunFact), ...facts.dead };
    const decision = object.pass();
    expect(decision.before).toEqual([
      { do: "revoke-credentials", runId: "run-1", proof: "killed by signal 9" },
      {
        do: "release-lock",
        lockId: "l-1",
        why: "Run run-1 is dead: killed by signal 9",
      },
    ]);
    expect(object.status).toMatchObject({
      lostRuns: 1,
      lastRun: { id: "run-1", outcome: "lost", stage: "init" },
    });
  });

  test("does not touch the lock of another", () => {
    const object = inPhase("reads");
    const lock = { id: "l-1", operation: "OperationTypeApply", who: "me", created: "2026" };
    object.observed.state = { lock: { ...lock, runId: "run-7" }, rescued: [] };
    object.run(facts.dead);
    expect(object.asked).not.toContain("release-lock");
  });

  test("losses in a row make the pause grow, and an end sets it back", () => {
    const object = inPhase("reads");
    const pauses: (number | undefined)[] = [];
    for (let count = 0; count < 4; count += 1) {
      object.run({ runner: "running", stage: "init" });
      object.run(facts.dead);
      pauses.push(object.decisions.at(-1)?.requeueAfterMs);
      object.whenDue();
    }
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000]);
    expect(object.status.run?.attempt).toBe(5);
    object.planned(0);
    expect(object.status.lostRuns).toBeUndefined();
  });

  test("an unanswered request does not cut the pause short, and is answered by the next", () => {
    const object = inPhase("reads");
    object.run(facts.dead);
    object.annotate({ "reconcile.fluxcd.io/requestedAt": "now" });
    expect(object.status.run).toBeUndefined();
    object.whenDue();
    expect(object.status.run?.handles).toBe("now");
  });

  test("what was terminated for its silence is told by its silence, not by our signal", () => {
    const object = inPhase("reads");
    object.run({ ...facts["silent-long"] });
    object.settle();
    expect(object.status.lastRun?.message).toMatch(
      /^The runner did not answer during init; its last sign came at 2025-12-31T23:59:30Z$/,
    );
  });
});

describe("a silent apply", () => {
  test("is asked to stop once, has ten minutes, and then a person is called", () => {
    const object = inPhase("writes");
    object.run(facts["silent-long"]);
    object.after(1_000);
    object.after(598_000);
    expect(object.asked).toEqual(["interrupt-run"]);
    expect(object.ready).toMatch(/^Unknown RunnerUnreachable: .* has until 2026-01-01T00:10:00Z/);
    object.after(1_000);
    expect(object.asked).toEqual(["interrupt-run"]);
    expect(object.ready).toMatch(/^False RunnerUnreachable: .*nigari.dev\/end-run=run-2/);
    expect(object.condition("Stalled")).toMatchObject({ status: "True" });
    expect(object.condition("Reconciling")).toBeUndefined();
  });

  test("is left alone where that is the policy, and a person is told at once", () => {
    const object = inPhase("writes");
    object.engine({ lostApply: "wait" });
    object.run(facts["silent-long"]);
    expect(object.asked).toEqual([]);
    expect(object.condition("Stalled")).toMatchObject({ reason: "RunnerUnreachable" });
  });

  test("that answers again is nobody's trouble any more", () => {
    const object = inPhase("writes");
    object.run(facts.silent);
    object.run({ verdict: "alive", silentMs: 0 });
    expect(object.ready).toBe("Unknown Progressing: Applying");
    expect(object.condition("Stalled")).toBeUndefined();
  });

  test("a person may end it, by the id of this very run", () => {
    const object = inPhase("writes");
    object.run(facts["silent-long"]);
    object.annotate({ [END_RUN]: "run-1" });
    expect(object.asked).not.toContain("terminate-run");
    object.annotate({ [END_RUN]: "run-2" });
    expect(object.asked).toContain("terminate-run");
  });

  test("a plan that a person ended is no loss, and the next comes after the retry interval", () => {
    const object = inPhase("reads");
    object.annotate({ [END_RUN]: "run-1" });
    object.run(facts.dead);
    const said = "A person has ordered the end of the run during init";
    expect(object.status.lastRun).toMatchObject({ outcome: "cancelled", message: said });
    expect(object.ready).toBe(
      `Unknown Progressing: ${said}; the next starts in 15s, or on request`,
    );
    expect(object.events).toEqual([]);
    expect([object.status.lostRuns, object.status.reconciliationFailures ?? 0]).toEqual([
      undefined,
      0,
    ]);
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(15_000);
    object.whenDue();
    expect(object.status.run).toMatchObject({ id: "run-2", operation: "plan" });
  });

  test("what is left of an apply and watched may be ended: it is said how", () => {
    const object = inPhase("writes");
    object.run({ ...facts.orphaned, workersAlive: 1 });
    expect(object.ready).toMatch(
      /\(1 process lives\); or have them ended: "nigari end-run default\/app"$/,
    );
  });

  test("an apply that answers is asked first, so that it can save its state", () => {
    const object = inPhase("writes");
    object.annotate({ [END_RUN]: "run-2" });
    object.after(599_000);
    expect(object.asked).toEqual(["interrupt-run"]);
    object.after(1_000);
    expect(object.asked).toEqual(["interrupt-run", "terminate-run"]);
  });
});

describe("time limits of steps", () => {
  test("an init that overruns is ended, and counts as a failure, not as a loss", () => {
    const object = inPhase("reads");
    expect(object.status.run?.stageDeadline).toBe("2026-01-01T00:10:00.000Z");
    object.run({ stageMs: 630_000 });
    expect(object.asked).toEqual([]);
    object.run({ stageMs: 630_001 });
    expect(object.asked).toContain("terminate-run");
    object.settle();
    expect(object.ready).toBe("False TFExecInitFailed: Init did not end within 10m and was ended");
    expect(object.status).toMatchObject({ reconciliationFailures: 1 });
    expect(object.status.lostRuns).toBeUndefined();
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(15_000);
  });

  const refused: Partial<RunFact> = {
    runner: "running",
    stage: "launch",
    startedAt: undefined,
    workersAlive: 0,
    launchError: "Start failed",
  };
  test("a runner that is there and never takes its order is ended", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.run({ ...refused, stageMs: 630_000 });
    expect(object.ready).toMatch(/^Unknown Progressing: The runner cannot be started/);
    object.run({ ...refused, stageMs: 630_001 });
    expect(object.asked).toContain("terminate-run");
  });
  test("so is that of an apply, alone, and then the very plan is tried again", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.planned(1);
    const planId = object.status.run?.planId;
    object.run({ ...refused, stageMs: 630_001 });
    expect(object.asked.at(-1)).toBe("end-runner");
    const outcome = { exitCode: undefined, unrecorded: [], stateRescued: false };
    object.run({
      ...facts.dead,
      stage: "launch",
      outcome: { kind: "orphaned", stage: "launch", ...outcome },
    });
    expect(object.status.run).toBeUndefined();
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "apply", planId });
  });
  test("where no runner comes about there is nothing to end", () => {
    const object = inPhase("reads");
    object.run({ ...refused, runner: "unknown", stageMs: 9_000_000 });
    expect(object.asked.filter((each) => each !== "launch-run")).toEqual([]);
  });

  test("a clock that jumps, or a machine that slept, makes no overrun", () => {
    const object = inPhase("reads");
    object.run({ stageMs: 1_000 });
    object.after(8 * 3_600_000);
    expect(object.asked).toEqual([]);
    expect(object.status.run?.stageDeadline, "the end that is told moves too").toBe(
      "2026-01-01T08:09:59.000Z",
    );
  });

  test("an apply has none, and says so with its last sign", () => {
    const object = inPhase("writes");
    expect(object.status.run?.stageDeadline).toBeUndefined();
    object.after(86_400_000);
    expect(object.status.run?.note).toBe("Apply has no time limit; last sign 2026-01-02T00:00:00Z");
    expect(object.asked).toEqual([]);
  });
});

describe("what is known by whom", () => {
  const run = { operation: "apply" } as Parameters<typeof phaseNow>[0];
  const fact = (change: Partial<RunFact>) =>
    ({ stage: "init", runner: "running", silentMs: 0, verdict: "alive", ...change }) as RunFact;
  test("a stage heard from a living runner holds", () => {
    expect(phaseNow(run, fact({}))).toBe("prepares");
  });
  test("the same from a gone one may be old", () => {
    expect(phaseNow(run, fact({ runner: "gone" }))).toBe("writes");
  });
  test("a runner gone with nothing left is dead, whatever the verdict still says", () => {
    expect(situationOf(fact({ runner: "gone", workersAlive: 0, verdict: "suspect" }))).toBe("dead");
  });
});

describe("no runner comes about", () => {
  test("it is said at once, tried again with growing pauses, and goes on by itself", () => {
    const object = new OneObject();
    object.settle();
    object.run({ launchError: "no memory", runner: "unknown" });
    expect(object.ready).toBe(
      "Unknown Progressing: The runner cannot be started (its launch): no memory; " +
        "it is tried again by itself",
    );
    const pauses = [object.decisions.at(-1)?.requeueAfterMs];
    object.after(10_000);
    pauses.push(object.decisions.at(-1)?.requeueAfterMs);
    object.after(590_000);
    pauses.push(object.decisions.at(-1)?.requeueAfterMs);
    expect(pauses).toEqual([1_000, 5_000, 60_000]);
    expect(object.asked.filter((each) => each === "launch-run")).toHaveLength(4);
    object.run({ launchError: undefined });
    expect(object.ready).toBe("Unknown Progressing: Initializing");
  });

  test("a request that comes meanwhile is told what it waits for", () => {
    const object = new OneObject();
    object.settle();
    object.run({ launchError: "no memory", runner: "unknown" });
    object.annotate({ "reconcile.fluxcd.io/requestedAt": "now" });
    expect(object.condition("Reconciling")?.message).toMatch(
      /^Busy since .*: plan is in stage launch, until .* at most; the request of now is answered/,
    );
  });

  test("for hours, and there is still nothing to end", () => {
    const object = new OneObject();
    object.settle();
    const never = { runner: "unknown", workersAlive: 0, launchError: "no memory" } as const;
    object.run({ ...never, stageMs: 7_200_000, silentMs: 7_200_000, verdict: "unreachable" });
    expect(object.asked).not.toContain("terminate-run");
    expect(object.ready).toMatch(/no memory; it is tried again by itself$/);
  });

  test("an intent that went stale before it began is no failure, and is decided anew", () => {
    const object = new OneObject();
    object.settle();
    object.ends({ kind: "cancelled", stage: "launch", message: "The spec changed" });
    expect(object.ready).toBe("Unknown Progressing: The spec changed");
    expect(object.status.reconciliationFailures ?? 0).toBe(0);
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(500);
    object.whenDue();
    expect(object.status.run).toMatchObject({ id: "run-2", operation: "plan" });
  });

  test.each<[string, (object: OneObject) => void]>([
    ["deleted", (object) => object.delete()],
    ["suspended", (object) => object.edit({ suspend: true })],
    ["ended by a person", (object) => object.annotate({ [END_RUN]: "run-1" })],
  ])("an object that is %s does not wait for a runner that never comes", (_name, act) => {
    const object = new OneObject();
    object.settle();
    object.run({ launchError: "no memory", runner: "unknown", workersAlive: 0 });
    act(object);
    expect(object.status.run).toBeUndefined();
    expect(object.asked).not.toContain("terminate-run");
  });

  test("but what may have begun is not given up", () => {
    const object = new OneObject();
    object.settle();
    object.run({ launchError: "no answer", runner: "unknown", workersAlive: undefined });
    object.edit({ suspend: true });
    expect(object.status.run).toBeDefined();
  });

  test("after a restart of the engine a run that was never launched is launched", () => {
    const object = new OneObject();
    object.settle();
    object.effects.length = 0;
    object.run({ runner: "unknown" });
    expect(object.asked).toEqual(["launch-run"]);
    expect(object.status.run?.id).toBe("run-1");
  });
});
