import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Journal } from "../../protocol/journal.ts";
import { type JournalBody, orderToText } from "../../protocol/messages.ts";
import { type RunFolder, runFolder } from "../../protocol/run-folder.ts";
import { RunLog } from "../../protocol/run-log.ts";
import { bareOrder } from "../../testing/real-runner.ts";
import { collectRun, erroredState } from "./collect.ts";
import { capOutput } from "./orphan-output.ts";

let folder: RunFolder;
beforeEach(() => {
  folder = runFolder(mkdtempSync(join(tmpdir(), "nigari-collect-")));
});
afterEach(() => rmSync(folder.root, { recursive: true }));

const at = "2026-01-01T00:00:00Z";
const stage = (name: "init" | "plan" | "apply" | "outputs"): JournalBody => {
  return { type: "stage", stage: name, at };
};

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
/** The output of an apply in which these things happened. */
function output(...lines: [type: string, resource: string, action?: string][]): string {
  return lines
    .map(([type, addr, action = "create"]) =>
      JSON.stringify({
        "@level": "info",
        "@message": `${addr}: ${type}`,
        type,
        hook: { resource: { addr }, action },
      }),
    )
    .join("\n");
}
function step(name: string, files: { exit?: string; out?: string }): void {
  write(join(folder.steps, `${name}.json`), "{}");
  if (files.exit !== undefined) write(join(folder.steps, `${name}.exit`), `${files.exit}\n`);
  if (files.out !== undefined) write(join(folder.steps, `${name}.out`), files.out);
}
const orphaned = {
  kind: "orphaned",
  exitCode: undefined,
  unrecorded: [],
  stateRescued: false,
};

describe("what is told of a dead runner's run", () => {
  test("its own last word, if it had one", async () => {
    const outcome = { kind: "applied", outputs: undefined } as const;
    await new Journal(folder.journal).append(stage("apply"), { type: "outcome", outcome });
    expect(await collectRun(folder)).toEqual(outcome);
  });

  test("nothing but that it never began", async () => {
    expect(await collectRun(folder)).toEqual({ ...orphaned, stage: "launch" });
  });

  test("the exit code of the stage it was in", async () => {
    await new Journal(folder.journal).append(stage("init"), stage("plan"));
    step("init", { exit: "0" });
    step("plan", { exit: "2" });
    expect(await collectRun(folder)).toEqual({ ...orphaned, stage: "plan", exitCode: 2 });
  });

  test("an apply that came to its end leaves nothing unrecorded", async () => {
    await new Journal(folder.journal).append(stage("apply"));
    const out = output(["apply_start", "a.b"], ["apply_complete", "a.b"]);
    step("apply", { exit: "0", out });
    expect(await collectRun(folder)).toEqual({ ...orphaned, stage: "apply", exitCode: 0 });
  });

  test("an apply whose tofu was killed names what was under way and what it had made", async () => {
    await new Journal(folder.journal).append(stage("apply"));
    const out = output(
      ["apply_start", "a.made"],
      ["apply_start", "a.under_way"],
      ["apply_start", "a.removed", "delete"],
      ["apply_complete", "a.made"],
      ["apply_complete", "a.removed", "delete"],
      ["apply_start", "data.looked_up", "read"],
    );
    step("apply", { out: `${out}\n{"@level":"info","type":"apply_st` });
    const unrecorded = ["a.made", "a.under_way"];
    expect(await collectRun(folder)).toEqual({ ...orphaned, stage: "apply", unrecorded });
    // The wrapper outlived its tofu and wrote the signal down.
    step("apply", { exit: "137" });
    expect(await collectRun(folder)).toEqual({ ...orphaned, stage: "apply", unrecorded });
  });

  test("what is in the state by now is not named", async () => {
    await new Journal(folder.journal).append(stage("apply"));
    const out = output(["apply_complete", "a.made"], ["apply_complete", "a.recorded"]);
    step("apply", { out: `${out}\n${output(["apply_start", "a.under_way"])}` });
    const instances = [{ attributes: { id: "1" } }];
    const resources = [{ mode: "managed", type: "a", name: "recorded", instances }];
    const state = Buffer.from(JSON.stringify({ resources }));
    const told = { ...orphaned, stage: "apply", unrecorded: ["a.made", "a.under_way"] };
    expect(await collectRun(folder, state)).toEqual(told);
    const unreadable = Buffer.from("not JSON");
    const all = ["a.made", "a.recorded", "a.under_way"];
    expect(await collectRun(folder, unreadable)).toEqual({ ...told, unrecorded: all });
  });

  test("a panic of tofu is its own exit code, and what was under way is named", async () => {
    await new Journal(folder.journal).append(stage("apply"));
    step("apply", { exit: "2", out: output(["apply_start", "a.b"]) });
    const told = { ...orphaned, stage: "apply", exitCode: 2, unrecorded: ["a.b"] };
    expect(await collectRun(folder)).toEqual(told);
  });
});

