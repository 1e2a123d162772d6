import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import {
  diagnosticText,
  lockIn,
  ProgressLedger,
  parseTofuLine,
  readApplyTrace,
  saysPlanStale,
} from "./tofu-json.ts";

const scratch = mkdtempSync(join(tmpdir(), "nigari-tofu-json-"));
afterAll(() => rmSync(scratch, { recursive: true }));

function hook(type: string, addr: string, action: string, more: object = {}): string {
  const resource = { addr, module: "", resource: addr };
  return JSON.stringify({
    "@level": "info",
    "@message": `${addr}: ${type}`,
    "@module": "tofu.ui",
    hook: { resource, action, ...more },
    type,
  });
}

function diagnostic(found: object): string {
  return JSON.stringify({
    "@level": "error",
    "@message": "Error: x",
    type: "diagnostic",
    diagnostic: found,
  });
}

describe("a line", () => {
  test("of progress names the resource, and what identifies the real thing", () => {
    const id = { id_key: "id", id_value: "i-1" };
    expect(parseTofuLine(hook("apply_complete", "a.b[0]", "create", id))).toEqual({
      kind: "progress",
      resource: "a.b[0]",
      action: "create",
      state: "done",
      identity: { key: "id", value: "i-1" },
      text: "a.b[0]: apply_complete",
    });
  });

  test("of a plan's end tells the counts; of an apply's, or with one missing, it is text", () => {
    const changes = { add: 2, change: 1, remove: 3, import: 4, operation: "plan" };
    const line = (counts: object) =>
      parseTofuLine(
        JSON.stringify({
          "@level": "info",
          "@message": "Plan",
          changes: counts,
          type: "change_summary",
        }),
      );
    const summary = { add: 2, change: 1, destroy: 3, import: 4 };
    expect(line(changes)).toEqual({ kind: "planned", summary, text: "Plan" });
    expect(line({ ...changes, operation: "apply" })).toMatchObject({ kind: "text" });
    expect(line({ ...changes, remove: undefined })).toMatchObject({ kind: "text" });
  });

  test("of a diagnostic is told with its place", () => {
    const line = parseTofuLine(
      diagnostic({
        severity: "error",
        summary: "Invalid value",
        detail: "It is not.",
        address: "a.b",
        range: { filename: "main.tf", start: { line: 7, column: 1, byte: 3 } },
        snippet: { code: "token = hunter2" },
      }),
    );
    const text = line.kind === "diagnostic" ? diagnosticText(line.diagnostic) : "";
    expect(text).toBe("Error: Invalid value (a.b at main.tf:7)\nIt is not.");
  });

  const texts: Record<string, { line: string; text: string; noise: boolean }> = {
    "that is no JSON, such as a panic, is text": {
      line: "panic: runtime error",
      text: "panic: runtime error",
      noise: false,
    },
    "that is torn is text": { line: '{"@level":"in', text: '{"@level":"in', noise: false },
    "of JSON that is not OpenTofu's is text": {
      line: '{"type":"apply_start"}',
      text: '{"type":"apply_start"}',
      noise: false,
    },
    "of a provisioner's output is noise": {
      line: hook("provision_progress", "a.b", "create"),
      text: "a.b: provision_progress",
      noise: true,
    },
    "of a kind that is not known is its message": {
      line: '{"@level":"info","@message":"New","type":"invented_later"}',
      text: "New",
      noise: false,
    },
    "of outputs is its message, never a value": {
      line: JSON.stringify({
        "@level": "info",
        "@message": "Outputs: 1",
        type: "outputs",
        outputs: { o: { value: "v" } },
      }),
      text: "Outputs: 1",
      noise: false,
    },
  };
  test.each(Object.entries(texts))("%s", (_, { line, text, noise }) => {
    expect(parseTofuLine(line)).toEqual({ kind: "text", text, noise });
  });
});

