import { setTimeout as sleep } from "node:timers/promises";
import { interrupt, kill, killProcess, type ProcessGroup, startGroup } from "../processes/group.ts";
import type { ProcessIdentity } from "../processes/identity.ts";
import { membersOf, readProcessTable } from "../processes/members.ts";
import type { Stopping } from "./stopping.ts";

/** One command of OpenTofu, to be run to its end in a process group of its own. */
export interface StepCommand {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Path without ending: `.json`, `.out`, `.err`, `.exit`, `.interrupted` are added. */
  readonly files: string;
  /** Undefined: no limit. */
  readonly limitMs: number | undefined;
  /** Time between the interrupt at the limit and the kill. */
  readonly graceMs: number;
  /** It may be writing state: it is not killed when we are told to shut down. */
  readonly writes: boolean;
  readonly stopping: Stopping;
  /** Value of NIGARI_RUN_TOKEN. */
  readonly token: string;
}

export interface StepEnd {
  /** 128 + signal if a signal ended it; undefined if it is not known. */
  readonly exitCode: number | undefined;
  /** What ended it: itself, the time limit, or a request to stop. */
  readonly by: "itself" | "limit" | "stop";
  /** It did not end after the interrupt and was killed. */
  readonly killed: boolean;
  /** The limit it had. */
  readonly limitMs: number | undefined;
  /** It still lives, because it may be writing and we have to go. */
  readonly abandoned: boolean;
}

/** How long the dying may take once they are killed. */
const KILL_MS = 5_000;
/** A timer beyond this, 24 days, would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * Runs a command to its end, which it reaches in bounds: by itself, at its limit, or when the run
 * is stopped. Then, and not before, everything else that bears the run's token is ended too: a
 * grandchild that stayed behind. Fails if the command cannot be started.
 */
export async function runStep(command: StepCommand): Promise<StepEnd> {
  const { argv, cwd, env, files } = command;
  const group = await startGroup({
    argv,
    cwd,
    env,
    stdout: `${files}.out`,
    stderr: `${files}.err`,
    identityFile: `${files}.json`,
    exitFile: `${files}.exit`,
  });
  const ended = endOf(group, command);
  const by = await firstOf(ended, command);
  const outcome =
    by === "itself" ? { killed: false, abandoned: false } : await stop(group, command, ended);
  // A process that hangs in the kernel outlives even the kill; it is not waited for.
  const wait = outcome.killed ? Promise.race([ended, sleep(KILL_MS, undefined)]) : ended;
  const exitCode = outcome.abandoned ? undefined : await wait;
  if (!outcome.abandoned) await endLeftovers(group.identity, command.token);
  return { exitCode, by, limitMs: command.limitMs, ...outcome };
}

/**
 * The command's end. If the wrapper was killed alone, the command goes on without it; that it has
 * ended is then seen from its group.
 */
async function endOf(group: ProcessGroup, command: StepCommand): Promise<number | undefined> {
  const exitCode = await group.ended;
  if (exitCode !== undefined) return exitCode;
  for (let empty = 0; empty < 2; ) {
    const others = await othersOf(group.identity, command.token);
    const goesOn = others.some((other) => other.group === group.identity.pid);
    empty = goesOn ? 0 : empty + 1;
    if (goesOn) await sleep(250);
  }
  return undefined;
}

async function firstOf(ended: Promise<unknown>, command: StepCommand): Promise<StepEnd["by"]> {
  const over = new AbortController();
  const { signal } = over;
  const limit =
    command.limitMs === undefined
      ? new Promise<never>(() => undefined)
      : passed(command.limitMs, signal).then(() => "limit" as const);
  try {
    return await Promise.race([
      ended.then(() => "itself" as const),
      limit,
      fired(command.stopping.signal, signal).then(() => "stop" as const),
    ]);
  } finally {
    over.abort();
  }
}

/** SIGINT once, the grace, SIGKILL; who may be writing is left alive if we are to shut down. */
async function stop(
  group: ProcessGroup,
  command: StepCommand,
  ended: Promise<unknown>,
): Promise<{ killed: boolean; abandoned: boolean }> {
  await interrupt(group.identity, command.token, `${command.files}.interrupted`);
  const over = new AbortController();
  const inTime = await Promise.race([ended.then(() => true), graceOver(command, over.signal)]);
  over.abort();
  if (inTime) return { killed: false, abandoned: false };
  if (command.writes && command.stopping.request?.by === "shutdown") {
    return { killed: false, abandoned: true };
  }
  await kill(group.identity, command.token, KILL_MS);
  return { killed: true, abandoned: false };
}

/** The grace of the request to stop, also if it comes while that of the time limit runs. */
async function graceOver({ stopping, graceMs }: StepCommand, signal: AbortSignal): Promise<false> {
  const asked = fired(stopping.signal, signal).then(() => stopping.request?.graceMs ?? graceMs);
  const graces = [asked.then((ms) => passed(ms, signal))];
  if (stopping.request === undefined) graces.push(passed(graceMs, signal));
  await Promise.race(graces);
  return false;
}

/**
 * Ends everything of the run but ourselves. The second look at nobody is to see who was born during
 * the first.
 */
async function endLeftovers(leader: ProcessIdentity, token: string): Promise<void> {
  const until = performance.now() + KILL_MS;
  for (let empty = 0; empty < 2 && performance.now() < until; ) {
    const others = await othersOf(leader, token);
    empty = others.length === 0 ? empty + 1 : 0;
    for (const other of others) killProcess(other);
    if (empty < 2) await sleep(others.length === 0 ? 1 : 20);
  }
}

async function othersOf(leader: ProcessIdentity, token: string) {
  const members = membersOf({ leaders: [leader], token }, await readProcessTable());
  return members.filter((member) => member.pid !== process.pid);
}

/** Resolves after the time; sooner, when nobody listens any more, with the signal. */
async function passed(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.min(ms, TIMER_MS_MAX), undefined, { signal }).catch(() => undefined);
}

/** Resolves when `signal` fires; never, once `over` has fired. */
function fired(signal: AbortSignal, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true, signal: over });
  });
}
