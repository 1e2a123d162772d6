import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ACCEPT, END_RUN, FINALIZER, REQUESTED_AT } from "../api/names.ts";
import { endings, type RunStatus, stages, type TerraformSpec, verdicts } from "../api/terraform.ts";
import { newRunFact, PLAN_1, REVISION_1, REVISION_2, terraformOf } from "../testing/one-object.ts";
import { decide } from "./decide.ts";
import type { Decision, Effect, Observed } from "./facts.ts";
import { phaseNow } from "./lost-run.ts";
import { runReasons } from "./run-notes.ts";

// Facts of every kind in every combination, sensible or not: whatever the engine gathers, a pass
// answers, and what it answers leads on.

const NOW = Date.parse("2026-01-01T12:00:00Z");
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
/** Objects whose optional fields are absent rather than undefined. */
const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }, ...required: (keyof T)[]) =>
  fc.record(model, { requiredKeys: required as never[] }) as fc.Arbitrary<T>;

/** The first value most of the time: else the steps at the end would hardly ever be reached. */
const mostly = <T>(usual: T, ...others: T[]) =>
  fc.oneof(
    { weight: 9, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );
const seldom = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });

const time = fc.constantFrom(
  "2026-01-01T11:59:59.500Z",
  "2026-01-01T11:00:00Z",
  "2026-01-01T12:00:05Z",
  "2026-01-02T00:00:00Z",
  "not a time",
);
const revision = mostly(REVISION_1, REVISION_2, "sha256:0011223344556677", "x@y", "");
const digest = mostly("inputs-1", "inputs-2");
const planId = mostly(PLAN_1, `${PLAN_1}-abcdef`, "plan-x", "");
const generation = mostly(1, 2, 3);
const basis = record(
  { revision, generation, inputsDigest: digest, destroy: fc.boolean() },
  "revision",
  "generation",
  "inputsDigest",
);

const run = record(
  {
    id: fc.constantFrom("run-1", "run-2"),
    operation: fc.constantFrom("plan" as const, "apply" as const),
    destroy: fc.boolean(),
    reason: fc.constantFrom(...runReasons),
    attempt: fc.integer({ min: 1, max: 40 }),
    epoch: fc.constant(1),
    generation,
    revision,
    artifactDigest: fc.constant("sha256:a"),
    inputsDigest: digest,
    planId,
    handles: fc.constantFrom("now", "then"),
    stage: fc.constantFrom(...stages),
    intendedAt: time,
    startedAt: time,
    stageSince: time,
    stageDeadline: time,
    lastSignAt: time,
    verdict: fc.constantFrom(...verdicts),
    interruptedAt: time,
    ending: fc.constantFrom(...endings),
    note: fc.constant("a note"),
  },
  ...([
    "id",
    "operation",
    "reason",
    "attempt",
    "epoch",
    "generation",
    "revision",
    "artifactDigest",
    "inputsDigest",
    "stage",
    "intendedAt",
    "stageSince",
    "verdict",
  ] as const),
);

const condition = fc.record({
  type: fc.constantFrom("Ready", "Reconciling", "Stalled", "Apply", "Plan", "StateLocked", "Other"),
  status: fc.constantFrom("True" as const, "False" as const, "Unknown" as const),
  reason: fc.constantFrom(
    "Progressing",
    "RunnerLost",
    "NoDrift",
    "DependencyNotReady",
    "ArtifactFailed",
    "TerraformPlannedWithChanges",
    "TFExecPlanFailed",
  ),
  message: fc.constantFrom("a message", "another message"),
  lastTransitionTime: fc.constant("2026-01-01T00:00:00Z"),
});

