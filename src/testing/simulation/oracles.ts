import type { Terraform } from "../../api/terraform.ts";
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
  "same-end": "the end is that of the world in which nothing went wrong",
  "nothing-left": "no run is kept that no object names",
  "no-bug": "nothing fails in a way that nobody foresaw",
} as const;
export type Oracle = keyof typeof oracles;

export interface Violation {
  readonly oracle: Oracle;
  readonly message: string;
}

/** Longest bound of any call of the engine, and some slack, in milliseconds. */
const CALL_MS = 31_000;
/** A silent runner is unreachable after 8 s, and its slot is free within a look more. */
const SLOT_MS = 12_000;
/** One that was never heard has a minute to come up. */
const LAUNCH_MS = 75_000;
const FRESH_MS = 25_000;
/** For so long after trouble something may still look wrong. */
const AFTERMATH_MS = 20_000;
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
  #overheldSinceMs: number | undefined;
  /** When something else than the wall clock was last wrong. */
  troubleMs = Number.NEGATIVE_INFINITY;
  /** Faults that go on. */
  troubles = 0;
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
    for (const run of this.#world.platform.runs()) this.#steps(run);
    for (const object of objects) {
      this.#fresh(object);
      this.#seen(object);
      this.#made(object);
    }
    const bug = this.#world.bugs[0];
    if (bug !== undefined) this.say("no-bug", bug);
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
    }
    if (run?.verdict === "dead") this.#mustBeDead(name, run.id);
    if (lastRun?.outcome === "lost" && before?.status?.lastRun?.id !== lastRun.id) {
      this.#mustBeDead(name, lastRun.id);
    }
    if (run?.verdict === "unreachable" && this.#isHealthy(run.id)) {
      this.say("true-verdict", `${name}: run ${run.id} is called unreachable, and it is well`);
    }
    this.#answered(after, before);
    this.#standing(after);
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

  #decided(terraform: Terraform, { requeueAfterMs, status }: Decision): void {
    const { name } = terraform.metadata;
    const ready = status.conditions?.find(({ type }) => type === "Ready");
    const stalled = status.conditions?.find(({ type }) => type === "Stalled");
    if (ready === undefined) return;
    const again = requeueAfterMs !== undefined || stalled?.status === "True";
    const told = /set approvePlan|until spec\.suspend/.test(ready.message);
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
    if (working === undefined || taken <= heard || this.#world.faults.unavailable) {
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
      if (this.#now() - sinceMs <= CALL_MS) continue;
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
    if (run === undefined || !this.#isHealthy(run.id) || !this.calmFor(FRESH_MS)) return;
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
    if (this.#now() - sinceMs < 5_000 || !this.calmFor(AFTERMATH_MS)) return;
    const text = status?.conditions?.find(({ type }) => type === "Reconciling")?.message ?? "";
    if (/^Busy since \S+: \w+ is in stage \w+, .*; the request of .* (is|be) answered/.test(text)) {
      return;
    }
    if (status?.conditions?.some((each) => each.type === "Stalled")) return;
    this.say("request-seen", `${metadata.name}: ${value} came in a run, and status says "${text}"`);
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
