import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runFolder } from "../../src/protocol/run-folder.ts";
import { type BenchEngine, isSettled } from "./engine.ts";

/**
 * Kills runners with SIGKILL in the middle of their plans; milliseconds until the object's status
 * says so: the runner dead, or another run in its place already.
 */
export async function deaths(engine: BenchEngine, kills: number): Promise<number[]> {
  const found: number[] = [];
  for (let number = 0; number < kills; number += 1) {
    const name = `mortal-${number}`;
    const planning = engine.until(name, ({ status }) => status?.run?.stage === "plan");
    await engine.create(name, { path: "slow" });
    const { status } = await planning;
    const runId = status?.run?.id ?? "";
    const pid = runnerPid(join(engine.dataDir, "runs", runId));
    const told = engine.until(name, (object) => {
      const { run } = object.status ?? {};
      return run?.id !== runId || run.verdict === "dead" || run.verdict === "unreachable";
    });
    const killed = performance.now();
    process.kill(pid, "SIGKILL");
    await told;
    found.push(performance.now() - killed);
    await engine.until(name, (object) => isSettled(object));
    await engine.remove(name);
  }
  return found;
}

function runnerPid(folder: string): number {
  const file = runFolder(folder).runner;
  if (!existsSync(file)) throw new Error(`No runner in ${folder}`);
  return (JSON.parse(readFileSync(file, "utf8")) as { pid: number }).pid;
}