const status = record({
  observedGeneration: fc.integer({ min: -1, max: 3 }),
  lastHandledReconcileAt: fc.constantFrom("now", "then"),
  conditions: fc.uniqueArray(condition, { selector: (each) => each.type, maxLength: 5 }),
  lastAppliedRevision: revision,
  lastAttemptedRevision: revision,
  lastPlannedRevision: revision,
  lastPlanAt: time,
  lastSuccessfulReconcileAt: time,
  availableOutputs: fc.subarray(["a", "b"]),
  plan: record({
    pending: planId,
    lastApplied: planId,
    isDestroyPlan: fc.boolean(),
    isDriftDetectionPlan: fc.boolean(),
    digest: fc.constant("d"),
    summary: fc.constant("1 to add"),
    inputsDigest: digest,
    revision,
    generation,
    shown: planId,
  }),
  reconciliationFailures: fc.integer({ min: 0, max: 5000 }),
  run,
  nextDueAt: time,
  lostRuns: mostly(0, 1, 5000),
  attempted: basis,
  settled: basis,
  held: fc.record({
    runId: fc.constant("run-0"),
    since: time,
    resources: fc.subarray(["a.b", "c.d"]),
  }),
});

const lock = fc.record({
  id: fc.constantFrom("lock-1", "lock-2"),
  operation: fc.constantFrom("OperationTypeApply", "OperationTypePlan", ""),
  who: fc.constantFrom("me@here", ""),
  created: time,
  runId: fc.constantFrom(undefined, "run-1", "run-0"),
});

const unrecorded = fc.subarray(["a.b", "c.d"]);
const outputs = maybe(
  fc.subarray(["a", "b"]).map((names) => names.map((name) => ({ name, sensitive: false }))),
);
const outcome = fc.oneof(
  fc.record({
    kind: fc.constant("planned" as const),
    changes: fc.boolean(),
    summary: fc.record({
      add: fc.nat(3),
      change: fc.nat(3),
      destroy: fc.nat(3),
      import: fc.nat(3),
    }),
    planDigest: fc.constantFrom("abcdef0123456789", "0123456789abcdef"),
    nothingToDestroy: fc.boolean(),
    outputs,
  }),
  fc.record({ kind: fc.constant("applied" as const), outputs }),
  fc.record({
    kind: fc.constant("failed" as const),
    stage: fc.constantFrom(...stages),
    reason: fc.constantFrom("TFExecPlanFailed", "TFExecApplyFailed", "ArtifactFailed"),
    message: fc.constantFrom("it broke", "error setting env for Terraform", ""),
    exitCode: maybe(fc.constant(1)),
    lock: maybe(lock),
    planStale: fc.boolean(),
    stateRescued: fc.boolean(),
    unrecorded,
  }),
  fc.record({
    kind: fc.constant("cancelled" as const),
    stage: fc.constantFrom(...stages),
    message: fc.constant("stopped"),
  }),
  fc.record({
    kind: fc.constant("orphaned" as const),
    stage: fc.constantFrom(...stages),
    exitCode: maybe(fc.constantFrom(0, 1)),
    unrecorded,
    stateRescued: fc.boolean(),
  }),
);

const runFact = fc.record({
  id: fc.constantFrom("run-1", "run-2"),
  runner: fc.constantFrom(
    "unknown" as const,
    "starting" as const,
    "running" as const,
    "gone" as const,
  ),
  proof: maybe(fc.constantFrom("killed by signal 9", "machine rebooted")),
  workersAlive: maybe(fc.nat(2)),
  verdict: fc.constantFrom(...verdicts),
  silentMs: fc.constantFrom(0, 6_000, 20_000, 31_000, 700_000),
  stage: fc.constantFrom(...stages),
  workersStage: maybe(fc.constantFrom(...stages)),
  stageSince: time,
  stageMs: maybe(fc.constantFrom(0, 700_000, 7_000_000)),
  startedAt: maybe(time),
  inFlight: fc.subarray(["a.b"]),
  outcome: maybe(outcome),
  launchError: seldom(fc.constant("no memory")),
});

const spec = record({
  approvePlan: fc.constantFrom("", "auto", "disable", PLAN_1, "plan-mas"),
  destroy: mostly(false, true),
  destroyResourcesOnDeletion: fc.boolean(),
  suspend: mostly(false, true),
  interval: mostly("10m", "0s", "nonsense"),
  retryInterval: mostly("1m", "nonsense"),
  targets: mostly<string[]>([], ["a.b"]),
  writeOutputsToSecret: fc.constantFrom<NonNullable<TerraformSpec["writeOutputsToSecret"]>[]>(
    { name: "out" },
    { name: "out", outputs: ["a:key"] },
  ),
});

