import { expect, test } from "vitest";
import { judge, type LivenessEvidence } from "./liveness.ts";

const heard: LivenessEvidence = {
  runner: "running",
  workersAlive: 1,
  rebooted: false,
  heard: true,
  silentMs: 0,
};

const cases: Record<string, { seen: Partial<LivenessEvidence>; lagMs?: number; is: string }> = {
  "two missed beats are nothing": { seen: { silentMs: 4_999 }, is: "alive" },
  "at 5 s it is looked at more closely": { seen: { silentMs: 5_000 }, is: "suspect" },
  "at 8 s it is unreachable, within the 10 s that are promised": {
    seen: { silentMs: 8_000 },
    is: "unreachable",
  },
  "silence alone never makes it dead": { seen: { silentMs: 86_400_000 }, is: "unreachable" },
  "silence that the judge slept through is its own": {
    seen: { silentMs: 9_000 },
    lagMs: 6_000,
    is: "alive",
  },
  "a lag below nothing counts as none": { seen: { silentMs: 6_000 }, lagMs: -9_000, is: "suspect" },
  "a runner that the platform still brings up has longer": {
    seen: { runner: "starting", heard: false, silentMs: 30_000 },
    is: "suspect",
  },
  "but not without end": {
    seen: { runner: "starting", heard: false, silentMs: 60_000 },
    is: "unreachable",
  },
  "one that runs and was never heard has no longer than others": {
    seen: { runner: "running", heard: false, silentMs: 8_000 },
    is: "unreachable",
  },
  "one that its platform says to wait for a node or an image has not been silent": {
    seen: { runner: "starting", heard: false, waits: true, silentMs: 300_000 },
    is: "alive",
  },
  "unless its machine is cut off, for which there is nothing to be patient": {
    seen: { runner: "starting", heard: false, waits: true, cutOff: true, silentMs: 8_000 },
    is: "unreachable",
  },
  "one whose machine is cut off as well is unreachable at 5 s": {
    seen: { cutOff: true, silentMs: 5_000 },
    is: "unreachable",
  },
  "while it is heard the cluster may say of its machine what it wants": {
    seen: { cutOff: true, silentMs: 4_999 },
    is: "alive",
  },
  "a gone runner whose tofu lives may still write": {
    seen: { runner: "gone", workersAlive: 1 },
    is: "unreachable",
  },
  "nor is it dead while its processes cannot be counted": {
    seen: { runner: "gone", workersAlive: undefined },
    is: "unreachable",
  },
  "runner gone and no process left is proof": {
    seen: { runner: "gone", workersAlive: 0 },
    is: "dead",
  },
  "no process left with a living runner is an idle runner": {
    seen: { workersAlive: 0 },
    is: "alive",
  },
  "a machine that started anew took everything with it": {
    seen: { runner: "unknown", workersAlive: undefined, rebooted: true },
    is: "dead",
  },
};

test.each(Object.entries(cases))("%s", (_name, { seen, lagMs, is }) => {
  expect(judge({ ...heard, ...seen }, lagMs ?? 0)).toBe(is);
});
