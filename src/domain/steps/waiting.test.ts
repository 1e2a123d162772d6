import { describe, expect, test } from "vitest";
import type { Terraform, TerraformStatus } from "../../api/terraform.ts";
import {
  artifactOf,
  OneObject,
  REVISION_1,
  REVISION_2,
  terraformOf,
} from "../../testing/one-object.ts";
import type { DependencyFact, SourceFact } from "../facts.ts";

describe("the source", () => {
  const rows: Record<string, { fact: SourceFact; ready: string; stalled: boolean }> = {
    "does not exist": {
      fact: { state: "missing", message: "GitRepository default/code does not exist" },
      ready: "False ArtifactFailed: GitRepository default/code does not exist",
      stalled: true,
    },
    "has no artifact yet": {
      fact: { state: "no-artifact", message: "Source is not ready, artifact not found" },
      ready: "False ArtifactFailed: Source is not ready, artifact not found",
      stalled: false,
    },
  };
  test.each(Object.entries(rows))("%s: looked for again", (_name, { fact, ready, stalled }) => {
    const object = new OneObject();
    object.observed.source = fact;
    object.settle();
    expect(object.ready).toBe(ready);
    expect(object.condition("Stalled") !== undefined).toBe(stalled);
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(15_000);
    const { status } = object;
    for (let count = 0; count < 5; count += 1) object.whenDue();
    expect(object.events).toHaveLength(1);
    if (stalled) expect(object.status, "written once").toEqual(status);
    expect(object.status.reconciliationFailures ?? 0).toBe(0);
    object.source(REVISION_1);
    expect(object.status.run).toBeDefined();
    expect(object.condition("Stalled")).toBeUndefined();
  });

  test("a look in between does not put off the next", () => {
    const object = new OneObject();
    object.observed.source = { state: "no-artifact", message: "gone" };
    object.settle();
    object.after(5_000);
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(10_000);
  });

  test("is not allowed: parked until the spec changes", () => {
    const object = new OneObject();
    const message =
      "cannot access GitRepository/other/code, cross-namespace references have been disabled";
    object.observed.source = { state: "denied", message };
    object.settle();
    expect(object.ready).toBe(`False AccessDenied: ${message}`);
    expect(object.condition("Stalled")).toMatchObject({ reason: "AccessDenied" });
    expect(object.decisions.at(-1)?.requeueAfterMs).toBeUndefined();
  });

  test("that comes back after a while is looked at without waiting for the interval", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.planned(0);
    object.observed.source = { state: "missing", message: "gone" };
    object.settle();
    object.source(REVISION_1);
    expect(object.status.run).toMatchObject({ reason: "Unblocked" });
  });
});

describe("inputs", () => {
  test("that cannot be resolved are a failure, counted once each retry", () => {
    const object = new OneObject();
    object.observed.inputs = {
      state: "failed",
      reason: "VarsGenerationFailed",
      message: 'Secret "s" not found',
    };
    object.settle();
    object.settle();
    expect(object.ready).toBe('False VarsGenerationFailed: Secret "s" not found');
    expect(object.status.reconciliationFailures).toBe(1);
    object.whenDue();
    expect(object.status.reconciliationFailures).toBe(2);
    object.observed.inputs = { state: "resolved", digest: "inputs-1" };
    object.settle();
    expect(object.status.run).toBeDefined();
  });
});

