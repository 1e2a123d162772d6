import { expect, test } from "vitest";
import type { RunStatus, Terraform } from "../../api/terraform.ts";
import type { LiveRun } from "../../ports/runs.ts";
import { deadlineClock } from "./status.ts";

const NOW_MS = Date.parse("2026-01-01T00:10:00Z");

function object(spec: Partial<Terraform["spec"]>, status: Terraform["status"] = {}): Terraform {
  return {
    apiVersion: "infra.contrib.fluxcd.io/v1alpha2",
    kind: "Terraform",
    metadata: { name: "app", namespace: "prod" },
    spec: { interval: "1h", sourceRef: { kind: "GitRepository", name: "code" }, ...spec },
    status,
  };
}
function stalled(reason: string): NonNullable<Terraform["status"]> {
  const at = "2026-01-01T00:00:00Z";
  const condition = { type: "Stalled", status: "True", reason, message: "m" } as const;
  return { conditions: [{ ...condition, lastTransitionTime: at }] };
}
const pending = { plan: { pending: "plan-1" } };

test.each<[why: string, object: Terraform, says: RegExp]>([
  ["it is suspended", object({ suspend: true }), /suspended\. Go on: nigari resume prod\/app$/],
  [
    "no retry is left",
    object({}, stalled("RetryLimitReached")),
    /retries are used up\. .* or with: nigari replan prod\/app$/,
  ],
  ["a person is needed", object({}, stalled("InvalidSpec")), /as Stalled says below/],
  ["a plan waits", object({}, pending), /its plan waits for approval/],
  ["a plan is for reading", object({ planOnly: true }, pending), /the next plan is made once/],
  ["nothing of that", object({}), /only an event makes it due/],
])("what it waits for is named: %s", (_why, given, says) => {
  expect(deadlineClock(given, undefined, NOW_MS).join("\n")).toMatch(says);
});

test("an engine that came later does not make a silence shorter", () => {
  const run: RunStatus = {
    id: "r1",
    operation: "apply",
    reason: "Approved",
    attempt: 1,
    epoch: 1,
    generation: 1,
    revision: "main@sha1:1",
    artifactDigest: "sha256:1",
    inputsDigest: "x",
    stage: "apply",
    intendedAt: "2026-01-01T00:00:00Z",
    stageSince: "2026-01-01T00:00:00Z",
    lastSignAt: "2026-01-01T00:03:00Z",
    verdict: "unreachable",
  };
  const live: LiveRun = {
    runId: "r1",
    stage: "apply",
    verdict: "unreachable",
    silentMs: 10_000,
    progress: undefined,
    inFlight: [],
  };
  const words = (verdict: LiveRun["verdict"]) =>
    deadlineClock(object({}, { run }), { ...live, verdict }, NOW_MS).join("\n");
  expect(words("unreachable")).toContain("Last sign of life: 7m ago (unreachable)");
  expect(words("alive")).toContain("Last sign of life: 10s ago (alive)");
});
