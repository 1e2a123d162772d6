import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { stages as runStages, type Stage, type Terraform } from "../../api/terraform.ts";
import type { DoorMode } from "../harness/door-proxy.ts";
import { readyText } from "../harness/subject.ts";
import { TRUTH_MS, tellsLoss } from "../harness/truth.ts";
import { until, workingTofuOf } from "../harness/victims.ts";
import { isApply } from "./cells.ts";
import { type Held, release, runStageOf } from "./hold.ts";
import { endsWell, type Twice } from "./judge.ts";

// What befalls one object's run, and what must follow. Each ends with the object as it should be.

/** Milliseconds by what was measured. */
export type Figures = Readonly<Record<string, number>>;

/** Bounds, in milliseconds. Until a new attempt is as far as the one that was lost: */
const AGAIN_MS = 45_000;
const INIT_AGAIN_MS = 15_000;
const UNREACHABLE_MS = 10_000;
/** Until the end of an OpenTofu that was killed is told. */
const TOLD_MS = 5_000;
/** An apply is asked to stop after 30 s, and then has to end and be collected. */
const STOPPED_MS = 60_000;
/** Of stages, where a test has them short. */
export const STAGE_LIMIT_MS = 20_000;
/** Between interrupt and kill at the limit, and what it takes to tell. */
const OVERRUN_MS = 75_000;

export async function runnerKilled(held: Held): Promise<Figures> {
  const { subject, stage, runId, runner } = held;
  const loss = subject.when("the loss is told", (object) => tellsLoss(object, runId));
  const struckMs = performance.now();
  await runner.kill();
  const toldMs = (await loss).atMs - struckMs;
  within("the truth", toldMs, TRUTH_MS);
  if (isApply(stage))
    assert.match(subject.ready, /tofu goes on and is watched.*process(es)? lives?/);
  const againMs = await isAgain(held, struckMs, stage === "init" ? INIT_AGAIN_MS : AGAIN_MS);
  release(held);
  await endsWell(held);
  return { toldMs, ...againMs };
}

export async function runnerFrozen(held: Held): Promise<Figures> {
  const { subject, stage, runId, runner } = held;
  const struckMs = performance.now();
  await runner.freeze();
  const named = await subject.when("it is called unreachable", ({ status }) => {
    return status?.run?.id === runId && status.run.verdict === "unreachable";
  });
  const unreachableMs = named.atMs - struckMs;
  within("it is called unreachable", unreachableMs, UNREACHABLE_MS);
  assert.match(readyText(named.object), /^Unknown RunnerUnreachable: The runner does not answer/);
  if (!isApply(stage)) {
    const againMs = await isAgain(held, struckMs, AGAIN_MS);
    release(held);
    await endsWell(held);
    return { unreachableMs, ...againMs };
  }
  const ended = await subject.when("its end is told", endOf(runId), STOPPED_MS);
  const endedMs = ended.atMs - struckMs;
  assert.equal(ended.object.status?.lastRun?.outcome, "failed");
  release(held);
  // What was cut off is done anew; OpenTofu runs no destroy command for what is tainted.
  const cut = (name: string) => [subject.workspace.address(name)];
  await endsWell(held, stage === "apply" ? { created: cut("slow") } : { destroyed: cut("last") });
  return { unreachableMs, endedMs };
}

export async function tofuKilled(held: Held): Promise<Figures> {
  const { subject, runId, stage } = held;
  const tofu = await workingTofuOf(subject.folder(runId));
  const told = subject.when("its end is told", endOf(runId));
  const struckMs = performance.now();
  await tofu.kill();
  const { object, atMs } = await told;
  const toldMs = atMs - struckMs;
  within("it is told", toldMs, TOLD_MS);
  assert.match(object.status?.lastRun?.message ?? "", /ended by signal 9/);
  if (isApply(stage)) return { toldMs, ...(await approved(held)) };
  const againMs = await isAgain(held, struckMs, AGAIN_MS);
  release(held);
  await endsWell(held);
  return { toldMs, ...againMs };
}

/** A person has the word, looks, and lets it go on. */
async function approved(held: Held): Promise<Figures> {
  const { subject, stage, runId, stand } = held;
  const { object } = await subject.when("it is held for a person", ({ status }) => {
    return status?.held !== undefined && status.plan?.pending !== undefined && !status.run;
  });
  const named = object.status?.held?.resources ?? [];
  const worked = stage === "apply" ? "slow" : "last";
  assert.ok(named.includes(subject.workspace.address(worked)), `named are ${named}`);
  assert.match(readyText(object), /^False RunResultUnknown: .*nigari\.dev\/accept=/s);
  const calls = subject.calls("apply");
  // Nothing goes on by itself.
  await sleep(6_000);
  assert.equal(subject.calls("apply"), calls);
  assert.equal(subject.run, undefined);
  release(held);
  const said = await stand.world.nigari("approve", subject.name);
  assert.equal(said.code, 0, said.error);
  const twice: Twice =
    stage === "apply" ? { created: named } : { destroyed: madeIn(held, runId, "destroy", named) };
  await endsWell(held, twice);
  return {};
}

