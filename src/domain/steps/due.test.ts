import { describe, expect, test } from "vitest";
import type { TerraformStatus } from "../../api/terraform.ts";
import { OneObject, REVISION_1, REVISION_2 } from "../../testing/one-object.ts";

const NOW = Date.parse("2026-01-02T00:00:00Z");
const hoursAgo = (hours: number) => new Date(NOW - hours * 3_600_000).toISOString();

/** An object as tofu-controller left it: healthy, looked at six hours ago. */
function left(status: Partial<TerraformStatus> = {}): OneObject {
  const object = new OneObject({ interval: "24h", retryInterval: "30m", approvePlan: "auto" });
  object.nowMs = NOW;
  const { terraform } = object.observed;
  object.observed.terraform = {
    ...terraform,
    metadata: { ...terraform.metadata, finalizers: ["finalizers.tf.contrib.fluxcd.io"] },
    status: {
      observedGeneration: 1,
      lastAttemptedRevision: REVISION_1,
      lastPlannedRevision: REVISION_1,
      lastAppliedRevision: REVISION_1,
      lastPlanAt: hoursAgo(6),
      lastSuccessfulReconcileAt: hoursAgo(6),
      conditions: [ready("True", "TerraformAppliedSucceed")],
      ...status,
    },
  };
  return object;
}

function ready(status: "True" | "False" | "Unknown", reason: string) {
  const lastTransitionTime = hoursAgo(6);
  return { type: "Ready", status, reason, message: "as before", lastTransitionTime };
}

const failing = { reconciliationFailures: 1, conditions: [ready("False", "TFExecPlanFailed")] };
const rows: Record<string, { object: () => OneObject; reason?: string; waitMs?: number }> = {
  "six of twenty-four hours: not due, and due at the rest": {
    object: () => left(),
    waitMs: 18 * 3_600_000,
  },
  "a stale plan with a fresh success is not due": {
    object: () => left({ lastPlanAt: hoursAgo(400) }),
    waitMs: 18 * 3_600_000,
  },
  "twenty-five hours: due": {
    object: () => left({ lastSuccessfulReconcileAt: hoursAgo(25) }),
    reason: "IntervalElapsed",
  },
  "never a success: due": {
    object: () => {
      const object = left();
      delete object.observed.terraform.status?.lastSuccessfulReconcileAt;
      return object;
    },
    reason: "IntervalElapsed",
  },
  "the spec has changed": {
    object: () => {
      const object = left();
      const { terraform } = object.observed;
      const metadata = { ...terraform.metadata, generation: 2 };
      object.observed.terraform = { ...terraform, metadata };
      return object;
    },
    reason: "SpecChanged",
  },
  "the source has moved on": {
    object: () => left({ lastAttemptedRevision: REVISION_2 }),
    reason: "SourceChanged",
  },
  "never planned": {
    object: () => {
      const object = left();
      delete object.observed.terraform.status?.lastPlanAt;
      return object;
    },
    reason: "FirstPlan",
  },
  "blocked before by a dependency that is ready now": {
    object: () => left({ conditions: [ready("False", "DependencyNotReady")] }),
    reason: "Unblocked",
  },
  "failed three hours ago, retry after thirty minutes": {
    object: () => left({ ...failing, lastPlanAt: hoursAgo(3) }),
    reason: "RetryAfterFailure",
  },
  "failed ten minutes ago, retry after thirty minutes": {
    object: () => left({ ...failing, lastPlanAt: hoursAgo(1 / 6) }),
    waitMs: 20 * 60_000,
  },
};

describe("the gate, for objects of before", () => {
  test.each(Object.entries(rows))("%s", (_name, { object: make, reason, waitMs }) => {
    const object = make();
    object.settle();
    if (reason !== undefined) expect(object.status.run).toMatchObject({ reason });
    if (waitMs !== undefined) {
      expect(object.status.run).toBeUndefined();
      expect(object.decisions.at(-1)?.requeueAfterMs).toBe(waitMs);
      expect(object.ready).toMatch(/as before$/);
    }
  });
});

