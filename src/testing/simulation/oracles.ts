import type { Condition } from "../../api/meta.ts";
import type { RunStatus, Terraform } from "../../api/terraform.ts";
import type { Decision } from "../../domain/facts.ts";
import { timeOf } from "../../domain/time.ts";
import type { FakeRun } from "../fakes/fake-run.ts";
import type { Engines } from "./engines.ts";
import { isReady, type World } from "./world.ts";

/** What must hold in every world, whatever strikes. */
export const oracles = {
  converges: "once faults stop, every object comes to what was asked for",
  "parked-with-reason": "what does not go on says why, and when or by whom it will",
  "slot-returned": "no slot is held for a run that cannot be heard",
  "call-given-up": "no call is waited for beyond its bound",
  "step-ended": "no step goes on beyond its limit, unless it has none",
  "one-writer": "never do two runs write one state",
  "applied-once": "no plan is carried out twice, and no resource made twice",
  "true-verdict": "a run is called dead only if it is, and silent only if something is wrong",
  "fresh-status": "the status of a run under way is of these seconds",
  "request-answered": "a request is answered only by work that began after it",
  "request-seen": "a request during a run is answered at once with until when it waits",
  "nothing-stale": "Reconciling stands only while something is under way",
  "one-leader": "who leads no longer, and knows it, writes nothing",
  "epoch-kept": "runners, their platform and the door obey the newest engine they met, none before",
  "slots-kept": "no more runs go on than may",
  "lock-kept": "the lock of a stranger is never broken",
  "asked-once": "tofu is asked to stop once",
  "as-intended": "what is run and applied was made from what was intended",
  "dependants-first": "an object goes only after those that depend on it",
  "due-noticed": "what is due by the clock is looked at, whatever the clock did",
  "looked-at-again": "what waits is looked at again soon, and a lost run is followed by another",
  "bounded-order": "a runner is given a bound for all that it waits for",
  "bounded-wait": "whatever an engine waits for, it waits for two minutes at most",
  "same-end": "the end is that of the world in which nothing went wrong",
  "nothing-left": "no run is kept that no object names",
  "state-kept":
    "no state is replaced by one that does not build on it, and none that is aside lost",
  "no-bug": "nothing fails in a way that nobody foresaw",
} as const;
export type Oracle = keyof typeof oracles;

export interface Violation {
  readonly oracle: Oracle;
  readonly message: string;
}

/** Longest bound of any call of the engine, and some slack, in milliseconds. */
const CALL_MS = 31_000;
/** Of some calls it is documented that they end sooner. */
const callBounds: readonly (readonly [string, number])[] = [
  ["hello", 6_000],
  ["inspect", 12_000],
  ["start", 12_000],
];
/** The longest of all deadlines is that of a watch that says nothing. */
const DEADLINE_MS = 100_000;
/** A silent runner is unreachable after 8 s, and its slot is free within a look more. */
const SLOT_MS = 12_000;
/** One that was never heard has a minute to come up. */
const LAUNCH_MS = 75_000;
const FRESH_MS = 25_000;
/** The sweep comes every 15 s, and takes what is 5 s late. */
const DUE_MS = 25_000;
const RELIST_MS = 660_000;
/** A reading that hangs is given up after 20 s, and the pass comes again 20 s later at most. */
const RECOVERY_MS = 45_000;
/** For so long after trouble something may still look wrong. */
const AFTERMATH_MS = 20_000;
/** The longest pause after lost runs, and that after the first lost run. */
const PAUSE_MS = 300_000;
const QUEUED = "Waits for a free slot";
/** How soon an object that waits for a slot is looked at, though nobody tells of one. */
const QUEUED_MS = 10_000;
/** Limits of steps as they are documented, with the grace of the runner and of a look. */
const STEP_SLACK_MS = 60_000;

