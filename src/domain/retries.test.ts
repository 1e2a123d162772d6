import { describe, expect, test } from "vitest";
import { formatDuration } from "../api/duration.ts";
import type { TerraformSpec } from "../api/terraform.ts";
import { OneObject, REVISION_2, terraformOf } from "../testing/one-object.ts";
import { retryPauseMs } from "./backoff.ts";

describe("the pause after failures in a row", () => {
  const exponential = { retryStrategy: "ExponentialBackoff" } as const;
  const rows: Record<string, [Partial<TerraformSpec>, number, string]> = {
    "15 s where nothing is said": [{}, 3, "15s"],
    "what the spec says": [{ retryInterval: "30s" }, 3, "30s"],
    "doubled for each failure": [exponential, 2, "1m"],
    "from the interval of the spec": [{ ...exponential, retryInterval: "60s" }, 4, "16m"],
    "up to the cap": [{ ...exponential, maxRetryInterval: "45s" }, 2, "45s"],
    "up to a day where no cap is said": [exponential, 40, "1d"],
    "after more failures than numbers can bear": [exponential, 5_000, "1d"],
    "never more than the cap, be it below the interval": [
      { ...exponential, retryInterval: "1m", maxRetryInterval: "10s" },
      1,
      "10s",
    ],
    "a cap counts under this strategy alone": [{ maxRetryInterval: "1s" }, 9, "15s"],
  };
  test.each(Object.entries(rows))("%s", (_name, [spec, failures, text]) => {
    expect(formatDuration(retryPauseMs(terraformOf(spec).spec, failures))).toBe(text);
  });

  test("is kept between failing plans, and gone after a success", () => {
    const object = new OneObject({ ...exponential, retryInterval: "10s" });
    object.settle();
    for (const seconds of [20, 40, 80]) {
      object.fails();
      expect(object.decisions.at(-1)?.requeueAfterMs).toBe(seconds * 1_000);
      object.whenDue();
    }
    object.planned(0);
    expect(object.status.reconciliationFailures).toBe(0);
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(600_000);
  });

  test("grows for inputs that lack, too", () => {
    const object = new OneObject({ ...exponential, retryInterval: "10s" });
    object.observed.inputs = { state: "failed", reason: "VarsGenerationFailed", message: "no" };
    expect(object.settle().requeueAfterMs).toBe(20_000);
    expect(object.after(1_000).requeueAfterMs).toBe(19_000);
    expect(object.whenDue().requeueAfterMs).toBe(40_000);
    expect(object.status.reconciliationFailures).toBe(2);
  });

  test("a cap that is no duration is refused with the field's name", () => {
    const object = new OneObject({ ...exponential, maxRetryInterval: "-1s" });
    object.settle();
    expect(object.ready).toMatch(/^False InvalidSpec: spec.maxRetryInterval "-1s" is no positive/);
  });
});

