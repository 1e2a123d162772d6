import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { type Lead, NotLeader } from "../../ports/leadership.ts";
import { createClock } from "./clock.ts";
import { createDataLock, readHolder } from "./data-lock.ts";

const clock = createClock();
afterAll(() => clock.close());
const soon = () => ({ signal: AbortSignal.timeout(300) });

let dataDir: string;
let leads: Lead[];
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "nigari-lock-"));
  leads = [];
});
afterEach(async () => {
  for (const lead of leads) await lead.release();
  rmSync(dataDir, { recursive: true });
});

async function acquire(command = "nigari up ."): Promise<Lead> {
  const lock = createDataLock({ dataDir, command, version: "1.2.3" }, clock);
  const lead = await lock.acquire(soon());
  leads.push(lead);
  return lead;
}

test("the epoch grows with every lead and outlives it", async () => {
  const first = await acquire();
  await first.release();
  const second = await acquire();
  await second.release();
  expect([first.epoch, second.epoch]).toEqual([1, 2]);
});

test("the second is turned away and told who holds it", async () => {
  await acquire("nigari up --wait .");
  const refusal = await acquire().catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(NotLeader);
  const { message } = refusal as NotLeader;
  expect(message).toContain(`pid ${process.pid} on `);
  expect(message).toContain('started as "nigari up --wait ."');
  expect(message).toMatch(/since 20\d\d-\d\d-\d\dT/);
});

test("who waits gets the lead once the holder gives it up", async () => {
  const first = await acquire();
  const lock = createDataLock({ dataDir, command: "second", version: "1.2.3" }, clock);
  const waiting = lock.acquire({ signal: AbortSignal.timeout(5_000) });
  await clock.sleep(50, new AbortController().signal);
  await first.release();
  leads.push(await waiting);
  expect(first.lost.aborted).toBe(true);
  expect((await readHolder(dataDir))?.command).toBe("second");
});

test("a damaged lock file keeps nobody out, and the epoch still grows", async () => {
  const first = await acquire();
  const holder = await readHolder(dataDir);
  await first.release();
  writeFileSync(join(dataDir, "engine.json"), JSON.stringify({ ...holder, epoch: 41 }));
  writeFileSync(join(dataDir, "lock.db"), "this is no database, and it is longer than a header");
  expect((await acquire()).epoch).toBe(42);
});

test("a lost lock.db alone does not turn the epoch back", async () => {
  const first = await acquire();
  const holder = await readHolder(dataDir);
  await first.release();
  rmSync(join(dataDir, "lock.db"));
  writeFileSync(join(dataDir, "engine.json"), JSON.stringify({ ...holder, epoch: 6 }));
  expect((await acquire()).epoch).toBe(7);
});

test("the lead is lost when the directory is replaced below the engine", async () => {
  const quick = { ...clock, sleep: (_: number, signal: AbortSignal) => clock.sleep(20, signal) };
  const lock = createDataLock({ dataDir, command: "x", version: "1" }, quick);
  const lead = await lock.acquire(soon());
  leads.push(lead);
  renameSync(join(dataDir, "lock.db"), join(dataDir, "moved.db"));
  await clock.sleep(2_000, lead.lost);
  expect(lead.lost.reason.message).toContain("was removed or replaced");
});
