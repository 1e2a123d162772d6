import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { PROTOCOL_VERSION } from "../../src/protocol/run-folder.ts";

// proto-released/N holds the contract as version N had it, and is not changed any more once N is
// out. What runs in the field speaks it, and its words lie in run folders.

const root = join(import.meta.dirname, "../..");
const scratch = mkdtempSync(join(tmpdir(), "nigari-proto-"));
afterAll(() => rmSync(scratch, { recursive: true }));
const released = readdirSync(join(root, "proto-released"));

/** What buf says against the contract in `folder`, seen from that of a released version. */
function offences(folder: string, version: string): string {
  const buf = join(root, "node_modules/@bufbuild/buf/bin/buf");
  const against = join(root, "proto-released", version);
  // The same bytes, and the same JSON in order.json and the journal.
  const config = JSON.stringify({ version: "v2", breaking: { use: ["WIRE_JSON"] } });
  const args = [buf, "breaking", folder, "--against", against, "--config", config];
  const run = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  return run.status === 0 ? "" : run.stdout + run.stderr;
}

describe("the contract with the runner", () => {
  test.each(released)("can be read by version %s, and reads what that one wrote", (version) => {
    expect(offences(join(root, "proto"), version)).toBe("");
  });

  test("has its present version among the released ones", () => {
    expect(released).toContain(`${PROTOCOL_VERSION}`);
  });
});

describe("the check itself", () => {
  const changed = (from: string, to: string) => {
    const folder = mkdtempSync(join(scratch, "p-"));
    cpSync(join(root, "proto"), folder, { recursive: true });
    const file = join(folder, "runner.proto");
    const text = readFileSync(file, "utf8");
    expect(text).toContain(from);
    writeFileSync(file, text.replace(from, to));
    return offences(folder, `${PROTOCOL_VERSION}`);
  };

  test("refuses another number, another name and another type", () => {
    expect(changed("string boot_id = 4", "string boot_id = 14")).toContain("boot_id");
    expect(changed("string boot_id = 4", "string boot_mark = 4")).toContain("boot_id");
    expect(changed("uint32 pid = 5", "string pid = 5")).toContain("pid");
  });

  test("lets a field be added", () => {
    expect(changed("uint32 pid = 5;", "uint32 pid = 5;\n  string added = 15;")).toBe("");
  });
});
