import fc from "fast-check";
import { expect, test } from "vitest";
import { ACCEPT, END_RUN, FINALIZER, REQUESTED_AT } from "../api/names.ts";
import { stages, type TerraformSpec } from "../api/terraform.ts";
import { artifactOf, OneObject } from "../testing/one-object.ts";
import type { RunFact, RunOutcome } from "./facts.ts";

// One object lives through random days: people edit, sources move, runners die at any moment.
// Whatever happened, once it stops the object comes to the state that was asked for, and on the
// way nothing was applied twice, unseen, or beside something that still writes.

/** What the resources are really made from, and what tofu would say of them. */
class Day {
  readonly object: OneObject;
  /** What was applied, by whoever; "" for nothing. */
  real = "";
  /** Plans as they were saved, by id. */
  readonly saved = new Map<string, string>();
  readonly interrupted: string[] = [];
  /** Plan files whose apply has begun: none of them is ever sent again. */
  readonly sent = new Set<string>();
  /** The run whose processes may still write. */
  writing: string | undefined;
  #requests = 0;
  #done = 0;

  constructor(spec: Partial<TerraformSpec>) {
    this.object = new OneObject(spec);
  }

  get wanted(): string {
    const { source, inputs } = this.object.observed;
    if (this.destroys) return "";
    const revision = source.state === "ready" ? source.artifact.revision : "?";
    return `${revision} ${inputs.state === "resolved" ? inputs.digest : "?"}`;
  }
  get destroys(): boolean {
    const { spec, metadata } = this.object.observed.terraform;
    return metadata.deletionTimestamp !== undefined
      ? spec.destroyResourcesOnDeletion === true
      : spec.destroy === true;
  }
  get fact(): RunFact | undefined {
    return this.object.observed.run;
  }

  /** A pass, and everything that must hold of what it asks for. */
  pass(): void {
    const { object } = this;
    if (object.gone) return;
    const from = object.effects.length;
    const before = object.status.run?.id;
    object.pass();
    const { run, plan } = object.status;
    if (run !== undefined && run.id !== before) {
      expect(this.writing, "a run starts while another may write").toBeUndefined();
      if (run.operation === "apply") {
        this.writing = run.id;
        expect(run.planId).toBe(plan?.pending);
        expect(this.saved.has(run.planId ?? ""), "a plan that was never saved").toBe(true);
        expect(this.saved.get(run.planId ?? "")).toBe(`${run.revision} ${run.inputsDigest}`);
        expect(this.sent.has(plan?.digest ?? ""), "a plan is applied twice").toBe(false);
      }
    }
    for (const effect of object.effects.slice(from)) {
      if (effect.do === "save-plan") {
        const made = object.status.plan;
        this.saved.set(effect.planId, `${made?.revision} ${made?.inputsDigest}`);
      }
      if (effect.do === "interrupt-run") {
        expect(this.interrupted).not.toContain(effect.runId);
        this.interrupted.push(effect.runId);
      }
      if (effect.do === "terminate-run" && this.writing === effect.runId) this.#killed();
      if (effect.do === "remove-run" && this.writing === effect.runId) {
        throw new Error("A run that may write is removed");
      }
    }
  }
  settle(): void {
    for (let count = 0; count < 12; count += 1) {
      this.pass();
      if (this.object.gone || this.object.decisions.at(-1)?.requeueAfterMs !== 0) return;
    }
  }