const terraform = fc
  .record({
    spec,
    status: maybe(status),
    generation,
    annotations: record({
      [REQUESTED_AT]: fc.constantFrom("now", "then"),
      [ACCEPT]: planId,
      [END_RUN]: fc.constantFrom("run-1", "run-9"),
    }),
    deletionTimestamp: seldom(time),
    finalizers: mostly<string[]>([FINALIZER], [], ["other/finalizer"]),
  })
  .map(({ spec: partial, status: stored, ...metadata }) => {
    const object = terraformOf(partial);
    const { deletionTimestamp, ...rest } = metadata;
    return {
      ...object,
      metadata: {
        ...object.metadata,
        ...rest,
        ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      },
      ...(stored === undefined ? {} : { status: stored }),
    };
  });

const artifact = revision.map((text) => ({
  revision: text,
  digest: `sha256:${text}`,
  url: "file:///a",
  sizeBytes: undefined,
}));
const gathered: fc.Arbitrary<Observed> = fc.record({
  terraform,
  source: fc.oneof(
    { weight: 6, arbitrary: artifact.map((each) => ({ state: "ready" as const, artifact: each })) },
    {
      weight: 1,
      arbitrary: fc.record({
        state: fc.constantFrom("missing" as const, "denied" as const, "no-artifact" as const),
        message: fc.constant("no source"),
      }),
    },
  ),
  lastArtifact: maybe(artifact),
  dependencies: seldom(
    fc.record({
      namespace: fc.constant("default"),
      name: fc.constantFrom("base", "other"),
      terraform: maybe(terraform),
      outputsReady: maybe(fc.boolean()),
      denied: mostly(false, true),
    }),
  ).map((each) => (each === undefined ? [] : [each])),
  dependants: mostly<string[]>([], ["default/x"]),
  inputs: fc.oneof(
    {
      weight: 4,
      arbitrary: digest.map((each) => ({ state: "resolved" as const, digest: each })),
    },
    {
      weight: 1,
      arbitrary: fc.constant({
        state: "failed" as const,
        reason: "VarsGenerationFailed",
        message: "no Secret",
      }),
    },
  ),
  run: maybe(runFact),
  plan: fc.record({ stored: mostly(true, false), id: seldom(planId) }),
  outputsSecret: fc.constantFrom(
    { state: "not-wanted" as const },
    { state: "absent" as const },
    { state: "present" as const, keys: ["a"] },
    { state: "foreign" as const, owner: "somebody" },
  ),
  state: fc.record({
    lock: seldom(lock),
    rescued: mostly([], [rescue("r1")]),
  }),
  failedEffect: seldom(
    fc.record({
      effect: fc.constantFrom<Effect["do"][]>(
        "save-plan",
        "write-outputs",
        "release-lock",
        "revoke-credentials",
        "add-finalizer",
        "remove-finalizer",
      ),
      reason: fc.constant("Unavailable"),
      message: fc.constant("the disk is full"),
      transient: fc.boolean(),
    }),
  ),
  engine: fc.record({
    epoch: fc.constant(2),
    shuttingDown: mostly(false, true),
    slotFree: mostly(true, false),
    lostApply: fc.constantFrom("interrupt" as const, "wait" as const),
    nextRunId: fc.constant("run-new"),
    jitter: fc.double({ min: 0, max: 0.999, noNaN: true }),
  }),
});

/** The engine hands out a fact of the run under way, and of no other; nearly always. */
const observed = fc.tuple(gathered, mostly(true, false)).map(([seen, orderly]): Observed => {
  const id = seen.terraform.status?.run?.id;
  if (!orderly) return seen;
  return {
    ...seen,
    run: id === undefined || seen.run === undefined ? undefined : { ...seen.run, id },
  };
});

/** The same, with a plan that waits and nothing under way: one step before an apply. */
const ripe = observed.map((seen): Observed => {
  const { run: _, ...stored } = seen.terraform.status ?? {};
  const plan = { revision: REVISION_1, inputsDigest: "inputs-1", ...stored.plan, pending: PLAN_1 };
  const status = { ...stored, plan };
  return { ...seen, terraform: { ...seen.terraform, status }, run: undefined };
});

/** Reasons of Ready with which an object may wait without a time, for a person or a change. */
const parkedReasons = [
  "TerraformPlannedWithChanges",
  "DriftDetected",
  "RunResultUnknown",
  "StateRescued",
  "FieldNotObeyed",
  "InvalidSpec",
  "AccessDenied",
];

