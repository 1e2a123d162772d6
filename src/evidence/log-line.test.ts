import { describe, expect, test } from "vitest";
import { type LineContext, readLogLine } from "./log-line.ts";

const at = Date.parse("2026-03-02T10:14:25.727Z");
const context = (more: Partial<LineContext> = {}): LineContext => ({
  ...{ origin: "x.log", line: 7, beforeMs: undefined, nearMs: undefined },
  ...more,
});

describe("a line of a log", () => {
  test("in JSON gives object, pass and error", () => {
    const line = readLogLine(
      '{"level":"error","ts":"2026-03-02T10:14:25.727Z","msg":"Reconciliation failed after 1s",' +
        '"controller":"terraform","namespace":"apps","name":"web","reconcileID":"4-2",' +
        '"error":"exit status 1"}',
      context(),
    );
    expect(line).toMatchObject({
      ...{ atMs: at, level: "error", object: "apps/web", reconcileId: "4-2", mark: "failure" },
      ...{ error: "exit status 1", place: { origin: "x.log", line: 7 } },
    });
  });

  test("in console encoding gives the same as in JSON", () => {
    const fields =
      '{"controller": "terraform", "namespace": "apps", "name": "web", "reconcileID": "4-2"}';
    const line = readLogLine(
      `2026-03-02T10:14:25.727Z\tINFO\tgenerated template\t${fields}`,
      context(),
    );
    expect(line).toMatchObject({ atMs: at, object: "apps/web", message: "generated template" });
    const named = readLogLine("2026-03-02T10:14:25.727Z\tDEBUG\tsetup\tstarting", context());
    expect(named).toMatchObject({ level: "debug", message: "starting" });
  });

  test.each([
    ["kubectl --timestamps", '2026-03-02T10:14:25.727Z {"msg":"hi","level":"info"}'],
    ["a container runtime", '2026-03-02T10:14:25.727+00:00 stdout F {"msg":"hi"}'],
    ["seconds since 1970", `{"ts":${at / 1_000},"msg":"hi"}`],
    ["plain Go", "2026/03/02 10:14:25.727 hi"],
  ])("takes its time from %s", (_, text) => {
    expect(readLogLine(text, context())).toMatchObject({ atMs: at, message: "hi" });
  });

  test("of klog is of the year that brings it nearest", () => {
    const text = 'E1231 23:59:59.000000       1 x.go:1] "it failed" err="no" lock="a/b"';
    const nearMs = Date.parse("2026-01-01T00:00:10Z");
    expect(readLogLine(text, context({ nearMs }))).toMatchObject({
      atMs: Date.parse("2025-12-31T23:59:59Z"),
      ...{ level: "error", message: "it failed", error: "no", fields: { lock: "a/b" } },
    });
  });

  test("without a time leans on the line before, and alone is none", () => {
    expect(readLogLine("goroutine 1 [running]:", context({ beforeMs: at }))?.atMs).toBe(at);
    expect(readLogLine("goroutine 1 [running]:", context())).toBeUndefined();
  });

  test("that is cut off still tells its first fields", () => {
    const whole =
      '{"level":"info","ts":"2026-03-02T10:14:25.727Z","msg":"generated template",' +
      '"namespace":"apps","name":"web","reconcileID":"4-2","more":"';
    expect(readLogLine(whole, context())).toMatchObject({
      ...{ atMs: at, message: "generated template", object: "apps/web", reconcileId: "4-2" },
    });
  });

  test("of a megabyte is read at once, and cut", () => {
    const startedMs = performance.now();
    const line = readLogLine(
      `{"ts":"2026-03-02T10:14:25.727Z","msg":"${"lease lock ".repeat(100_000)}"}`,
      context(),
    );
    expect(line?.message.length).toBeLessThan(1_000);
    expect(performance.now() - startedMs).toBeLessThan(500);
  });
});

test.each([
  ['"error retrieving resource lock"', "lease-trouble"],
  ["problem running manager: leader election lost", "leader-lost"],
  ["etcdserver: request timed out", "etcd-trouble"],
  ["http: Handler timeout", "api-server-trouble"],
  [
    "failed to download artifact, error: giving up after 10 attempt(s): i/o timeout",
    "artifact-unreachable",
  ],
  ["failed to download artifact from http://x, status: 404", "artifact-refused"],
  ['secrets "terraform-runner.tls-17" not found', "tls-secret-missing"],
  ["error acquiring the state lock", "state-lock-refused"],
  ["generated template", undefined],
])("%s is a sign of %s", (message, mark) => {
  const text = JSON.stringify({ ts: "2026-03-02T10:14:25.727Z", msg: message });
  expect(readLogLine(text, context())?.mark).toBe(mark);
});
