import type { Readable } from "node:stream";
import { membersOf, readProcessTable } from "../processes/members.ts";
import { type HandedRun, handedRun, STANDBY_MS, STANDING_BY } from "../protocol/hand-over.ts";

export interface StandbyOptions {
  /** Where the run is told; it ends with the engine, however that ends. */
  readonly input: Readable;
  /** Fires when we are told to go (SIGTERM). */
  readonly shutdown: AbortSignal;
  /** One line for the log. */
  readonly say: (line: string) => void;
  /** How long to stand by at most. */
  readonly limitMs?: number;
}

/** More than any environment that a system lets a program be started with. */
const LINE_LENGTH_MAX = 16 << 20;

/**
 * Waits to be given a run. Undefined: there will be none, for the input has ended before a whole
 * line came, what came is no run, we are told to go, or the time is over. Half a line is nothing:
 * who wrote it has died, and what he meant is found in his store.
 */
export async function standBy(options: StandbyOptions): Promise<HandedRun | undefined> {
  const { input, shutdown, say, limitMs = STANDBY_MS } = options;
  const over = new AbortController();
  const timer = setTimeout(() => over.abort("the time is over"), limitMs);
  const told = () => over.abort("told to go");
  shutdown.addEventListener("abort", told, { once: true });
  if (shutdown.aborted) told();
  try {
    const read = readLine(input, over.signal);
    say(STANDING_BY);
    await lookAround();
    const line = await read;
    const run = line === undefined ? undefined : handedRun(line);
    if (run === undefined) say(`ending: no run was handed over (${reason(over.signal, line)})`);
    return run;
  } finally {
    clearTimeout(timer);
    shutdown.removeEventListener("abort", told);
    input.destroy();
  }
}

/**
 * Whose the processes of the machine are has to be known after each step of a run. Of those that
 * are there already it is found out now, while nobody waits.
 */
async function lookAround(): Promise<void> {
  membersOf({ leaders: [], token: "none" }, await readProcessTable());
}

function reason(over: AbortSignal, line: string | undefined): string {
  if (over.aborted) return String(over.reason);
  return line === undefined ? "the input has ended" : "what came is none";
}

/** The first line; undefined if the input or the wait ends before it is whole. */
function readLine(input: Readable, over: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = "";
    const end = () => resolve(undefined);
    if (over.aborted) end();
    over.addEventListener("abort", end, { once: true });
    input.on("error", end);
    input.on("end", end);
    input.on("close", end);
    input.setEncoding("utf8");
    input.on("data", (chunk: string) => {
      text += chunk;
      const at = text.indexOf("\n");
      if (at >= 0) resolve(text.slice(0, at));
      else if (text.length > LINE_LENGTH_MAX) end();
    });
  });
}