function storedBy(seen: Observed, decision: Decision): Observed {
  const next = { ...seen, terraform: { ...seen.terraform, status: decision.status } };
  const id = decision.status.run?.id;
  if (id === undefined) return { ...next, run: undefined, failedEffect: undefined };
  if (id === seen.run?.id) return { ...next, failedEffect: undefined };
  return { ...next, run: newRunFact(id, "2026-01-01T12:00:00Z"), failedEffect: undefined };
}

function conditionOf(decision: Decision, type: string) {
  return decision.status.conditions?.find((each) => each.type === type);
}

const RUNS = { numRuns: 1_000 };

describe("whatever is observed", () => {
  test("every step gets its turn, so that the properties see it", () => {
    const seen = new Set<string>();
    const turns = fc.property(observed, (each) => {
      seen.add(
        decide(each, NOW)
          .why.split(":")[0]
          ?.replace(/^effect .*/, "effect") ?? "",
      );
    });
    fc.assert(turns, { numRuns: 4_000, seed: 1 });
    expect([...seen].sort()).toEqual([
      "admit",
      "apply",
      "apply lost",
      "deletion",
      "dependencies",
      "due",
      "effect",
      "inputs",
      "pending",
      "plan",
      "rescued",
      "run",
      "run ended by a person",
      "run failed",
      "run given up",
      "run lost",
      "source",
      "start",
      "suspend",
    ]);
  });

  test("decide answers and does not throw", () => {
    fc.assert(
      fc.property(observed, (seen) => {
        expect(decide(seen, NOW).why).not.toBe("");
      }),
      RUNS,
    );
  });

  test("the object has a run, a time, or a reason that names what makes it go on", () => {
    fc.assert(
      fc.property(observed, (seen) => {
        const decision = decide(seen, NOW);
        const ready = conditionOf(decision, "Ready");
        const parked = parkedReasons.includes(ready?.reason ?? "");
        const suspended = seen.terraform.spec.suspend === true;
        const leaving = seen.terraform.metadata.deletionTimestamp !== undefined;
        const going = decision.requeueAfterMs !== undefined;
        if (decision.status.run !== undefined) expect(going).toBe(true);
        expect(going || parked || suspended || leaving, decision.why).toBe(true);
        if (going) expect(decision.requeueAfterMs).toBeGreaterThanOrEqual(0);
      }),
      RUNS,
    );
  });

  test("a deletion without a time is done, or is somebody else's", () => {
    fc.assert(
      fc.property(observed, (seen) => {
        const { deletionTimestamp, finalizers } = seen.terraform.metadata;
        fc.pre(deletionTimestamp !== undefined && finalizers?.includes(FINALIZER) === true);
        const decision = decide(seen, NOW);
        if (decision.requeueAfterMs !== undefined) return;
        const ready = conditionOf(decision, "Ready")?.reason ?? "";
        const removed = decision.before.some((each) => each.do === "remove-finalizer");
        const suspended = seen.terraform.spec.suspend === true;
        expect(removed || suspended || parkedReasons.includes(ready), decision.why).toBe(true);
      }),
      RUNS,
    );
  });

  test("facts that stand still bring the object to rest, and nothing is asked for then", () => {
    fc.assert(
      fc.property(observed, (first) => {
        let seen = first;
        let decision = decide(seen, NOW);
        for (let count = 0; count < 8; count += 1) {
          seen = storedBy(seen, decision);
          const next = decide(seen, NOW);
          const rest = JSON.stringify(next.status) === JSON.stringify(decision.status);
          decision = next;
          if (rest && count > 0) break;
        }
        const again = decide(storedBy(seen, decision), NOW);
        expect(again.status).toEqual(decision.status);
        expect(again.after.filter((each) => each.do === "event")).toEqual([]);
        const asked = [...again.before, ...again.after].map((each) => each.do);
        const standing = [
          "launch-run",
          "terminate-run",
          "end-runner",
          // Facts that do not follow their effects: these are asked for until they do.
          "add-finalizer",
          "remove-finalizer",
          "delete-plan",
          "delete-outputs",
          "forget-inputs",
        ];
        // That resources are left is told right before the object is let go.
        if (asked.includes("remove-finalizer")) standing.push("event");
        expect(asked.filter((each) => !standing.includes(each))).toEqual([]);
      }),
      RUNS,
    );
  });

  test("no run is started while another may live", () => {
    fc.assert(
      fc.property(observed, (seen) => {
        const before = seen.terraform.status?.run;
        const after = decide(seen, NOW).status.run;
        if (before !== undefined && after !== undefined) expect(after.id).toBe(before.id);
        const engine = seen.engine;
        if (before === undefined && (engine.shuttingDown || !engine.slotFree)) {
          expect(after).toBeUndefined();
        }
      }),
      RUNS,
    );
  });

  test("an apply that may write is ended by a person's order alone", () => {
    fc.assert(
      fc.property(observed, (seen) => {
        const decision = decide(seen, NOW);
        if (!decision.after.some((each) => each.do === "terminate-run")) return;
        const before = seen.terraform.status?.run as RunStatus;
        const ordered = seen.terraform.metadata.annotations?.[END_RUN] === before.id;
        const phase = seen.run === undefined ? "writes" : phaseNow(before, seen.run);
        expect(ordered || phase !== "writes").toBe(true);
      }),
      RUNS,
    );
  });

  test("nothing is applied on a state that lacks something, or against a held plan", () => {
    fc.assert(
      fc.property(ripe, (seen) => {
        const decision = decide(seen, NOW);
        const started = decision.status.run?.id === seen.engine.nextRunId;
        if (!started || decision.status.run?.operation !== "apply") return;
        const { status: stored, spec: wanted, metadata } = seen.terraform;
        expect(seen.state.rescued).toEqual([]);
        expect(wanted.suspend).not.toBe(true);
        expect(decision.status.run.planId).toBe(stored?.plan?.pending);
        expect(seen.plan.stored).toBe(true);
        const pending = stored?.plan?.pending;
        if (stored?.held !== undefined) {
          const accepted = metadata.annotations?.[ACCEPT] === pending;
          expect(accepted || wanted.approvePlan === pending).toBe(true);
        }
        if (metadata.deletionTimestamp === undefined) {
          expect(["auto", pending]).toContain(wanted.approvePlan);
          expect(stored?.plan?.revision).toBe(decision.status.run.revision);
        } else {
          expect(stored?.plan?.isDestroyPlan).toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("conditions are of a form that Kubernetes and its tools take", () => {
    fc.assert(
      fc.property(observed, (seen) => {
        const decision = decide(seen, NOW);
        const { conditions = [], run: stored } = decision.status;
        const types = conditions.map((each) => each.type);
        expect(new Set(types).size).toBe(types.length);
        const told = conditions.filter((each) => each.observedGeneration !== undefined);
        for (const each of told) {
          expect(each.lastTransitionTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
          expect(each.reason).toMatch(/^[A-Za-z]+$/);
        }
        const moving = conditionOf(decision, "Reconciling")?.status === "True";
        const stalled = conditionOf(decision, "Stalled");
        const toldStalled = stalled?.observedGeneration !== undefined;
        if (moving) expect(stalled).toBeUndefined();
        if (moving) expect(decision.requeueAfterMs).toBeDefined();
        if (stored === undefined && decision.requeueAfterMs === undefined) {
          expect(moving).toBe(false);
        }
        if (toldStalled) expect(conditionOf(decision, "Ready")?.status).toBe("False");
      }),
      RUNS,
    );
  });

  test("the order of facts that have none makes no difference", () => {
    fc.assert(
      fc.property(observed, (seen) => {
        const two = {
          ...seen,
          dependants: ["default/a", "default/b"],
          state: { ...seen.state, rescued: [...seen.state.rescued, rescue("r0"), rescue("r9")] },
        };
        const turned = {
          ...two,
          dependants: two.dependants.toReversed(),
          state: { ...two.state, rescued: two.state.rescued.toReversed() },
        };
        expect(decide(turned, NOW)).toEqual(decide(two, NOW));
      }),
      RUNS,
    );
  });
});

function rescue(id: string) {
  return { id, runId: "run-1", serial: 3, at: "2026-01-01T00:00:00Z" };
}
