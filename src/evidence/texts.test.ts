import { expect, test } from "vitest";
import { GoroutineReader } from "./goroutine-text.ts";
import { readManifest } from "./manifest.ts";
import { readSample } from "./metrics-text.ts";

test("a sample is read with its labels, and one that nobody reads is not", () => {
  expect(readSample('workqueue_depth{controller="terraform",priority="-100"} 9')).toEqual({
    name: "workqueue_depth",
    labels: { controller: "terraform", priority: "-100" },
    value: 9,
  });
  expect(readSample("process_start_time_seconds 1.79603e+09")?.value).toBe(1.79603e9);
  expect(readSample("go_gc_duration_seconds 1")).toBeUndefined();
  expect(readSample("# HELP workqueue_depth x")).toBeUndefined();
});

test("goroutines that stand in the same place are counted together", () => {
  const reader = new GoroutineReader();
  const stack = (id: number, wait: string) => [
    `goroutine ${id} [select${wait}]:`,
    "github.com/x/runner.(*runnerClient).Init(0x148fec878730, {0x3530820, 0x1})",
    "\tgithub.com/x/runner.go:12 +0x1",
    "",
  ];
  for (const line of [...stack(1, ", 5 minutes"), ...stack(2, ""), "garbage"]) reader.add(line);
  expect(reader.finish()).toEqual([
    { count: 2, waitMinutes: 5, frames: ["github.com/x/runner.(*runnerClient).Init"] },
  ]);
});

test("a manifest tells what is lacking, and anything else is none", () => {
  const lacks = [{ what: "pods in a", why: "not-permitted", kind: "Pod", namespace: "a" }, 7];
  const takenAt = "2026-03-02T10:00:00Z";
  const manifest = readManifest({ kind: "NigariEvidence", takenAt, kinds: ["Pod", 3], lacks });
  expect(manifest).toMatchObject({ takenAt, kinds: ["Pod"], dropsRecorded: false });
  expect(manifest?.lacks).toMatchObject([{ why: "not-permitted", namespace: "a", detail: "" }]);
  expect(readManifest({ kind: "NigariEvidence", takenAt: "noon" })).toBeUndefined();
  expect(readManifest([])).toBeUndefined();
});