describe("the ledger", () => {
  const cases: Record<string, { lines: string[]; inFlight: string[]; created: string[] }> = {
    "begun and not ended is in flight": {
      lines: [hook("apply_start", "a", "create"), hook("apply_start", "b", "update")],
      inFlight: ["a", "b"],
      created: [],
    },
    "ended well or badly is not": {
      lines: [
        hook("apply_start", "a", "create"),
        hook("apply_start", "b", "create"),
        hook("apply_complete", "a", "create"),
        hook("apply_errored", "b", "create"),
      ],
      inFlight: [],
      created: ["a"],
    },
    "reading changes nothing": {
      lines: [hook("apply_start", "data.a", "read")],
      inFlight: [],
      created: [],
    },
    "a replacement whose old half is gone and whose new half is in the making": {
      lines: [
        hook("apply_start", "a", "delete"),
        hook("apply_complete", "a", "delete"),
        hook("apply_start", "a", "create"),
      ],
      inFlight: ["a"],
      created: [],
    },
    "create before destroy: the new one is there, the old one in flight": {
      lines: [
        hook("apply_start", "a", "create"),
        hook("apply_complete", "a", "create"),
        hook("apply_start", "a", "delete"),
      ],
      inFlight: ["a"],
      created: ["a"],
    },
    "a start that was cut off shows by its signs of life": {
      lines: [hook("apply_progress", "a", "create")],
      inFlight: ["a"],
      created: [],
    },
  };
  test.each(Object.entries(cases))("%s", (_, { lines, inFlight, created }) => {
    const ledger = new ProgressLedger();
    for (const line of lines) ledger.see(parseTofuLine(line));
    expect(ledger.inFlight()).toEqual(inFlight);
    expect([...ledger.created().keys()]).toEqual(created);
  });

  test("goes on from what the journal knew before the output file was cut", async () => {
    const ledger = ProgressLedger.of([
      { type: "stage", sequence: 1, stage: "apply", at: "" },
      { type: "progress", sequence: 2, resource: "a", action: "create", state: "started" },
      { type: "progress", sequence: 3, resource: "b", action: "create", state: "started" },
      { type: "progress", sequence: 4, resource: "b", action: "create", state: "done" },
    ]);
    const file = join(scratch, "apply.out");
    const torn = '_start","hook":{"resource":{"addr":"x"}}}\n';
    writeFileSync(file, `${torn}${hook("apply_start", "c", "create")}\n{"@lev`);
    const trace = await readApplyTrace(file, ledger);
    expect(trace.ledger.inFlight()).toEqual(["a", "c"]);
    expect([...trace.ledger.created().keys()]).toEqual(["b"]);
  });

  test("an output file that is not there tells nothing", async () => {
    const trace = await readApplyTrace(join(scratch, "none"), new ProgressLedger());
    expect(trace).toMatchObject({ errors: [] });
    expect(trace.ledger.inFlight()).toEqual([]);
  });
});

describe("a lock in the way", () => {
  const info = [
    "Error message: resource temporarily unavailable",
    "Lock Info:",
    "  ID:        898ff00b-b964",
    "  Path:      terraform.tfstate",
    "  Operation: OperationTypeApply",
    "  Who:       root@vm",
    "  Version:   1.12.6",
    "  Created:   2026-11-30 12:02:19.082779503 +0000 UTC",
    "  Info:      ",
  ];
  const expected = {
    id: "898ff00b-b964",
    operation: "OperationTypeApply",
    who: "root@vm",
    created: "2026-11-30T12:02:19.082Z",
    runId: undefined,
  };

  test("is read from a diagnostic", () => {
    expect(lockIn(info.join("\n"))).toEqual(expected);
  });

  test("is read from the frame that stderr puts around it", () => {
    expect(lockIn(info.map((line) => `│ ${line}`).join("\n"))).toEqual(expected);
  });

  test("an empty field does not borrow the next line", () => {
    const text = "Lock Info:\n  ID:        1\n  Who:       \n  Created:   x\n";
    expect(lockIn(text)).toMatchObject({ id: "1", who: "", created: "x" });
  });

  test("is not made up", () => {
    expect(lockIn("Error acquiring the state lock")).toBeUndefined();
    expect(lockIn("Lock Info:\n  ID:        \n")).toBeUndefined();
  });
});

const otherVersion =
  "Cannot read the plan from the given plan file: plan file was created by OpenTofu or Terraform " +
  "1.12.1, but this is 1.12.6; plan files cannot be transferred between different versions of " +
  "OpenTofu / Terraform.";
test.each([
  ["Saved plan is stale", "", true],
  ["Saved plan does not match the given state", "", true],
  ["Inconsistent dependency lock file", "", true],
  ["Failed to read plan from plan file", otherVersion, true],
  ["Failed to read plan from plan file", "Cannot read the plan: unexpected EOF", false],
  ["Invalid value", "", false],
])("whether only a new plan helps: %s %s", (summary, detail, stale) => {
  expect(saysPlanStale({ summary, detail })).toBe(stale);
});
