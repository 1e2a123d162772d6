import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bootId, identityOf } from "../../processes/identity.ts";
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

test("a run of which nobody is left stays dead, and is not looked for again", async () => {
  const runs = mkdtempSync(join(tmpdir(), "nigari-record-"));
  try {
    const record = new RunRecord(runs, "run-1");
    mkdirSync(record.folder.root);
    writeFileSync(record.folder.identity, JSON.stringify({ runId: "run-1", token: "70ad" }));
    expect(await record.look()).toMatchObject({ runner: "unknown", members: [] });
    const gone = { pid: 4_194_300, startTime: "1", bootId: bootId() };
    writeFileSync(record.folder.launch, JSON.stringify(gone));
    expect(await record.look()).toEqual({ runner: "gone", workers: [], members: [] });
    writeFileSync(record.folder.launch, JSON.stringify(identityOf(process.pid)));
    expect(record.glance()).toEqual({ runner: "gone", workers: [] });
    expect(await record.look()).toEqual({ runner: "gone", workers: [], members: [] });
  } finally {
    rmSync(runs, { recursive: true });
  }
});