describe("a clock that is set back", () => {
  const back = 5 * 3_600_000;

  test("does not put off the interval", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.planned(0);
    object.nowMs -= back;
    object.settle();
    expect(object.status.run).toMatchObject({ reason: "IntervalElapsed" });
  });

  test("nor the next attempt after a loss", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.run({ runner: "gone", workersAlive: 0, verdict: "dead" });
    object.nowMs -= back;
    object.settle();
    expect(object.status.run).toMatchObject({ attempt: 2 });
  });

  test("nor the retry of an approved plan", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.planned(1);
    object.fails({ stage: "init" });
    object.nowMs -= back;
    object.settle();
    expect(object.status.run).toMatchObject({ operation: "apply" });
  });
});

describe("requests", () => {
  const REQUESTED = "reconcile.fluxcd.io/requestedAt";

  function settled(): OneObject {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.planned(0);
    object.effects.length = 0;
    return object;
  }

  test("make the object due at once, and count as answered when the run has ended", () => {
    const object = settled();
    object.annotate({ [REQUESTED]: "now" });
    expect(object.status.run).toMatchObject({ reason: "Requested", handles: "now" });
    expect(object.status.lastHandledReconcileAt).toBeUndefined();
    object.planned(0);
    expect(object.status.lastHandledReconcileAt).toBe("now");
  });

  test("during a run are seen at once, and answered by one that began after them", () => {
    const object = settled();
    object.whenDue();
    object.run({ stage: "init" });
    object.annotate({ [REQUESTED]: "later" });
    expect(object.condition("Reconciling")?.message).toBe(
      "Busy since 2026-01-01T00:10:00.000Z: plan is in stage init, " +
        "until 2026-01-01T00:20:00.000Z at most; the request of later is answered right after",
    );
    object.planned(0);
    expect(object.status.lastHandledReconcileAt).toBeUndefined();
    object.after(0);
    expect(object.status.run).toMatchObject({ reason: "Requested", handles: "later" });
    object.planned(0);
    expect(object.status.lastHandledReconcileAt).toBe("later");
  });

  test("that a run failed to fulfil are answered: the status says with what", () => {
    const object = settled();
    object.annotate({ [REQUESTED]: "now" });
    object.fails();
    expect(object.status.lastHandledReconcileAt).toBe("now");
  });

  test("of a suspended object are answered when it goes on", () => {
    const object = settled();
    object.edit({ suspend: true });
    object.annotate({ [REQUESTED]: "now" });
    expect(object.status.lastHandledReconcileAt).toBeUndefined();
    object.edit({ suspend: false });
    expect(object.status.run?.handles).toBe("now");
  });
});

describe("a Secret of outputs that does not hold what it should", () => {
  function written(outputs?: string[]): OneObject {
    const writeOutputsToSecret = { name: "out", ...(outputs ? { outputs } : {}) };
    const object = new OneObject({ approvePlan: "auto", writeOutputsToSecret });
    object.settle();
    object.planned(1);
    object.applied();
    object.after(15_000);
    return object;
  }

  test("gone: it is written again at once, and Ready says so", () => {
    const object = written();
    object.observed.outputsSecret = { state: "absent" };
    object.settle();
    expect(object.status.run).toMatchObject({ reason: "OutputsMissing" });
    object.planned(0);
    expect(object.ready).toBe(`True TerraformOutputsWritten: Outputs written: ${REVISION_1}`);
  });

  test("a type beside a value, and an alias, are no difference", () => {
    const object = written(["hello_world:hello"]);
    object.observed.outputsSecret = { state: "present", keys: ["hello", "hello__type"] };
    object.settle();
    expect(object.status.run).toBeUndefined();
  });

  test("a key too many is one", () => {
    const object = written();
    object.observed.outputsSecret = { state: "present", keys: ["hello_world", "old"] };
    object.settle();
    expect(object.status.run).toMatchObject({ reason: "OutputsMissing" });
  });

  test("that never comes right keeps no run going without a pause", () => {
    const object = written();
    object.observed.outputsSecret = { state: "present", keys: ["other"] };
    object.settle();
    object.planned(0);
    object.observed.outputsSecret = { state: "present", keys: ["other"] };
    object.settle();
    expect(object.status.run).toBeUndefined();
    object.after(15_000);
    expect(object.status.run).toMatchObject({ reason: "OutputsMissing" });
  });
});

test("an input that changed makes the object due, once", () => {
  const object = new OneObject({ approvePlan: "auto" });
  object.settle();
  object.planned(0);
  object.observed.inputs = { state: "resolved", digest: "inputs-2" };
  object.settle();
  expect(object.status.run).toMatchObject({ reason: "InputsChanged" });
  object.fails();
  object.settle();
  expect(object.status.run).toBeUndefined();
});
