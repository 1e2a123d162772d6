import { existsSync, statSync } from "node:fs";
import { copyFile, open } from "node:fs/promises";
import { join } from "node:path";
import type { Stage } from "../../api/terraform.ts";
import type { RunOutcome } from "../../domain/facts.ts";
import { readExitFile } from "../../processes/group.ts";
import { moveDurably } from "../../protocol/durable.ts";
import { outcomeOf, readJournal } from "../../protocol/journal.ts";
import { stageOf, unrecordedOf } from "../../protocol/left-behind.ts";
import type { RunFolder } from "../../protocol/run-folder.ts";
import { ProgressLedger, readApplyTrace } from "../../protocol/tofu-json.ts";
import { continueOutput, orderIn } from "./orphan-output.ts";

/** Exit codes from here on are signals, as the wrapper's shell writes them. */
const SIGNALLED = 128;
/** Go's exit code of a panic: tofu had no say in it. */
const PANICKED = 2;

/**
 * What a dead run left. The caller has made sure that none of its processes lives, and hands in the
 * state as it is now if he can.
 */
export async function collectRun(folder: RunFolder, state?: Uint8Array): Promise<RunOutcome> {
  const events = readJournal(folder.journal);
  const outcome = outcomeOf(events);
  if (outcome !== undefined) return outcome;
  const stage = stageOf(events);
  const code = exitCodeOf(folder, stage);
  const lost = code === undefined || code >= SIGNALLED;
  const exitCode = lost ? undefined : code;
  // A full disk costs lines of the log, never the outcome.
  await continueOutput(folder, closingLine(stage, exitCode)).catch(() => undefined);
  return {
    kind: "orphaned",
    stage,
    exitCode,
    unrecorded: stage === "apply" ? await unrecorded(folder, lost || code === PANICKED, state) : [],
    stateRescued: await keepErroredState(folder),
  };
}

/**
 * The stage that a run came to whose runner is gone: each is journalled before any of it is done.
 * Undefined if its journal cannot be read.
 */
export function stageIn(folder: RunFolder): Stage | undefined {
  try {
    return stageOf(readJournal(folder.journal));
  } catch {
    return undefined;
  }
}

/** Whether the command of this step has ended: its wrapper wrote down how. */
export function hasEnded(folder: RunFolder, stage: Stage): boolean {
  return exitCodeOf(folder, stage) !== undefined;
}

function exitCodeOf(folder: RunFolder, stage: Stage): number | undefined {
  return readExitFile(join(folder.steps, `${stage}.exit`));
}

/** Whether the runner of this folder has an order: it is stored before it is acknowledged. */
export function hasOrder(folder: RunFolder): boolean {
  return existsSync(folder.order) || stageIn(folder) !== "launch";
}

function closingLine(stage: Stage, exitCode: number | undefined): string {
  const end = exitCode === undefined ? "was killed too" : `ended with exit code ${exitCode}`;
  return `nigari: the runner died in ${stage}, and OpenTofu ${end}`;
}

/** What tofu's own output tells beyond the journal counts too: it goes on when the runner dies. */
async function unrecorded(
  folder: RunFolder,
  lost: boolean,
  state: Uint8Array | undefined,
): Promise<string[]> {
  const ledger = ProgressLedger.of(readJournal(folder.journal));
  await readApplyTrace(join(folder.steps, "apply.out"), ledger);
  return unrecordedOf(ledger, lost, state);
}

/** Puts the state that tofu could not write among the run's files; true if there is one. */
async function keepErroredState(folder: RunFolder): Promise<boolean> {
  const kept = join(folder.files, "errored.tfstate");
  if (existsSync(kept)) return true;
  const left = erroredState(folder);
  if (left === undefined) return false;
  const beside = `${kept}.tmp`;
  await copyFile(left, beside);
  const file = await open(beside, "r+");
  await file.sync();
  await file.close();
  await moveDurably(beside, kept);
  return true;
}

/**
 * Path of the state that tofu could not write and left in its folder. One that is older than the
 * apply came with the artifact.
 */
export function erroredState(folder: RunFolder): string | undefined {
  const path = join(folder.work, orderIn(folder)?.path ?? ".", "errored.tfstate");
  const written = modifiedMs(path);
  const begun = modifiedMs(join(folder.steps, "apply.json"));
  return written !== undefined && begun !== undefined && written >= begun ? path : undefined;
}

function modifiedMs(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}