/** Those of `named` that had their effect in the run. */
function madeIn(held: Held, runId: string, action: string, named: readonly string[]): string[] {
  const actions = held.subject.workspace.actions(runId);
  return named.filter((address) => (actions[`${action} ${address}`] ?? 0) > 0);
}

export async function tofuFrozen(held: Held): Promise<Figures> {
  const { subject, runId, stage } = held;
  const tofu = await workingTofuOf(subject.folder(runId));
  const struckMs = performance.now();
  await tofu.freeze();
  if (isApply(stage)) {
    await saysWhatGoesOn(held);
    tofu.thaw();
    release(held);
    await endsWell(held);
    assertNoOther(held);
    return {};
  }
  assert.notEqual(subject.run?.stageDeadline, undefined);
  const ended = await subject.when("its end is told", endOf(runId), STAGE_LIMIT_MS + OVERRUN_MS);
  assert.match(ended.object.status?.lastRun?.message ?? "", OVERRAN);
  const endedMs = ended.atMs - struckMs;
  release(held);
  await endsWell(held);
  return { endedMs };
}

export function doorIs(mode: DoorMode): (held: Held) => Promise<Figures> {
  return async (held) => {
    const { subject, stage, stand, runId } = held;
    const { door } = stand;
    const struckMs = performance.now();
    door.set(subject.name, mode);
    release(held);
    if (stage === "workspace" || stage === "health") {
      await endsWell(held);
      return {};
    }
    if (isApply(stage)) {
      await until(`${subject.name} has worked`, () => hasWorked(held));
      await saysWhatGoesOn(held);
      door.set(subject.name, "open");
      await endsWell(held);
      assertNoOther(held);
      return {};
    }
    if (stage === "show") {
      const made = await subject.when("the plan is made", endOf(runId));
      assert.equal(made.object.status?.lastRun?.outcome, "succeeded");
      door.set(subject.name, "open");
      await endsWell(held);
      return {};
    }
    const limitMs = STAGE_LIMIT_MS + OVERRUN_MS;
    // A run that applies and need not init goes on to the apply, which has no limit.
    const ended = await subject.when(
      "the stage's end is told",
      (object) =>
        overran(object) || (stage === "artifact" && object.status?.run?.stage === "apply"),
      limitMs,
    );
    door.set(subject.name, "open");
    await endsWell(held);
    return { endedMs: ended.atMs - struckMs };
  };
}

/** By the runner itself, or where it does not come to it, by the engine. */
const OVERRAN = /time limit of \w+ \(20s\) passed|did not end within 20s and was ended/;

function overran({ status }: Terraform): boolean {
  return OVERRAN.test(status?.lastRun?.message ?? "");
}

function hasWorked({ stage, subject }: Held): boolean {
  if (stage === "apply") return subject.workspace.hasEffect("last");
  return subject.workspace.hasEffect("first", "destroy");
}

/** An apply that does not come on: for as long as it lives, that and nothing else is told. */
async function saysWhatGoesOn({ subject, runId, stage }: Held): Promise<void> {
  for (const untilMs = performance.now() + 12_000; performance.now() < untilMs; ) {
    const { run } = subject.object?.status ?? {};
    assert.equal(run?.id, runId);
    assert.equal(run?.stage, "apply");
    assert.equal(run?.verdict, "alive");
    assert.equal(run?.stageDeadline, undefined);
    assert.match(subject.ready, stage === "apply" ? /^Unknown/ : /^(Unknown|False)/);
    await sleep(200);
  }
  assert.match(subject.run?.note ?? "", /^Apply has no time limit; last sign /);
}

/** The run that was struck has done it all. */
function assertNoOther({ subject, runId }: Held): void {
  const runs = new Set(subject.workspace.effects().map((each) => each.runId));
  assert.ok(runs.has(runId));
  assert.equal(subject.calls("apply"), runs.size, "an apply was sent again");
}

/** How long until another attempt is as far as the one that was struck; only of plans. */
async function isAgain(held: Held, sinceMs: number, limitMs: number): Promise<Figures> {
  const { subject, stage, runId } = held;
  if (isApply(stage) || stage === "outputs" || stage === "health") return {};
  const place = placeOf(runStageOf(stage));
  const again = await subject.when("a new attempt is as far", ({ status }) => {
    const run = status?.run;
    return run !== undefined && run.id !== runId && placeOf(run.stage) >= place;
  });
  const againMs = again.atMs - sinceMs;
  within("a new attempt is as far", againMs, limitMs);
  return { againMs };
}

function placeOf(stage: Stage): number {
  return runStages.indexOf(stage);
}

/** The run has ended, and that is told. */
function endOf(runId: string): (object: Terraform) => boolean {
  return ({ status }) => status?.lastRun?.id === runId;
}

export function within(what: string, ms: number, limitMs: number): void {
  assert.ok(ms <= limitMs, `${what} took ${Math.round(ms)} ms of ${limitMs}`);
}