/** Watches a world. Each oracle speaks once. */
export class Watch {
  readonly violations: Violation[] = [];
  readonly #world: World;
  readonly #engines: Engines;
  readonly #began = new Map<string, number>();
  readonly #silentSince = new Map<string, number>();
  readonly #requestedAt = new Map<string, number>();
  readonly #sent = new Map<string, string>();
  readonly #planned = new Set<string>();
  readonly #variables = new Map<string, string>();
  #known: readonly Terraform[] = [];
  readonly #overdueSinceMs = new Map<string, number>();
  #overheldSinceMs: number | undefined;
  /** When something else than the wall clock was last wrong. */
  troubleMs = Number.NEGATIVE_INFINITY;
  /** Faults that go on. */
  troubles = 0;
  /** Watches last told less than the truth. */
  blindMs = Number.NEGATIVE_INFINITY;
  /** The wall clock was moved. */
  jumpedMs = Number.NEGATIVE_INFINITY;

  constructor(world: World, engines: Engines) {
    this.#world = world;
    this.#engines = engines;
    world.onStatus = (after, before) => this.#stored(after, before);
    world.afterDecision = (observed, decision) => this.#decided(observed.terraform, decision);
  }

  say(oracle: Oracle, message: string): void {
    if (this.violations.some((each) => each.oracle === oracle)) return;
    this.violations.push({ oracle, message });
  }

