import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";

const clockModule = join(import.meta.dirname, "../../src/adapters/system/clock.ts");
const program = `
  const { createClock } = await import(${JSON.stringify(clockModule)});
  const clock = createClock();
  process.stdin.on("data", () => console.log(Math.round(clock.lagMs())));
  console.log("ready");
`;
let stop: () => void = () => {};
afterEach(() => stop());

test("a process that was stopped for 3 s knows it in the first moment it runs again", async () => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  stop = () => child.kill("SIGKILL");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe("ready");
  await pause(300);
  child.kill("SIGSTOP");
  // The question lies in the pipe before the process wakes: it may be read before any timer fires.
  child.stdin.write("?\n");
  await pause(3_000);
  child.kill("SIGCONT");
  const lagMs = Number((await lines.next()).value);
  expect(lagMs).toBeGreaterThan(2_700);
  expect(lagMs).toBeLessThan(10_000);
  child.stdin.end();
  child.kill("SIGKILL");
  await once(child, "exit");
});
