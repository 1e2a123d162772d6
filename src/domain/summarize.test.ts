import { describe, expect, test } from "vitest";
import type { Condition } from "../api/meta.ts";
import type { RunStatus, Stage } from "../api/terraform.ts";
import type { Marks, Standing } from "./standing.ts";
import { summarize } from "./summarize.ts";

const NOW = Date.parse("2026-01-01T12:00:00.700Z");

function run(operation: "plan" | "apply", stage: Stage): RunStatus {
  return {
    id: "run-1",
    operation,
    reason: "FirstPlan",
    attempt: 1,
    epoch: 1,
    generation: 1,
    revision: "main@sha1:abc",
    artifactDigest: "sha256:a",
    inputsDigest: "i",
    stage,
    intendedAt: "2026-01-01T12:00:00Z",
    stageSince: "2026-01-01T12:00:00Z",
    verdict: "alive",
  };
}

function running(operation: "plan" | "apply", stage: Stage): Standing {
  return {
    is: "running",
    run: run(operation, stage),
    looksAgain: false,
    trouble: undefined,
    busy: undefined,
  };
}

function conditions(standing: Standing, old: Condition[] = [], marks: Marks = {}): Condition[] {
  return summarize({ old, standing, marks, generation: 2, nowMs: NOW });
}
/** Every condition as "Type status reason: message". */
function texts(standing: Standing, old: Condition[] = [], marks: Marks = {}): string[] {
  return conditions(standing, old, marks).map(
    (each) => `${each.type} ${each.status} ${each.reason}: ${each.message}`,
  );
}

const drifted = {
  is: "prompt",
  planId: "plan-x",
  summary: "1 to add",
  drift: true,
  planOnly: false,
} as const;
const FULFILLING = "Reconciling True Progressing: Fulfilling prerequisites";
const standings: Record<string, { standing: Standing; says: string[] }> = {
  "a run that prepares": {
    standing: running("plan", "init"),
    says: [FULFILLING, "Ready Unknown Progressing: Initializing"],
  },
  "a run that plans": {
    standing: running("plan", "plan"),
    says: [FULFILLING, "Ready Unknown Progressing: Terraform Planning"],
  },
  "a run that applies": {
    standing: running("apply", "apply"),
    says: [FULFILLING, "Ready Unknown Progressing: Applying"],
  },
  "an apply that reads outputs still applies": {
    standing: running("apply", "outputs"),
    says: [FULFILLING, "Ready Unknown Progressing: Applying"],
  },
  "a run in trouble says so in Ready": {
    standing: {
      ...(running("apply", "apply") as Extract<Standing, { is: "running" }>),
      trouble: { reason: "RunnerLost", message: "Gone", needsPerson: false },
    },
    says: [FULFILLING, "Ready Unknown RunnerLost: Gone"],
  },
  "a run that needs a person is stalled, not in motion": {
    standing: {
      ...(running("apply", "apply") as Extract<Standing, { is: "running" }>),
      trouble: { reason: "RunnerUnreachable", message: "Silent", needsPerson: true },
    },
    says: ["Stalled True RunnerUnreachable: Silent", "Ready False RunnerUnreachable: Silent"],
  },
  "a lost run whose next attempt comes": {
    standing: { is: "retrying", reason: "RunnerLost", message: "Gone; again at once" },
    says: [
      "Reconciling True Progressing: Gone; again at once",
      "Ready Unknown RunnerLost: Gone; again at once",
    ],
  },
  "waiting for approval is rest, not motion": {
    standing: { ...drifted, drift: false, shortened: undefined },
    says: [
      "Ready Unknown TerraformPlannedWithChanges: " +
        'Plan generated: set approvePlan: "plan-x" to approve this plan.',
    ],
  },
  "a shortened id is told to be whole": {
    standing: { ...drifted, drift: false, shortened: "plan-" },
    says: [
      "Ready Unknown TerraformPlannedWithChanges: " +
        'Plan generated: set approvePlan: "plan-x" to approve this plan. ' +
        'The value "plan-" is only the beginning of this id; it must be whole.',
    ],
  },
  "drift that can be approved says how, and how much, not the plan's text": {
    standing: { ...drifted, shortened: undefined },
    says: [
      "Ready False DriftDetected: " +
        'Drift detected: 1 to add; set approvePlan: "plan-x" to approve this plan.',
    ],
  },
  "no drift": {
    standing: { is: "no-drift", revision: "r" },
    says: ["Ready True NoDrift: No drift: r"],
  },
  "no changes": {
    standing: { is: "no-changes", revision: "r", destroy: false },
    says: ["Ready True TerraformPlannedNoChanges: Plan no changes: r"],
  },
  "nothing to destroy": {
    standing: { is: "no-changes", revision: "r", destroy: true },
    says: ["Ready True TerraformPlannedNoChanges: No objects need to be destroyed: r"],
  },
  applied: {
    standing: { is: "applied", revision: "r", destroy: false },
    says: ["Ready True TerraformAppliedSucceed: Applied successfully: r"],
  },
  destroyed: {
    standing: { is: "applied", revision: "r", destroy: true },
    says: ["Ready True TerraformAppliedSucceed: Destroy applied successfully: r"],
  },
  "outputs written": {
    standing: { is: "outputs-written", revision: "r", none: false },
    says: ["Ready True TerraformOutputsWritten: Outputs written: r"],
  },
  "no outputs to write": {
    standing: { is: "outputs-written", revision: "r", none: true },
    says: ["Ready True TerraformOutputsWritten: No Outputs written: r"],
  },
  "a failure between retries": {
    standing: { is: "failed", reason: "TFExecPlanFailed", message: "It broke" },
    says: ["Ready False TFExecPlanFailed: It broke"],
  },
  stalled: {
    standing: { is: "stalled", reason: "InvalidSpec", message: "No" },
    says: ["Stalled True InvalidSpec: No", "Ready False InvalidSpec: No"],
  },
};