  /** A run begins to write. */
  applies(run: FakeRun): void {
    const { runId, namespace, name } = run.launch;
    const others = this.#world.platform.runs().filter((each) => {
      const same = each.launch.name === name && each.launch.namespace === namespace;
      return same && each !== run && each.worker?.stage === "apply" && each.workersAlive > 0;
    });
    for (const other of others) {
      this.say("one-writer", `${runId} applies ${name} while ${other.launch.runId} does`);
    }
    const plan = run.order?.planDigest ?? "";
    const first = this.#sent.get(plan);
    if (first !== undefined) {
      this.say("applied-once", `the plan of ${first} is sent again by ${runId}`);
    }
    this.#sent.set(plan, runId);
    if (!this.#planned.has(plan)) this.say("as-intended", `${runId} applies what nobody planned`);
  }

  /** A run has ended, and tells what it made. */
  ended(run: FakeRun): void {
    if (run.outcome?.kind === "planned") this.#planned.add(run.outcome.planDigest);
  }

  /** A run takes its order. */
  ordered(run: FakeRun, intended: RunStatus | undefined): void {
    const { order } = run;
    const longest = order?.healthChecks.find(({ timeoutMs }) => timeoutMs > PAUSE_MS);
    if (longest !== undefined) {
      this.say("bounded-order", `health check ${longest.name} may take ${longest.timeoutMs} ms`);
    }
    if (order === undefined || intended?.id !== run.launch.runId) return;
    const key = `${run.launch.name} ${intended.inputsDigest}`;
    const known = this.#variables.get(key) ?? order.variables;
    this.#variables.set(key, known);
    if (known === order.variables) return;
    this.say("as-intended", `${intended.id} is given other variables than were intended`);
  }

  /** A lock was released. */
  released(lockId: string): void {
    if (lockId.startsWith("foreign")) this.say("lock-kept", `${lockId} was released`);
  }

  /** An engine writes that has heard that it leads no longer. */
  wroteLate(call: string): void {
    this.say("one-leader", `${call} by an engine that leads no longer`);
  }

  /** Nothing but the wall clock was wrong for a while, and an engine is at work. */
  calmFor(ms: number): boolean {
    const nowMs = this.#now();
    if (this.#engines.working === undefined || this.troubles > 0) return false;
    return nowMs - this.#engines.healthySinceMs > ms && nowMs - this.troubleMs > ms;
  }

  /** Looks at everything; called every second or so. */
  look(objects: readonly Terraform[]): void {
    this.#slots();
    this.#calls();
    for (const run of this.#world.platform.runs()) {
      this.#steps(run);
      const [outdated] = run.outdated;
      if (outdated !== undefined) this.say("epoch-kept", `${run.launch.runId} took ${outdated}`);
      if (run.interrupts > 1)
        this.say("asked-once", `${run.launch.runId}: ${run.interrupts} times`);
    }
    const { platform, door } = this.#world;
    const [late] = [...platform.outdated, ...door.outdated];
    if (late !== undefined) this.say("epoch-kept", `${late} was done`);
    this.#dependants(objects);
    for (const object of objects) {
      this.#fresh(object);
      this.#seen(object);
      this.#made(object);
      this.#due(object);
    }
    const bug = this.#world.bugs[0];
    if (bug !== undefined) this.say("no-bug", bug);
  }

  /** An engine begins to wait for something. */
  waits(what: string, ms: number): void {
    if (ms > DEADLINE_MS) this.say("bounded-wait", `${what} may take ${ms} ms`);
  }

  /** The person asks for a pass. */
  requested(name: string, value: string): void {
    this.#requestedAt.set(`${name} ${value}`, this.#now());
  }

  #now(): number {
    return this.#world.clock.monotonic();
  }

  #stored(after: Terraform, before: Terraform | undefined): void {
    const { run, lastRun } = after.status ?? {};
    const { name } = after.metadata;
    if (run !== undefined && before?.status?.run?.id !== run.id) {
      this.#began.set(run.id, this.#now());
      this.#intends(name, run, before);
    }
    if (run?.verdict === "dead") this.#mustBeDead(name, run.id);
    if (lastRun?.outcome === "lost" && before?.status?.lastRun?.id !== lastRun.id) {
      this.#mustBeDead(name, lastRun.id);
    }
    if (run?.verdict === "unreachable" && this.#isHealthy(run.id)) {
      this.say("true-verdict", `${name}: run ${run.id} is called unreachable, and it is well`);
    }
    const dueMs = timeOf(after.status?.nextDueAt) ?? 0;
    const pauseMs = dueMs - this.#world.clock.now();
    const lost = (after.status?.lostRuns ?? 0) > (before?.status?.lostRuns ?? 0);
    if (lost && pauseMs > PAUSE_MS) {
      this.say("looked-at-again", `${name} makes a pause of ${pauseMs} ms after a lost run`);
    }
    this.#answered(after, before);
    this.#standing(after);
  }

  /** An apply carries out a plan of the same revision and inputs. */
  #intends(name: string, run: RunStatus, before: Terraform | undefined): void {
    // One that was silent and is heard again goes on beside the others: so only who begins counts.
    const { taken, all } = this.#engines.working?.engine.load().slots ?? { taken: 0, all: 1 };
    if (taken > all && this.calmFor(SLOT_MS)) {
      this.say("slots-kept", `${run.id} is the run ${taken} of ${all} that may go on`);
    }
    const plan = before?.status?.plan;
    if (run.operation !== "apply" || plan === undefined) return;
    if (plan.revision === run.revision && plan.inputsDigest === run.inputsDigest) return;
    this.say("as-intended", `${name}: ${run.id} applies a plan of ${plan.revision}`);
  }

  #mustBeDead(name: string, runId: string): void {
    if (this.#world.platform.find(runId)?.alive !== true) return;
    this.say("true-verdict", `${name}: run ${runId} is called lost, and it lives`);
  }

  #isHealthy(runId: string): boolean {
    const run = this.#world.platform.find(runId);
    const well = run?.runner === "running" && !run.frozen && !run.cutOff;
    return well && this.calmFor(AFTERMATH_MS);
  }

  #answered(after: Terraform, before: Terraform | undefined): void {
    const value = after.status?.lastHandledReconcileAt;
    if (value === undefined || value === before?.status?.lastHandledReconcileAt) return;
    const { name } = after.metadata;
    const askedMs = this.#requestedAt.get(`${name} ${value}`);
    const run = before?.status?.run;
    if (askedMs === undefined || run === undefined) return;
    const beganMs = this.#began.get(run.id) ?? 0;
    if (beganMs >= askedMs) return;
    this.say("request-answered", `${name}: ${value} is answered by ${run.id}, which began before`);
  }

  #standing({ metadata: { name }, status }: Terraform): void {
    const of = (type: string) => status?.conditions?.find((each) => each.type === type);
    const moving = of("Reconciling")?.status === "True";
    const dated = status?.nextDueAt !== undefined;
    if (moving && status?.run === undefined && !dated) {
      this.say("nothing-stale", `${name}: Reconciling without a run or a time`);
    }
    if (moving && of("Stalled")?.status === "True") {
      this.say("nothing-stale", `${name}: Reconciling and Stalled at once`);
    }
  }

  #decided(terraform: Terraform, { before, after, requeueAfterMs, status }: Decision): void {
    const { name } = terraform.metadata;
    // What goes now waits for nobody, whatever it said last.
    if ([...before, ...after].some((effect) => effect.do === "remove-finalizer")) return;
    const ready = status.conditions?.find(({ type }) => type === "Ready");
    const stalled = status.conditions?.find(({ type }) => type === "Stalled");
    if (ready === undefined) return;
    const queued = status.conditions?.some(({ message }) => message.startsWith(QUEUED)) === true;
    if (queued && (requeueAfterMs ?? Number.POSITIVE_INFINITY) > QUEUED_MS) {
      this.say(
        "looked-at-again",
        `${name} waits for a slot, and is looked at in ${requeueAfterMs}`,
      );
    }
    const again = requeueAfterMs !== undefined || stalled?.status === "True";
    const told = /set approvePlan|until spec\.suspend|remove one of|plan only mode/.test(
      ready.message,
    );
    const waits = told || terraform.spec.suspend === true;
    if (ready.reason === "" || ready.message === "") {
      this.say("parked-with-reason", `${name}: Ready says nothing`);
    }
    if (!again && !waits && ready.status !== "True") {
      this.say("parked-with-reason", `${name}: waits for nobody: ${ready.message}`);
    }
  }

  #slots(): void {
    const { working } = this.#engines;
    const heard = this.#world.platform.runs().filter((run) => this.#mayHold(run)).length;
    const taken = working?.engine.load().slots.taken ?? 0;
    // A write that hung when the trouble ended hangs on until its own bound, and its pass rightly
    // keeps the slot that it claimed for the run it is to store. "call-given-up" sees to that.
    const { unavailable, hung } = this.#world.faults;
    if (working === undefined || taken <= heard || unavailable || hung.size > 0) {
      this.#overheldSinceMs = undefined;
      return;
    }
    this.#overheldSinceMs ??= this.#now();
    if (this.#now() - this.#overheldSinceMs <= SLOT_MS || !this.calmFor(SLOT_MS)) return;
    this.say("slot-returned", `${taken} slots are held, and ${heard} runs can be heard`);
  }

  #mayHold(run: FakeRun): boolean {
    const { runId } = run.launch;
    const silent = run.frozen || run.cutOff || run.runner === "starting";
    if (!silent) {
      this.#silentSince.delete(runId);
      return run.runner === "gone" ? run.workersAlive > 0 : true;
    }
    const sinceMs = this.#silentSince.get(runId) ?? this.#now();
    this.#silentSince.set(runId, sinceMs);
    const patienceMs = run.runner === "starting" ? LAUNCH_MS : SLOT_MS;
    return this.#now() - sinceMs < patienceMs;
  }

  #calls(): void {
    const all = [...this.#world.faults.hung, ...this.#world.platform.hung];
    for (const { what, sinceMs } of [...all, ...this.#world.hungArtifacts]) {
      const [, boundMs = CALL_MS] = callBounds.find(([start]) => what.startsWith(start)) ?? [];
      if (this.#now() - sinceMs <= boundMs) continue;
      if (!this.#engines.workedSince(sinceMs)) continue;
      this.say("call-given-up", `"${what}" is waited for since ${this.#now() - sinceMs} ms`);
    }
  }

  #steps(run: FakeRun): void {
    const limit = limitMs(run);
    if (limit === undefined || run.workersAlive === 0) return;
    const sinceMs = run.stageSinceMs;
    const spentMs = this.#now() - sinceMs;
    if (spentMs <= limit || !this.calmFor(STEP_SLACK_MS)) return;
    this.say("step-ended", `${run.launch.runId} is in ${run.stage} since ${spentMs} ms`);
  }

  /** A run that can be heard was heard of lately. */
  #fresh({ metadata: { name }, status }: Terraform): void {
    const { run } = status ?? {};
    if (run === undefined || !this.#isHealthy(run.id) || !this.calmFor(RECOVERY_MS)) return;
    if (this.#now() - this.jumpedMs < FRESH_MS) return;
    const sign = timeOf(run.lastSignAt) ?? timeOf(run.intendedAt) ?? 0;
    const oldMs = this.#world.clock.now() - sign;
    if (oldMs <= FRESH_MS) return;
    this.say("fresh-status", `${name}: the last sign in the status is ${oldMs} ms old`);
  }

  #seen({ metadata, status }: Terraform): void {
    const value = metadata.annotations?.["reconcile.fluxcd.io/requestedAt"] ?? "";
    const askedMs = this.#requestedAt.get(`${metadata.name} ${value}`);
    const { run } = status ?? {};
    if (askedMs === undefined || run === undefined || run.handles === value) return;
    if (status?.lastHandledReconcileAt === value) return;
    const sinceMs = Math.max(askedMs, this.#began.get(run.id) ?? 0);
    if (this.#now() - sinceMs < 5_000 || !this.calmFor(RECOVERY_MS)) return;
    const text = status?.conditions?.find(({ type }) => type === "Reconciling")?.message ?? "";
    if (/^Busy since \S+: \w+ is in stage \w+, .*; the request of .* (is|be) answered/.test(text)) {
      return;
    }
    if (status?.conditions?.some((each) => each.type === "Stalled")) return;
    this.say("request-seen", `${metadata.name}: ${value} came in a run, and status says "${text}"`);
  }

  /** Objects whose time has come by the clock on the wall. */
  #due({ metadata: { name }, status, spec }: Terraform): void {
    const dueMs = timeOf(status?.nextDueAt);
    const late = dueMs !== undefined && this.#world.clock.now() - dueMs > DUE_MS;
    // The sweep knows what watches have told, or the last list.
    const blind = this.#now() - this.blindMs < RELIST_MS;
    const waits = status?.run !== undefined || spec.suspend === true || blind;
    if (!late || waits || !this.calmFor(DUE_MS) || this.#waitsForSlot(status?.conditions)) {
      this.#overdueSinceMs.delete(name);
      return;
    }
    const sinceMs = this.#overdueSinceMs.get(name) ?? this.#now();
    this.#overdueSinceMs.set(name, sinceMs);
    if (this.#now() - sinceMs <= DUE_MS) return;
    this.say("due-noticed", `${name} is due since ${status?.nextDueAt}, and nobody looks`);
  }

  #waitsForSlot(conditions: readonly Condition[] = []): boolean {
    return conditions.some(({ message }) => message.startsWith(QUEUED));
  }

  #dependants(objects: readonly Terraform[]): void {
    const names = new Set(objects.map(({ metadata }) => metadata.name));
    const gone = this.#known.filter(({ metadata }) => !names.has(metadata.name));
    this.#known = objects;
    for (const { metadata } of gone) {
      const left = objects.find(({ spec }) =>
        (spec.dependsOn ?? []).some(({ name }) => name === metadata.name),
      );
      if (left === undefined) continue;
      const { name } = left.metadata;
      this.say("dependants-first", `${metadata.name} has gone, and ${name} depends on it`);
    }
  }

  /** Effects are counted outside of any state. */
  #made({ metadata: { name } }: Terraform): void {
    const there = new Map<string, number>();
    for (const { object, resource, action } of this.#world.platform.world.effects) {
      if (object !== `default/${name}`) continue;
      const count = (there.get(resource) ?? 0) + (action === "create" ? 1 : -1);
      there.set(resource, count);
      if (count !== 0 && count !== 1) {
        this.say("applied-once", `${name}: ${resource} was made or removed twice`);
      }
    }
  }
}

/** Documented limits, and what may be added to them. */
function limitMs(run: FakeRun): number | undefined {
  const graceMs = 30_000 + STEP_SLACK_MS;
  // A silent runner of a plan is ended after half a minute.
  const silent = run.frozen && run.order?.operation !== "apply";
  // Of an apply that is silent nobody knows how far it is: a person is asked.
  if (run.frozen && !silent) return undefined;
  const limits: Partial<Record<string, number>> = {
    artifact: 300_000,
    init: 600_000,
    workspace: 300_000,
    plan: 1_800_000,
    show: 300_000,
    outputs: 300_000,
  };
  const limit = limits[run.worker?.stage ?? ""];
  if (limit === undefined) return undefined;
  return silent ? 60_000 + graceMs : limit + graceMs;
}

/** An object that has come to where its spec wants it. */
export function hasConverged(terraform: Terraform, revision: string | undefined): boolean {
  const { metadata, status } = terraform;
  if (metadata.deletionTimestamp !== undefined) return false;
  const requested = metadata.annotations?.["reconcile.fluxcd.io/requestedAt"];
  if (requested !== undefined && requested !== status?.lastHandledReconcileAt) return false;
  return isReady(terraform) && status?.lastAttemptedRevision === revision;
}
