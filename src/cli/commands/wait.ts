import { formatDuration } from "../../api/duration.ts";
import { CONDITION } from "../../api/names.ts";
import type { Terraform } from "../../api/terraform.ts";
import type { LiveRun } from "../../ports/runs.ts";
import { type Context, keyIn, wordIn } from "../context.ts";
import { atRest, conditionOf, statusWord } from "../views/status.ts";
import { cut } from "../views/table.ts";
import { CliError, EXIT, type Output } from "../world.ts";

export interface WaitFlags {
  readonly wait: boolean;
  readonly timeoutMs: number;
}

const LOOK_MS = 250;

/** Watches an object until nothing is under way; on a terminal with a bar. 1 if it failed. */
export async function waitForRest(
  context: Context,
  name: string,
  flags: WaitFlags,
): Promise<number> {
  const { clock, out, interrupted } = context.shell;
  const key = keyIn(context, name);
  const word = wordIn(context, key);
  const startedMs = clock.monotonic();
  let before = "";
  while (!interrupted.aborted) {
    const object = await context.world.store.get({ kind: "Terraform", ...key }, context.call());
    if (object === undefined) {
      out.write(`${clear(out)}${name} is gone\n`);
      return EXIT.ok;
    }
    if (atRest(object)) return ended(out, object);
    const live = await context.world.live(key, context.call());
    const line = lineOf(object, live, clock.monotonic() - startedMs);
    if (out.isTerminal) out.write(`${clear(out)}${cut(line, out.columns - 1)}`);
    else if (words(object) !== before) out.write(`${line}\n`);
    before = words(object);
    if (clock.monotonic() - startedMs > flags.timeoutMs) {
      throw new CliError(
        EXIT.failed,
        `${word} is not at rest after ${formatDuration(flags.timeoutMs)}; it goes on: ` +
          `"nigari describe ${word}" says what it waits for`,
      );
    }
    await clock.sleep(LOOK_MS, interrupted);
  }
  return EXIT.interrupted;
}

const clear = (out: Output) => (out.isTerminal ? "\r\u001b[2K" : "");

function ended(out: Output, object: Terraform): number {
  const ready = conditionOf(object, CONDITION.ready);
  const { word, mood } = statusWord(object);
  out.write(`${clear(out)}${object.metadata.name}: ${word}: ${ready?.message ?? ""}\n`);
  return mood === "bad" ? EXIT.failed : EXIT.ok;
}

function words(object: Terraform): string {
  const run = object.status?.run;
  return [statusWord(object).word, run?.stage, run?.note, failureOf(object)].join(" ");
}

function lineOf(object: Terraform, live: LiveRun | undefined, elapsedMs: number): string {
  const run = object.status?.run;
  const stage = live?.stage ?? run?.stage;
  const parts = [object.metadata.name, statusWord(object).word];
  if (stage !== undefined) parts.push(stage);
  const bar = barOf(live);
  if (bar !== "") parts.push(bar);
  if (live !== undefined && live.inFlight.length > 0) parts.push(live.inFlight.join(", "));
  else if (run?.note !== undefined) parts.push(run.note);
  else if (run === undefined) parts.push(failureOf(object));
  parts.push(formatDuration(Math.floor(elapsedMs / 1_000) * 1_000));
  return parts.filter((part) => part !== "").join(" · ");
}

/** Between two attempts: why the last one failed. */
function failureOf(object: Terraform): string {
  const ready = conditionOf(object, CONDITION.ready);
  return ready?.status === "False" ? (ready.message.split("\n")[0] ?? "") : "";
}

/** "[####......] 4/10" */
export function barOf(live: LiveRun | undefined): string {
  if (live?.progress === undefined || live.progress.total === 0) return "";
  const { done, total } = live.progress;
  const full = Math.min(10, Math.round((done / total) * 10));
  return `[${"#".repeat(full)}${".".repeat(10 - full)}] ${done}/${total}`;
}