describe("how an object stands, in conditions", () => {
  test.each(Object.entries(standings))("%s", (_name, { standing, says }) => {
    expect(texts(standing)).toEqual(says);
  });
});

const marks: Record<string, { mark: Marks; says: string }> = {
  "a plan with changes": {
    mark: { plan: { changes: true, destroy: false } },
    says: "Plan True TerraformPlannedWithChanges: Plan generated",
  },
  "a plan without": {
    mark: { plan: { changes: false, destroy: false } },
    says: "Plan False TerraformPlannedNoChanges: Plan no changes",
  },
  "a destroy plan without, in words that clients match": {
    mark: { plan: { changes: false, destroy: true } },
    says: "Plan False TerraformPlannedNoChanges: No objects need to be destroyed",
  },
  "an apply that begins": {
    mark: { apply: { is: "started" } },
    says: "Apply Unknown Progressing: Apply started",
  },
  "an apply that failed": {
    mark: { apply: { is: "failed", message: "It broke" } },
    says: "Apply False TerraformAppliedFail: It broke",
  },
  "outputs that nobody wants written": {
    mark: { output: "available" },
    says: "Output True TerraformOutputsAvailable: Outputs available",
  },
  "a lock in the way": {
    mark: { lock: { is: "held", id: "l-1" } },
    says: "StateLocked True LockHeld: Terraform Locked with Lock Identifier: l-1",
  },
};

