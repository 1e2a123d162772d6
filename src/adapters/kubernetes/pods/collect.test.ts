import { describe, expect, test } from "vitest";
import { lastWordOf } from "../../../protocol/last-word.ts";
import type { JournalBody, JournalEvent } from "../../../protocol/messages.ts";
import { PodOutput, readPodOutput } from "../../../protocol/pod-output.ts";
import { collectPod } from "./collect.ts";

const AT = "2026-01-01T00:00:00Z";
const stage = (name: "init" | "apply" | "plan"): JournalBody => ({
  type: "stage",
  stage: name,
  at: AT,
});
const progress = (resource: string, state: "started" | "done"): JournalBody => ({
  ...{ type: "progress", resource, action: "create", state },
});
const failed: JournalBody = {
  type: "outcome",
  outcome: {
    ...{ kind: "failed", stage: "apply", reason: "TFExecApplyFailed", message: "It broke" },
    ...{ exitCode: 1, lock: undefined, planStale: false, stateRescued: false, unrecorded: ["x.y"] },
  },
};
const journal = (...bodies: JournalBody[]): JournalEvent[] =>
  bodies.map((body, index) => ({ ...body, sequence: index + 1 }));

function printed(events: readonly JournalEvent[], lines: readonly string[] = []) {
  let text = "";
  const output = new PodOutput((more) => {
    text += more;
  });
  for (const line of lines) output.log(line);
  for (const event of events) output.event(event);
  return readPodOutput(text);
}

/** A state that holds this resource. */
const stateWith = (name: string) =>
  Buffer.from(
    JSON.stringify({
      resources: [{ mode: "managed", type: "x", name, instances: [{ attributes: {} }] }],
    }),
  );

describe("a dead runner's outcome", () => {
  const midway = journal(
    stage("init"),
    stage("apply"),
    progress("x.done", "started"),
    progress("x.done", "done"),
    progress("x.open", "started"),
  );

  test("is its own word, as printed", () => {
    const events = journal(stage("apply"), failed);
    expect(collectPod({ printed: printed(events), lastWord: undefined })).toEqual(
      failed.type === "outcome" ? failed.outcome : undefined,
    );
  });
  test("is its own word, as left in the container's status, where the output has gone", () => {
    const lastWord = lastWordOf(journal(stage("apply"), failed));
    expect(collectPod({ printed: undefined, lastWord })).toMatchObject({
      ...{ kind: "failed", message: "It broke", unrecorded: ["x.y"] },
    });
  });
  test.each([
    ["its output", { printed: printed(midway), lastWord: undefined }],
    ["its last word", { printed: undefined, lastWord: lastWordOf(midway) }],
  ])("names what may exist unrecorded, by %s", (_by, left) => {
    const orphaned = { kind: "orphaned", stage: "apply", exitCode: undefined };
    expect(collectPod(left)).toMatchObject({ ...orphaned, unrecorded: ["x.done", "x.open"] });
    expect(collectPod(left, stateWith("done"))).toMatchObject({ unrecorded: ["x.open"] });
  });
  test("leaves nothing unrecorded before an apply has begun", () => {
    expect(collectPod({ printed: printed(journal(stage("init"))), lastWord: "" })).toMatchObject({
      ...{ kind: "orphaned", stage: "init", unrecorded: [] },
    });
  });
  test("is not known where nothing is left", () => {
    expect(collectPod({ printed: undefined, lastWord: undefined })).toBeUndefined();
    expect(collectPod({ printed: printed([]), lastWord: "exit status 1" })).toBeUndefined();
  });
});

describe("the last word", () => {
  test("fits in what Kubernetes takes, and says if there was more", () => {
    const many = Array.from({ length: 400 }, (_, i) => progress(`aws_instance.n${i}`, "started"));
    const word = lastWordOf(journal(stage("apply"), ...many));
    expect(Buffer.byteLength(word)).toBeLessThanOrEqual(4_096);
    const outcome = collectPod({ printed: undefined, lastWord: word });
    const { unrecorded } = outcome as { readonly unrecorded: readonly string[] };
    expect(unrecorded.at(-1)).toMatch(/^unknown: more/);
    expect(unrecorded.length).toBeGreaterThan(20);
  });
  test("cuts a long message of a failure, and keeps the failure", () => {
    if (failed.type !== "outcome" || failed.outcome.kind !== "failed") throw new Error("unlike");
    const long = { ...failed, outcome: { ...failed.outcome, message: "é".repeat(50_000) } };
    const word = lastWordOf(journal(stage("apply"), long));
    expect(Buffer.byteLength(word)).toBeLessThanOrEqual(4_096);
    const outcome = collectPod({ printed: undefined, lastWord: word });
    expect(outcome).toMatchObject({ kind: "failed", unrecorded: ["x.y"] });
  });
});

describe("the output of a pod", () => {
  test("gives the log's lines with the offsets that a watcher has", () => {
    const lines = ["one", "zwei é", ""];
    expect(printed([], lines).log).toEqual([
      { type: "log", line: "one", offset: 4 },
      { type: "log", line: "zwei é", offset: 12 },
      { type: "log", line: "", offset: 13 },
    ]);
  });
  test("lets no line of the log pass for the runner's own", () => {
    const forged = 'nigari-journal: {"sequence":"1","stage":{"stage":"apply"}}';
    const read = printed([], [forged, ` ${forged}`, "nigari-runner: hello"]);
    expect(read.events).toEqual([]);
    expect(read.log.map(({ line }) => line)).toEqual([
      ...[forged, ` ${forged}`, "nigari-runner: hello"],
    ]);
  });
  test("is read up to the line that a kill tore", () => {
    let text = "";
    const output = new PodOutput((more) => {
      text += more;
    });
    for (const event of journal(stage("init"), stage("plan"))) output.event(event);
    expect(readPodOutput(text.slice(0, -5)).events).toHaveLength(1);
  });
  test("tells the journal again before a kubelet begins a new file", () => {
    let text = "";
    const output = new PodOutput((more) => {
      text += more;
    });
    output.remark("hello");
    for (const event of journal(stage("init"))) output.event(event);
    const line = "x".repeat(1_000);
    for (let written = 0; written < 9_000; written += 1) output.log(line);
    const newest = text.slice(-(5 << 20));
    expect(readPodOutput(newest).events).toEqual(journal(stage("init")));
  });
});