  news(change: Partial<RunFact>): void {
    if (this.fact === undefined) return;
    const { run, plan } = this.object.status;
    const begun = change.stage === "apply" || change.outcome?.kind === "applied";
    if (run?.operation === "apply" && begun) this.sent.add(plan?.digest ?? "");
    this.object.observed.run = { ...this.fact, ...change };
    this.settle();
  }
  /** What tofu of the run under way comes to if nothing disturbs it. */
  end(): void {
    const { run } = this.object.status;
    if (run === undefined || this.fact === undefined) return;
    if (this.fact.outcome !== undefined) return;
    if (run.operation === "apply") {
      this.#reach(run.revision, run.inputsDigest, run.destroy === true);
      this.writing = undefined;
      this.news({ runner: "running", outcome: { kind: "applied", outputs: [] } });
      return;
    }
    const aim = run.destroy === true ? "" : `${run.revision} ${run.inputsDigest}`;
    this.#done += 1;
    this.news({ runner: "running", outcome: plannedOf(this.real !== aim, this.#done) });
  }
  #reach(revision: string, inputsDigest: string, destroy: boolean): void {
    this.real = destroy ? "" : `${revision} ${inputsDigest}`;
  }
  fail(stage: RunFact["stage"], unrecorded: readonly string[]): void {
    if (this.fact === undefined || this.fact.outcome !== undefined) return;
    if (stages.indexOf(stage) < stages.indexOf(this.fact.stage)) return;
    const apply = this.object.status.run?.operation === "apply";
    if (apply) this.writing = undefined;
    this.news({
      ...(apply && stage === "apply" ? { stage } : {}),
      outcome: {
        kind: "failed",
        stage: apply ? stage : "plan",
        reason: apply ? "TFExecApplyFailed" : "TFExecPlanFailed",
        message: "it broke",
        exitCode: 1,
        lock: undefined,
        planStale: stage === "apply" && unrecorded.length === 0 && this.#done % 3 === 0,
        stateRescued: false,
        unrecorded: apply && stage === "apply" ? [...unrecorded] : [],
      },
    });
  }
  /** SIGKILL of the runner; tofu lives on or not. */
  kill(workersAlive: number): void {
    if (this.fact === undefined || this.fact.outcome !== undefined) return;
    const verdict = workersAlive === 0 ? "dead" : "unreachable";
    if (workersAlive === 0) this.#killed();
    this.news({ runner: "gone", proof: "killed by signal 9", workersAlive, verdict });
  }
  #killed(): void {
    this.writing = undefined;
  }
  /** Nothing of a gone run lives any more, and it has been collected. */
  collect(exitCode: number | undefined, unrecorded: readonly string[]): void {
    const { run } = this.object.status;
    if (run === undefined || this.fact?.runner !== "gone") return;
    if (this.fact.outcome !== undefined) return;
    this.#killed();
    if (run.operation === "plan") {
      this.news({ workersAlive: 0, verdict: "dead" });
      return;
    }
    const { stage } = this.fact;
    const before = ["launch", "artifact", "init", "workspace"].includes(stage);
    const ended = stage === "outputs" || (stage === "apply" && exitCode === 0);
    if (ended) this.#reach(run.revision, run.inputsDigest, run.destroy === true);
    this.news({
      workersAlive: 0,
      verdict: "dead",
      outcome: {
        kind: "orphaned",
        stage,
        exitCode: before ? undefined : ended ? 0 : exitCode,
        unrecorded: before || ended ? [] : [...unrecorded],
        stateRescued: false,
      },
    });
  }
  /** The runner cannot be launched, or the intent has gone stale before it was. */
  neverBegan(stale: boolean): void {
    this.#killed();
    const outcome: RunOutcome = { kind: "cancelled", stage: "launch", message: "stale" };
    const failing = { launchError: "no memory", runner: "unknown", workersAlive: 0 } as const;
    this.news(stale ? { outcome } : failing);
  }
  request(): void {
    this.#requests += 1;
    this.object.annotate({ [REQUESTED_AT]: `request ${this.#requests}` });
  }
  mapped<T>(change: (object: OneObject) => T): void {
    if (this.object.gone) return;
    change(this.object);
    this.settle();
  }
}

function plannedOf(changes: boolean, count: number): RunOutcome {
  return {
    kind: "planned",
    changes,
    summary: { add: changes ? 1 : 0, change: 0, destroy: 0, import: 0 },
    planDigest: `${count}`.padStart(6, "0").repeat(8),
    nothingToDestroy: !changes,
    outputs: changes ? undefined : [],
  };
}

function terraformEdit(day: Day, spec: Partial<TerraformSpec>): void {
  const { terraform } = day.object.observed;
  const { metadata } = terraform;
  day.object.observed.terraform = {
    ...terraform,
    metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
    spec: { ...terraform.spec, ...spec },
  };
  day.settle();
}

const acts = {
  time: fc.constantFrom(500, 5_000, 16_000, 600_000).map((ms) => (day: Day) => {
    day.object.nowMs += ms;
    day.settle();
  }),
  stage: fc
    .constantFrom("artifact" as const, "init" as const, "plan" as const, "apply" as const)
    .map((stage) => (day: Day) => {
      const apply = day.object.status.run?.operation === "apply";
      if ((stage === "plan" && apply) || (stage === "apply" && !apply)) return;
      const at = stages.indexOf(day.fact?.stage ?? "launch");
      if (stages.indexOf(stage) < at || day.fact?.runner === "gone") return;
      day.news({ stage, runner: "running", verdict: "alive", silentMs: 0, workersAlive: 1 });
    }),
  end: fc.constant((day: Day) => day.end()),
  fail: fc.tuple(fc.constantFrom("init" as const, "apply" as const), fc.subarray(["a.b"])).map(
    ([stage, unrecorded]) =>
      (day: Day) =>
        day.fail(stage, unrecorded),
  ),
  kill: fc.nat(1).map((workers) => (day: Day) => day.kill(workers)),
  collect: fc.tuple(fc.constantFrom(undefined, 0, 1), fc.subarray(["a.b"])).map(
    ([code, unrecorded]) =>
      (day: Day) =>
        day.collect(code, unrecorded),
  ),
  noRunner: fc.boolean().map((stale) => (day: Day) => {
    const { fact } = day;
    if (fact?.stage !== "launch" || fact.runner === "gone" || fact.outcome !== undefined) return;
    day.neverBegan(stale);
  }),
  silence: fc.constantFrom(9_000, 40_000).map((silentMs) => (day: Day) => {
    if (day.fact?.runner !== "gone") day.news({ silentMs, verdict: "unreachable" });
  }),
  source: fc.constantFrom("main/aaaaaaaaaaaa", "main/bbbbbbbbbbbb").map(
    (revision) => (day: Day) =>
      day.mapped((object) => {
        object.observed.source = { state: "ready", artifact: artifactOf(revision) };
      }),
  ),
  sourceGone: fc.constant((day: Day) =>
    day.mapped((object) => {
      object.observed.source = { state: "missing", message: "no such source" };
    }),
  ),
  inputs: fc.constantFrom("inputs-1", "inputs-2").map(
    (digest) => (day: Day) =>
      day.mapped((object) => {
        object.observed.inputs = { state: "resolved", digest };
      }),
  ),
  lock: fc.constantFrom(undefined, "stranger").map(
    (who) => (day: Day) =>
      day.mapped((object) => {
        const lock = { id: "l", operation: "OperationTypeApply", created: "2026-01-01T00:00:00Z" };
        object.observed.state = {
          rescued: [],
          lock: who === undefined ? undefined : { ...lock, who, runId: undefined },
        };
      }),
  ),
  slots: fc.boolean().map((slotFree) => (day: Day) => {
    day.object.engine({ slotFree });
    day.settle();
  }),
  restart: fc.constant((day: Day) => {
    day.object.engine({ epoch: day.object.observed.engine.epoch + 1 });
    if (day.fact?.runner === "running") day.news({ runner: "unknown" });
  }),
  drift: fc.constant((day: Day) => {
    // What was destroyed is in no state any more, so nothing of it can drift.
    if (day.real !== "") day.real = `${day.real} drifted`;
  }),
  request: fc.constant((day: Day) => day.object.gone || day.request()),
  approve: fc
    .constantFrom("", "auto", "pending", "disable", "plan-main")
    .map((how) => (day: Day) => {
      const value = how === "pending" ? (day.object.status.plan?.pending ?? "") : how;
      terraformEdit(day, { approvePlan: value });
    }),
  suspend: fc.boolean().map((suspend) => (day: Day) => terraformEdit(day, { suspend })),
  destroy: fc.boolean().map((destroy) => (day: Day) => terraformEdit(day, { destroy })),
  interval: fc.constantFrom("5m", "10m").map((interval) => (day: Day) => {
    terraformEdit(day, { interval });
  }),
};
const act = fc.oneof(
  { weight: 6, arbitrary: acts.end },
  { weight: 4, arbitrary: acts.time },
  { weight: 4, arbitrary: acts.stage },
  { weight: 3, arbitrary: acts.kill },
  { weight: 3, arbitrary: acts.collect },
  ...Object.values(acts).map((arbitrary) => ({ weight: 1, arbitrary })),
);

/** All that is wrong stops, people do what they are told, and time goes by. */
function calm(day: Day): void {
  const { object } = day;
  object.engine({ slotFree: true, shuttingDown: false });
  object.observed.state = { lock: undefined, rescued: [] };
  if (object.observed.source.state !== "ready") {
    object.observed.source = { state: "ready", artifact: artifactOf("main/aaaaaaaaaaaa") };
  }
  if (object.observed.terraform.spec.suspend) terraformEdit(day, { suspend: false });
  for (let count = 0; count < 60 && !object.gone; count += 1) {
    day.settle();
    const { run, plan, held } = object.status;
    if (run !== undefined) {
      runOn(day);
      // A person who is shown a plan decides before the next look at it is due.
      if (object.status.run === undefined && object.status.plan?.pending !== undefined) continue;
    } else if (plan?.pending !== undefined && held !== undefined && isAuto(day)) {
      object.annotate({ [ACCEPT]: plan.pending });
    } else if (plan?.pending !== undefined) terraformEdit(day, { approvePlan: plan.pending });
    else if (isAsWanted(day)) return;
    object.nowMs += object.decisions.at(-1)?.requeueAfterMs ?? 1_000;
  }
}

function isAuto(day: Day): boolean {
  const { spec, metadata } = day.object.observed.terraform;
  return spec.approvePlan === "auto" || metadata.deletionTimestamp !== undefined;
}

function runOn(day: Day): void {
  const { fact } = day;
  if (fact === undefined) return;
  if (fact.runner !== "gone") {
    day.news({ runner: "running", verdict: "alive", silentMs: 0, launchError: undefined });
    day.end();
  } else {
    day.collect(fact.stage === "apply" ? 0 : undefined, []);
  }
}

function isAsWanted(day: Day): boolean {
  const ready = day.object.condition("Ready");
  if (day.object.observed.terraform.spec.approvePlan === "disable") {
    return ready?.reason === "NoDrift" || ready?.reason === "DriftDetected";
  }
  return ready?.status === "True" && day.real === day.wanted;
}

const RUNS = 300;
const first = fc.record({
  approvePlan: fc.constantFrom("", "auto", "auto"),
  destroyResourcesOnDeletion: fc.boolean(),
});

test("once nothing goes wrong any more the object becomes what was asked for", () => {
  fc.assert(
    fc.property(first, fc.array(act, { maxLength: 40, size: "max" }), (spec, list) => {
      const day = new Day(spec);
      day.settle();
      for (const each of list) each(day);
      calm(day);
      expect(isAsWanted(day), `${day.object.ready} ${day.real} ${day.wanted}`).toBe(true);
      expect(day.object.status.run).toBeUndefined();
    }),
    { numRuns: RUNS },
  );
});

test("a deletion in the middle of anything comes to its end, and destroys if it is to", () => {
  fc.assert(
    fc.property(first, fc.array(act, { maxLength: 25, size: "max" }), (spec, list) => {
      const day = new Day(spec);
      day.settle();
      for (const each of list) each(day);
      day.object.observed.terraform.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
      calm(day);
      expect(day.object.gone, day.object.ready).toBe(true);
      expect(day.object.observed.terraform.metadata.finalizers).not.toContain(FINALIZER);
      const tried = day.object.condition("Apply") !== undefined;
      if (spec.destroyResourcesOnDeletion && tried) expect(day.real).toBe("");
    }),
    { numRuns: RUNS },
  );
});

test("a person's order ends a silent apply that nobody else may end", () => {
  const day = new Day({ approvePlan: "auto" });
  day.settle();
  day.end();
  day.news({ stage: "apply", runner: "running", workersAlive: 1 });
  day.object.engine({ lostApply: "wait" });
  day.news({ silentMs: 31_000, verdict: "unreachable" });
  expect(day.object.condition("Stalled")).toMatchObject({ reason: "RunnerUnreachable" });
  expect(day.object.asked).not.toContain("terminate-run");
  day.object.annotate({ [END_RUN]: day.object.status.run?.id ?? "" });
  expect(day.object.asked).toContain("terminate-run");
});
