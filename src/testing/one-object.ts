import type { Condition } from "../api/meta.ts";
import { FINALIZER } from "../api/names.ts";
import type { Terraform, TerraformSpec, TerraformStatus } from "../api/terraform.ts";
import { decide } from "../domain/decide.ts";
import type { Decision, Effect, Observed, RunFact, RunOutcome } from "../domain/facts.ts";

export const REVISION_1 = "master/b8e362c206e3d0cbb7ed22ced771a0056455a2fb";
export const REVISION_2 = "master/ed22ced771a0056455a2fbb8e362c206e3d0cbb7";
export const PLAN_1 = "plan-master-b8e362c206";
export const PLAN_2 = "plan-master-ed22ced771";

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * One object and a world that is only as large as `decide` sees it: effects become facts, time
 * stands until it is moved. A test says what a run does; nothing happens by itself.
 */
export class OneObject {
  nowMs = Date.parse("2026-01-01T00:00:00.000Z");
  readonly observed: Writable<Observed>;
  /** Every effect asked for, in order. */
  readonly effects: Effect[] = [];
  readonly decisions: Decision[] = [];
  gone = false;
  #runs = 0;

  constructor(spec: Partial<TerraformSpec> = {}) {
    this.observed = {
      terraform: { ...terraformOf(spec), status: { observedGeneration: -1 } },
      source: { state: "ready", artifact: artifactOf(REVISION_1) },
      dependencies: [],
      dependants: [],
      inputs: { state: "resolved", digest: "inputs-1" },
      run: undefined,
      plan: { stored: false, id: undefined },
      outputsSecret: { state: spec.writeOutputsToSecret ? "absent" : "not-wanted" },
      state: { lock: undefined, rescued: [] },
      failedEffect: undefined,
      engine: {
        epoch: 1,
        shuttingDown: false,
        slotFree: true,
        lostApply: "interrupt",
        nextRunId: "run-1",
        jitter: 0.5,
      },
    };
  }

  get status(): TerraformStatus {
    return this.observed.terraform.status ?? {};
  }
  condition(type: string): Condition | undefined {
    return this.status.conditions?.find((each) => each.type === type);
  }
  /** Ready as "status reason: message". */
  get ready(): string {
    const ready = this.condition("Ready");
    return ready === undefined ? "" : `${ready.status} ${ready.reason}: ${ready.message}`;
  }
  get events(): string[] {
    return this.effects.flatMap((each) =>
      each.do === "event" ? [`${each.reason}: ${each.message}`] : [],
    );
  }
  get asked(): string[] {
    return this.effects.filter((each) => each.do !== "event").map((each) => each.do);
  }

  /** One pass: decided, stored, and its effects done. */
  pass(): Decision {
    const decision = decide(this.observed, this.nowMs);
    this.decisions.push(decision);
    for (const effect of decision.before) this.#do(effect);
    this.observed.terraform = { ...this.observed.terraform, status: decision.status };
    this.#seeRun();
    for (const effect of decision.after) this.#do(effect);
    return decision;
  }
  /** Passes as long as the object is due at once. Fails if it never comes to rest. */
  settle(): Decision {
    for (let count = 0; count < 20; count += 1) {
      const decision = this.pass();
      if (decision.requeueAfterMs !== 0 || this.gone) return decision;
    }
    throw new Error(`No rest: ${this.decisions.slice(-4).map((each) => each.why)}`);
  }
  /** Lets time go by, then settles. */
  after(ms: number): Decision {
    this.nowMs += ms;
    return this.settle();
  }
  /** Lets time go by until the object is due by itself, then settles. */
  whenDue(): Decision {
    const last = this.decisions.at(-1)?.requeueAfterMs;
    if (last === undefined) throw new Error("The object is not due by itself");
    return this.after(last);
  }

