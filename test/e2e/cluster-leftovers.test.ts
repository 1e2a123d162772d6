import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { openCluster, startCluster } from "../../src/testing/cluster/cluster.ts";
import { tracesOf } from "../../src/testing/cluster/traces.ts";
import { noCluster } from "./support/shared.ts";

describe.skipIf(noCluster())("a cluster beside another one", () => {
  test("is cleared away by the next one if its owner is killed, and leaves no trace", async () => {
    const folder = mkdtempSync(join(tmpdir(), "nigari-leftovers-"));
    const orphaned = join(folder, "first");
    await startAndKillOwner(orphaned);
    const first = openCluster(orphaned);
    if (first === undefined) throw new Error("The child started no cluster");
    expect(tracesOf(first.plan).length).toBeGreaterThan(10);
    await first.node("a").freeze();

    const second = await startCluster({ folder: join(folder, "second"), images: [pause()] });
    try {
      expect(openCluster(orphaned)).toBeUndefined();
      // It took the very slot that was cleared: what is there now is its own.
      expect(second.plan.slot).toBe(first.plan.slot);
      expect(tracesOf(second.plan).length).toBeGreaterThan(10);
      expect(tracesOf(second.plan).filter((line) => line.includes(orphaned))).toEqual([]);
    } finally {
      await second.down();
    }
    expect(tracesOf(second.plan)).toEqual([]);
    rmSync(folder, { recursive: true, force: true });
  });
});

function pause(): string {
  return join(inject("archives"), "pause.tar");
}

async function startAndKillOwner(at: string): Promise<void> {
  const module = join(import.meta.dirname, "../../src/testing/cluster/cluster.ts");
  const options = { folder: at, images: [pause()], settings: { nodes: ["a"] } };
  const program = `
    const { startCluster } = await import(${JSON.stringify(module)});
    await startCluster(${JSON.stringify(options)});
    process.stdout.write("up");
    setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const said = await Promise.race([once(child.stdout, "data"), ended]);
  if (String(said[0]) !== "up") throw new Error(`The child ended with ${said[0]}`);
  child.kill("SIGKILL");
  await ended;
}