describe("dependencies", () => {
  function base(status: TerraformStatus = {}, source = "other"): Terraform {
    const object = terraformOf({ sourceRef: { kind: "GitRepository", name: source } }, "base");
    const conditions = [
      {
        type: "Ready",
        status: "True" as const,
        reason: "NoDrift",
        message: "",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      },
    ];
    return { ...object, status: { observedGeneration: 1, conditions, ...status } };
  }
  function on(change: Partial<DependencyFact>): DependencyFact {
    return {
      namespace: "default",
      name: "base",
      terraform: base(),
      outputsReady: undefined,
      denied: false,
      ...change,
    };
  }

  const rows: Record<string, { dependency: DependencyFact; message: string }> = {
    "one that does not exist": {
      dependency: on({ terraform: undefined }),
      message: "unable to get 'default/base' dependency: it does not exist",
    },
    "one that is not ready": {
      dependency: on({ terraform: base({ conditions: [] }) }),
      message: "dependency 'default/base' is not ready",
    },
    "one whose spec has not been looked at yet": {
      dependency: on({ terraform: base({ observedGeneration: 0 }) }),
      message: "dependency 'default/base' is not ready",
    },
    "one of the same source that has another revision": {
      dependency: on({ terraform: base({ lastAppliedRevision: REVISION_2 }, "code") }),
      message: "dependency 'default/base' is not updated yet",
    },
    "one whose outputs are not written": {
      dependency: on({
        terraform: { ...base(), spec: { ...base().spec, writeOutputsToSecret: { name: "out" } } },
        outputsReady: false,
      }),
      message: "dependency output secret: 'out' of 'default/base' is not ready yet",
    },
    "one that waits for this one in turn": {
      dependency: on({
        terraform: { ...base(), spec: { ...base().spec, dependsOn: [{ name: "app" }] } },
      }),
      message:
        "dependency 'default/base' is not ready: it depends on this object in turn; " +
        "break the circle",
    },
  };
  test.each(Object.entries(rows))("%s holds the object back", (_name, { dependency, message }) => {
    const object = new OneObject();
    object.observed.dependencies = [dependency];
    object.settle();
    expect(object.ready).toBe(`False DependencyNotReady: ${message}`);
    expect(object.events).toEqual([
      "DependencyNotReady: Dependencies do not meet ready condition, retrying in 15s",
    ]);
    expect(object.status.run).toBeUndefined();
    expect(object.decisions.at(-1)?.requeueAfterMs).toBe(15_000);
    object.observed.dependencies = [on({})];
    object.settle();
    expect(object.status.run).toBeDefined();
  });

  const good: Record<string, DependencyFact> = {
    "one that has planned this revision without changes": on({
      terraform: base({ lastPlannedRevision: REVISION_1 }, "code"),
    }),
    "one of another source, whatever its revision": on({
      terraform: base({ lastAppliedRevision: REVISION_2 }),
    }),
    "one with its outputs": on({ outputsReady: true }),
  };
  test.each(Object.entries(good))("%s holds nothing back", (_name, dependency) => {
    const object = new OneObject();
    object.observed.dependencies = [dependency];
    object.settle();
    expect(object.status.run).toBeDefined();
  });

  test("one that is not allowed parks the object", () => {
    const object = new OneObject();
    object.observed.dependencies = [on({ denied: true })];
    object.settle();
    expect(object.ready).toBe(
      "False AccessDenied: cannot access default/base, " +
        "cross-namespace references have been disabled",
    );
    expect(object.decisions.at(-1)?.requeueAfterMs).toBeUndefined();
  });

  test("the first one in the way is named", () => {
    const object = new OneObject();
    const second = on({ name: "second", terraform: undefined });
    object.observed.dependencies = [on({}), second, on({ terraform: undefined })];
    object.settle();
    expect(object.ready).toContain("default/second");
    expect(artifactOf("x").revision).toBe("x");
  });
});

describe("suspended", () => {
  test("a run that is under way is watched and collected; none follows", () => {
    const object = new OneObject({ approvePlan: "auto" });
    object.settle();
    object.edit({ suspend: true });
    expect(object.status.run).toBeDefined();
    object.planned(1);
    object.settle();
    expect(object.status.run).toBeUndefined();
    expect(object.status.plan?.pending).toBeDefined();
    expect(object.condition("Reconciling")).toBeUndefined();
    expect(object.decisions.at(-1)?.requeueAfterMs).toBeUndefined();
    object.edit({ suspend: false });
    expect(object.status.run).toMatchObject({ operation: "apply" });
  });

  test("a lost run has no next attempt until the object goes on", () => {
    const object = new OneObject();
    object.settle();
    object.edit({ suspend: true });
    object.run({ runner: "gone", workersAlive: 0, verdict: "dead" });
    expect(object.ready).toBe("Unknown Suspended: Nothing is started until spec.suspend is false");
    object.edit({ suspend: false });
    expect(object.status.run).toMatchObject({ attempt: 2 });
  });
});