describe("spec.remediation", () => {
  const message = "no such thing";
  const stalled = { status: "True", reason: "RetryLimitReached" };

  /** Fails as often as it may; the number of runs it took. */
  function usedUp(spec: Partial<TerraformSpec>): { object: OneObject; runs: number } {
    const object = new OneObject({ retryInterval: "5s", ...spec });
    object.settle();
    let runs = 0;
    while (object.status.run !== undefined && runs < 10) {
      object.fails({ message });
      runs += 1;
      if (object.decisions.at(-1)?.requeueAfterMs !== undefined) object.whenDue();
    }
    return { object, runs };
  }

  const rows: Record<string, { spec: Partial<TerraformSpec>; runs: number }> = {
    "three failures, then it stalls": { spec: { remediation: { retries: 3 } }, runs: 3 },
    "none allowed: the first attempt is made all the same": {
      spec: { remediation: { retries: 0 } },
      runs: 1,
    },
    "no number is none": { spec: { remediation: {} }, runs: 1 },
    "a negative number is no limit": { spec: { remediation: { retries: -1 } }, runs: 10 },
    "absent is no limit": { spec: {}, runs: 10 },
  };
  test.each(Object.entries(rows))("%s", (_name, { spec, runs }) => {
    const found = usedUp(spec);
    expect(found.runs).toBe(runs);
    const { object } = found;
    expect(object.ready).toContain(message);
    expect(object.status.reconciliationFailures).toBe(runs);
    if (runs === 10) expect(object.condition("Stalled")).toBeUndefined();
    else {
      expect(object.condition("Stalled")).toMatchObject({
        ...stalled,
        message: "Resource reached maximum number of retries.",
      });
      expect(object.events.filter((each) => each.startsWith("RetryLimit"))).toHaveLength(1);
      expect(object.decisions.at(-1)?.requeueAfterMs).toBeUndefined();
    }
  });

  test("stalled, a request is answered and starts nothing; the last error stays", () => {
    const { object } = usedUp({ remediation: { retries: 2 } });
    const ready = object.ready;
    object.annotate({ "reconcile.fluxcd.io/requestedAt": "now" });
    object.after(3_600_000);
    expect(object.status.run).toBeUndefined();
    expect(object.status.lastHandledReconcileAt).toBe("now");
    expect(object.condition("Stalled")).toMatchObject(stalled);
    expect(object.ready).toBe(ready);
  });

  const ways: Record<string, (object: OneObject) => void> = {
    "an edit": (object) => object.edit({ remediation: { retries: 1 } }),
    "a new revision": (object) => object.source(REVISION_2),
    "a word from a person": (object) => object.annotate({ "nigari.dev/replan": "now" }),
  };
  test.each(Object.entries(ways))("%s makes it count anew", (_name, change) => {
    const { object } = usedUp({ remediation: { retries: 2 } });
    change(object);
    expect(object.status.run).toMatchObject({ operation: "plan" });
    expect(object.condition("Stalled")).toBeUndefined();
    expect(object.status.reconciliationFailures).toBe(0);
  });

  test("other inputs let it go on", () => {
    const { object } = usedUp({ remediation: { retries: 2 } });
    object.observed.inputs = { state: "resolved", digest: "inputs-2" };
    object.settle();
    expect(object.status.run).toMatchObject({ operation: "plan" });
  });

  test("inputs that lack stall it too, until they are there", () => {
    const object = new OneObject({ remediation: { retries: 2 } });
    object.observed.inputs = { state: "failed", reason: "VarsGenerationFailed", message: "no s" };
    object.settle();
    expect(object.condition("Stalled")).toBeUndefined();
    object.whenDue();
    expect(object.condition("Stalled")).toMatchObject(stalled);
    expect(object.ready).toBe("False VarsGenerationFailed: no s");
    expect(object.after(3_600_000).requeueAfterMs).toBeUndefined();
    expect(object.status.reconciliationFailures).toBe(2);
    object.observed.inputs = { state: "resolved", digest: "inputs-1" };
    object.settle();
    expect(object.status.run).toMatchObject({ operation: "plan" });
  });

  test("what may exist unrecorded is looked at by one more plan, held for a person", () => {
    const object = new OneObject({ approvePlan: "auto", remediation: { retries: 1 } });
    object.settle();
    object.planned(1);
    object.run({ stage: "apply" });
    object.fails({ stage: "apply", exitCode: undefined, unrecorded: ["a.b"] });
    expect(object.status.run).toMatchObject({ operation: "plan" });
    object.planned(1);
    expect(object.condition("Stalled")).toMatchObject({ reason: "RunResultUnknown" });
  });

  test("a deletion is not limited", () => {
    const object = new OneObject({
      approvePlan: "auto",
      remediation: { retries: 1 },
      destroyResourcesOnDeletion: true,
    });
    object.settle();
    object.planned(1);
    object.applied();
    object.delete();
    object.fails();
    object.whenDue();
    expect(object.status.run).toMatchObject({ operation: "plan", destroy: true });
  });
});
