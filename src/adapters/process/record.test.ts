import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RunRecord } from "./record.ts";

test("how a runner ended is known even if it cannot be written down", () => {
  const runs = mkdtempSync(join(tmpdir(), "nigari-record-"));
  try {
    const record = new RunRecord(runs, "run-1");
    // In the way of the file, as a full disk would be.
    mkdirSync(`${record.folder.end}.tmp`, { recursive: true });
    record.noteEnd({ proof: "killed by signal 9", at: "2026-01-01T00:00:00Z" });
    record.noteEnd({ proof: "process 7 is gone", at: "2026-01-01T00:00:01Z" });
    expect(record.end()?.proof).toBe("killed by signal 9");
  } finally {
    rmSync(runs, { recursive: true });
  }
});
