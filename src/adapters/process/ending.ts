import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "../../ports/call.ts";
import { RunnerError } from "../../ports/runner.ts";
import { interrupt, killProcess } from "../../processes/group.ts";
import { type Member, readProcessTable } from "../../processes/members.ts";
import type { RunRecord } from "./record.ts";

/** Bound of a termination: what has not ended by then hangs in the kernel. */
const TERMINATE_MS = 10_000;

/** SIGINT to each group of workers that has not had one; the runner gets none. */
export async function interruptWorkers(run: RunRecord): Promise<void> {
  const token = run.identity()?.token;
  if (token === undefined) return;
  for (const { leader, interrupted } of run.groups()) await interrupt(leader, token, interrupted);
}

/**
 * SIGKILL to the runner alone: what it started goes on. Fails with RunnerError("DeadlineExceeded")
 * if it outlives the bound.
 */
export async function endRunner(run: RunRecord, call: Call): Promise<void> {
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(TERMINATE_MS)]);
  for (let runner = run.runner(); runner !== undefined && run.runnerLives(); ) {
    killProcess(runner);
    if (signal.aborted) {
      const message = `Runner ${runner.pid} of run ${run.runId} has not ended although killed`;
      throw new RunnerError("DeadlineExceeded", message, { cause: signal.reason });
    }
    await sleep(10);
    runner = run.runner();
  }
}

/**
 * SIGKILL to every process of the run until two looks in a row find none. Fails with
 * RunnerError("DeadlineExceeded") if a process outlives the bound.
 */
export async function terminateRun(run: RunRecord, call: Call): Promise<void> {
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(TERMINATE_MS)]);
  for (let empty = 0; empty < 2; ) {
    const members = run.membersIn(await readProcessTable());
    empty = members.length === 0 ? empty + 1 : 0;
    // The runner first: it must not start another step when it sees this one's end.
    const runner = run.runner();
    const isRunner = (member: Member) => member.pid === runner?.pid;
    for (const member of members.filter(isRunner)) killProcess(member);
    for (const member of members) if (!isRunner(member)) killProcess(member);
    if (signal.aborted && members.length > 0) {
      const pids = members.map((member) => member.pid).join(", ");
      const message = `Processes ${pids} of run ${run.runId} have not ended although killed`;
      throw new RunnerError("DeadlineExceeded", message, { cause: signal.reason });
    }
    await sleep(10);
  }
}
