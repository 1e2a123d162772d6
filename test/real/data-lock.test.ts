import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test } from "vitest";

const folder = join(import.meta.dirname, "../../src/adapters/system");
const program = `
  const { createClock } = await import(${JSON.stringify(`${folder}/clock.ts`)});
  const { createDataLock } = await import(${JSON.stringify(`${folder}/data-lock.ts`)});
  const [dataDir, waitMs] = process.argv.slice(1);
  const lock = createDataLock({ dataDir, command: "engine", version: "1" }, createClock());
  try {
    const lead = await lock.acquire({ signal: AbortSignal.timeout(Number(waitMs)) });
    // A runner's stand-in: born while the lock is held, it outlives its engine.
    const { spawn } = await import("node:child_process");
    const child = spawn("sleep", ["20"], { detached: true, stdio: "ignore" });
    console.log("leads " + lead.epoch + " child " + child.pid);
    setInterval(() => {}, 1000);
  } catch (error) {
    console.log(error.name + " " + error.message);
  }
`;

let dataDir: string;
let children: ChildProcess[];
let grandchildren: number[];
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "nigari-lock-"));
  children = [];
  grandchildren = [];
});
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  for (const pid of grandchildren) process.kill(pid, "SIGKILL");
  rmSync(dataDir, { recursive: true });
});

function engine(waitMs: number): { child: ChildProcess; word: Promise<string> } {
  const child = spawn(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", "-e", program, dataDir, String(waitMs)],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  children.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const word = lines.next().then((line) => {
    const [text, pid] = String(line.value).split(" child ");
    if (pid !== undefined) grandchildren.push(Number(pid));
    return text ?? "";
  });
  return { child, word };
}

test("a second process is turned away while the first lives, stopped or not", async () => {
  const first = engine(5_000);
  expect(await first.word).toBe("leads 1");
  expect(await engine(300).word).toContain(`NotLeader Another engine holds the data directory`);
  first.child.kill("SIGSTOP");
  expect(await engine(300).word).toContain(`pid ${first.child.pid}`);
});

test("SIGKILL frees the lock at once, and a surviving child does not hold it", async () => {
  const first = engine(5_000);
  expect(await first.word).toBe("leads 1");
  const second = engine(20_000);
  first.child.kill("SIGKILL");
  await once(first.child, "exit");
  expect(await second.word).toBe("leads 2");
});

test("of many that try at the same time one leads", async () => {
  const words = await Promise.all(Array.from({ length: 4 }, () => engine(1_500).word));
  expect(words.filter((word) => word.startsWith("leads"))).toHaveLength(1);
});