describe("the log of an apply whose runner died", () => {
  const secret = "hunter22-hunter22";
  const made = output(["apply_start", "a.b"], ["apply_complete", "a.b"], ["apply_start", "a.c"]);
  const rest = output(["apply_complete", "a.c"], ["apply_start", `a.${secret}`]);
  const log = () => readFileSync(folder.log, "utf8").trimEnd().split("\n");
  beforeEach(async () => {
    write(folder.order, orderToText({ ...bareOrder, operation: "apply", sensitive: [secret] }));
    await new Journal(folder.journal).append(
      stage("apply"),
      { type: "progress", resource: "a.b", action: "create", state: "started" },
      { type: "progress", resource: "a.b", action: "create", state: "done" },
    );
    // What the runner had written: among it a line that came on stderr.
    const written = new RunLog(folder.log);
    for (const line of ["nigari: init", "a.b: apply_start", "nigari: apply"]) written.write(line);
    for (const line of ["a.b: apply_start", "Warning", "a.b: apply_complete"]) written.write(line);
    written.close();
  });
  const before = ["nigari: init", "a.b: apply_start", "nigari: apply", "a.b: apply_start"];
  const whole = [
    ...before,
    "Warning",
    "a.b: apply_complete",
    "a.c: apply_start",
    "a.c: apply_complete",
    "a.(sensitive value): apply_start",
  ];

  test("goes on where the runner stopped, masked, and ends with what became of it", async () => {
    step("apply", { out: `${made}\n${rest}\n`, exit: "0" });
    const told = "nigari: the runner died in apply, and OpenTofu ended with exit code 0";
    await collectRun(folder);
    expect(log()).toEqual([...whole, told]);
    await collectRun(folder);
    expect(log()).toEqual([...whole, told]);
  });

  test("is kept when a flood is cut off, and so is what was under way", async () => {
    write(folder.order, orderToText({ ...bareOrder, operation: "apply", outputLimitBytes: 2000 }));
    const noise = JSON.stringify({ "@level": "info", "@message": "x", type: "provision_progress" });
    step("apply", { out: `${made}\n${`${noise}\n`.repeat(100)}` });
    await capOutput(folder);
    expect(readFileSync(join(folder.steps, "apply.out"), "utf8")).toBe("");
    write(
      join(folder.steps, "apply.out"),
      output(["apply_complete", "a.c"], ["apply_start", "a.d"]),
    );
    expect(await collectRun(folder)).toMatchObject({ unrecorded: ["a.b", "a.c", "a.d"] });
    expect(log()).toContain("a.c: apply_start");
    expect(log()).toContain("a.c: apply_complete");
  });
});

describe("a state that tofu could not write", () => {
  const path = () => join(folder.work, "infra", "errored.tfstate");
  beforeEach(async () => {
    await new Journal(folder.journal).append(stage("apply"));
    write(folder.order, orderToText({ ...bareOrder, path: "infra" }));
    step("apply", { exit: "1" });
    mkdirSync(folder.files);
  });

  test("is kept among the run's files, once and for all", async () => {
    write(path(), '{"serial":7}');
    expect(await collectRun(folder)).toMatchObject({ stateRescued: true, exitCode: 1 });
    expect(readFileSync(join(folder.files, "errored.tfstate"), "utf8")).toBe('{"serial":7}');
    rmSync(path());
    expect(await collectRun(folder)).toMatchObject({ stateRescued: true });
  });

  test("is none of this run's if it came with the artifact", async () => {
    write(path(), "{}");
    utimesSync(path(), new Date(at), new Date(at));
    expect(erroredState(folder)).toBeUndefined();
    expect(await collectRun(folder)).toMatchObject({ stateRescued: false });
  });
});