  /** A change of the spec, as a person makes it. */
  edit(spec: Partial<TerraformSpec>): Decision {
    const { terraform } = this.observed;
    const { metadata } = terraform;
    this.observed.terraform = {
      ...terraform,
      metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
      spec: { ...terraform.spec, ...spec },
    };
    return this.settle();
  }
  annotate(annotations: Record<string, string>): Decision {
    const { terraform } = this.observed;
    const metadata = { ...terraform.metadata };
    metadata.annotations = { ...metadata.annotations, ...annotations };
    this.observed.terraform = { ...terraform, metadata };
    return this.settle();
  }
  delete(): Decision {
    const { terraform } = this.observed;
    const metadata = { ...terraform.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
    metadata.generation = (metadata.generation ?? 0) + 1;
    this.observed.terraform = { ...terraform, metadata };
    return this.settle();
  }
  source(revision: string): Decision {
    this.observed.source = { state: "ready", artifact: artifactOf(revision) };
    return this.settle();
  }
  engine(change: Partial<Observed["engine"]>): void {
    this.observed.engine = { ...this.observed.engine, ...change };
  }

  /** News of the run under way. */
  run(change: Partial<RunFact>): Decision {
    const { run } = this.observed;
    if (run === undefined) throw new Error(`No run is under way: ${this.ready}`);
    this.observed.run = { ...run, ...change };
    return this.settle();
  }
  ends(outcome: RunOutcome): Decision {
    return this.run({ outcome });
  }
  planned(add = 1, change: Partial<Extract<RunOutcome, { kind: "planned" }>> = {}): Decision {
    return this.ends({
      kind: "planned",
      changes: add > 0,
      summary: { add, change: 0, destroy: 0, import: 0 },
      planDigest: `f${this.#runs}e1d2c3b4a5968778695a4b3c2d1e0f`,
      nothingToDestroy: false,
      outputs: add > 0 ? undefined : [{ name: "hello_world", sensitive: false }],
      ...change,
    });
  }
  applied(): Decision {
    return this.ends({ kind: "applied", outputs: [{ name: "hello_world", sensitive: false }] });
  }
  fails(change: Partial<Extract<RunOutcome, { kind: "failed" }>> = {}): Decision {
    return this.ends({
      kind: "failed",
      stage: "plan",
      reason: "TFExecPlanFailed",
      message: "no such thing",
      exitCode: 1,
      lock: undefined,
      planStale: false,
      stateRescued: false,
      unrecorded: [],
      ...change,
    });
  }

  #seeRun(): void {
    const { run } = this.status;
    if (run === undefined || this.observed.run?.id === run.id) return;
    this.#runs += 1;
    this.engine({ nextRunId: `run-${this.#runs + 1}` });
    this.observed.run = newRunFact(run.id, run.intendedAt);
  }

  #do(effect: Effect): void {
    this.effects.push(effect);
    const { observed } = this;
    const { metadata } = observed.terraform;
    switch (effect.do) {
      case "add-finalizer":
        this.#finalizers([...(metadata.finalizers ?? []), FINALIZER]);
        break;
      case "remove-finalizer":
        this.#finalizers((metadata.finalizers ?? []).filter((each) => each !== FINALIZER));
        this.gone = metadata.deletionTimestamp !== undefined;
        break;
      case "save-plan":
        observed.plan = { stored: true, id: effect.planId };
        break;
      case "delete-plan":
        observed.plan = { stored: false, id: undefined };
        break;
      case "write-outputs":
        observed.outputsSecret = { state: "present", keys: outputKeys(observed.terraform) };
        break;
      case "delete-outputs":
        observed.outputsSecret = { state: "absent" };
        break;
      case "keep-inputs":
        observed.keptInputs = { digest: effect.digest };
        break;
      case "forget-inputs":
        observed.keptInputs = undefined;
        break;
      case "release-lock":
        observed.state = { ...observed.state, lock: undefined };
        break;
      case "terminate-run":
        this.#changeRun({ runner: "gone", workersAlive: 0, verdict: "dead" });
        if (observed.run?.proof === undefined) this.#changeRun({ proof: "killed by signal 9" });
        break;
      case "end-runner":
        this.#changeRun({ runner: "gone", verdict: "dead", proof: "killed by signal 9" });
        break;
      case "launch-run":
        if (observed.run?.launchError === undefined) this.#changeRun({ runner: "running" });
        break;
      case "remove-run":
        if (observed.run?.id === effect.runId) observed.run = undefined;
        break;
      default:
        break;
    }
  }
  #changeRun(change: Partial<RunFact>): void {
    const { run } = this.observed;
    if (run !== undefined) this.observed.run = { ...run, ...change };
  }
  #finalizers(finalizers: string[]): void {
    const { terraform } = this.observed;
    const metadata = { ...terraform.metadata, finalizers };
    this.observed.terraform = { ...terraform, metadata };
  }
}

/** An object of this spec in its first generation; everything not named is plain. */
export function terraformOf(spec: Partial<TerraformSpec> = {}, name = "app"): Terraform {
  return {
    apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
    kind: "Terraform",
    metadata: { name, namespace: "default", uid: `uid-${name}`, generation: 1 },
    spec: { interval: "10m", sourceRef: { kind: "GitRepository", name: "code" }, ...spec },
  };
}

export function artifactOf(revision: string) {
  return {
    revision,
    digest: `sha256:${revision}`,
    url: `file:///artifacts/${revision}`,
    sizeBytes: 1,
  };
}

export function newRunFact(id: string, at: string): RunFact {
  return {
    id,
    runner: "unknown",
    proof: undefined,
    workersAlive: 0,
    verdict: "alive",
    silentMs: 0,
    stage: "launch",
    stageSince: at,
    startedAt: undefined,
    inFlight: [],
    outcome: undefined,
    launchError: undefined,
  };
}

/** What the engine writes of one output named hello_world. */
function outputKeys(terraform: Terraform): string[] {
  const wanted = terraform.spec.writeOutputsToSecret?.outputs ?? [];
  if (wanted.length === 0) return ["hello_world"];
  return wanted.map((text) => text.split(":")[1] ?? text);
}