describe("what is remembered", () => {
  test.each(Object.entries(marks))("%s", (_name, { mark, says }) => {
    expect(texts({ is: "no-drift", revision: "r" }, [], mark)).toContain(says);
  });

  test("what no mark mentions stays as it was, and so do conditions of others", () => {
    const apply = stored("Apply", "True", { reason: "TerraformAppliedSucceed" });
    const foreign = stored("HealthCheck", "True");
    const after = conditions({ is: "no-drift", revision: "r" }, [apply, foreign]);
    expect(after).toContainEqual(apply);
    expect(after).toContainEqual(foreign);
  });

  test("a lock that is gone leaves no condition behind", () => {
    const locked = stored("StateLocked", "True");
    const after = texts({ is: "no-drift", revision: "r" }, [locked], { lock: { is: "free" } });
    expect(after).toEqual(["Ready True NoDrift: No drift: r"]);
  });
});

function stored(
  type: string,
  status: Condition["status"],
  more: Partial<Condition> = {},
): Condition {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  return { type, status, reason: "Before", message: "before", lastTransitionTime, ...more };
}

describe("a run that only looks again", () => {
  const again: Standing = {
    ...(running("plan", "plan") as Extract<Standing, { is: "running" }>),
    looksAgain: true,
  };
  test("leaves a good verdict standing, so that dependants do not stumble", () => {
    expect(texts(again, [stored("Ready", "True")])).toContain("Ready True Before: before");
  });
  test("leaves the last error standing, so that it can be read between retries", () => {
    expect(texts(again, [stored("Ready", "False")])).toContain("Ready False Before: before");
  });
  test("says what it does where there is no verdict to keep", () => {
    const lost = stored("Ready", "Unknown", { reason: "RunnerLost" });
    expect(texts(again, [lost])).toContain("Ready Unknown Progressing: Terraform Planning");
  });
});

describe("a condition's form", () => {
  const failed: Standing = { is: "failed", reason: "Before", message: "before" };
  test("the transition time stays while nothing is said anew", () => {
    const [ready] = conditions(failed, [stored("Ready", "False")]);
    expect(ready?.lastTransitionTime).toBe("2026-01-01T00:00:00Z");
    expect(ready?.observedGeneration).toBe(2);
  });
  test("it moves, in whole seconds, when only the message does", () => {
    const old = stored("Ready", "False", { message: "other" });
    expect(conditions(failed, [old])[0]?.lastTransitionTime).toBe("2026-01-01T12:00:00Z");
  });
  test("messages are cut at 20,000 characters, and a character is not cut in two", () => {
    const message = `${"a".repeat(19_999)}😀😀`;
    const [ready] = conditions({ is: "failed", reason: "R", message });
    expect(ready?.message).toBe(`${"a".repeat(19_999)}😀...`);
    expect(conditions({ ...failed, message }, [ready as Condition])[0]?.lastTransitionTime).toBe(
      ready?.lastTransitionTime,
    );
  });
  test("Stalled, Reconciling and Ready come first, the others newest first, then by name", () => {
    const old = [
      stored("Plan", "True", { observedGeneration: 1 }),
      stored("Apply", "True", { observedGeneration: 1 }),
      stored("Output", "True", { observedGeneration: 2 }),
    ];
    const types = conditions({ is: "stalled", reason: "R", message: "m" }, old);
    expect(types.map((each) => each.type)).toEqual(["Stalled", "Ready", "Output", "Apply", "Plan"]);
  });
});

describe("suspended", () => {
  const suspended: Standing = { is: "suspended", message: "Nothing is started", always: false };
  test("what is known of the object stays", () => {
    expect(texts(suspended, [stored("Ready", "True")])).toEqual(["Ready True Before: before"]);
  });
  test("a prompt stays: the plan can still be read", () => {
    const prompt = stored("Ready", "Unknown", { reason: "TerraformPlannedWithChanges" });
    expect(texts(suspended, [prompt])[0]).toMatch(/^Ready Unknown TerraformPlannedWithChanges/);
  });
  test("what was in motion is not said to move any more", () => {
    const moving = [
      stored("Ready", "Unknown", { reason: "Progressing" }),
      stored("Reconciling", "True"),
    ];
    expect(texts(suspended, moving)).toEqual(["Ready Unknown Suspended: Nothing is started"]);
  });
});
