import { join } from "node:path";
import type { Stage } from "../api/terraform.ts";
import type { Journal } from "../protocol/journal.ts";
import type { Mask } from "../protocol/masking.ts";
import type { JournalBody, PlanSummary, StartOrder } from "../protocol/messages.ts";
import type { RunFolder } from "../protocol/run-folder.ts";
import type { RunLog } from "../protocol/run-log.ts";
import {
  type Diagnostic,
  diagnosticText,
  lockIn,
  loggedAs,
  ProgressLedger,
  parseTofuLine,
  saysPlanStale,
  type TofuLine,
} from "../protocol/tofu-json.ts";
import { mayTellOutputs, outputsToldIn } from "../protocol/tofu-outputs.ts";
import { StageAbandoned, StageFailure, StageStopped } from "./failure.ts";
import { runStep, type StepEnd } from "./step.ts";
import { Stopping } from "./stopping.ts";
import { followFile } from "./tail.ts";

/** What all stages of one run work with. */
export interface RunContext {
  readonly order: StartOrder;
  readonly folder: RunFolder;
  readonly journal: Journal;
  readonly log: RunLog;
  readonly mask: Mask;
  readonly stopping: Stopping;
  /** Value of NIGARI_RUN_TOKEN. */
  readonly token: string;
}

export interface TofuCommand {
  readonly stage: Stage;
  /** Of the files below steps/; the stage if absent. */
  readonly name?: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /**
   * Of stdout: "ui" is OpenTofu's -json and drives log and progress, "text" goes to the log, and
   * "data" is a result and goes nowhere.
   */
  readonly output: "ui" | "text" | "data";
  /** Done even though the run was asked to stop, within this time. */
  readonly urgentMs?: number | undefined;
}

export interface TofuResult {
  readonly end: StepEnd;
  /** What it said in its defence, masked; empty if nothing. */
  readonly message: string;
  readonly lock: ReturnType<typeof lockIn>;
  readonly planStale: boolean;
  readonly ledger: ProgressLedger;
  /** Of a plan; undefined if it did not come to that, or if a flood took it away. */
  readonly summary: PlanSummary | undefined;
  /** What it gave out at its end, as `output -json` tells it; undefined if it told not all. */
  readonly outputs: string | undefined;
}

/** Between interrupt and kill at a stage's limit: an apply may have much to bring to an end. */
const GRACE_MS = 60_000;
const APPLY_GRACE_MS = 600_000;
/** Characters kept of stderr, and of the message made from it. */
const MESSAGE_LENGTH = 16 << 10;
/** Of one command; the first ones tell the cause. */
const ERRORS_MAX = 100;

/** Runs one command of OpenTofu; its output becomes log lines, progress and messages. */
export async function runTofu(context: RunContext, command: TofuCommand): Promise<TofuResult> {
  const { stage, cwd, env, output } = command;
  const { folder, order, stopping, token } = context;
  const writes = stage === "apply";
  const files = join(folder.steps, command.name ?? stage);
  const listener = new Listener(context);
  const shared = { limitBytes: order.outputLimitBytes, overlap: 4 * context.mask.lengthMax };
  const tails = [
    followFile({
      ...shared,
      path: `${files}.err`,
      onLine: (line) => listener.complaint(line),
      onLook: async () => undefined,
    }),
  ];
  if (output !== "data") {
    tails.push(
      followFile({
        ...shared,
        path: `${files}.out`,
        onLine: (line) => listener.line(line, output),
        onLook: () => listener.flush(),
      }),
    );
  }
  try {
    const end = await runStep({
      argv: [command.program, ...command.args],
      cwd,
      env,
      files,
      token,
      ...(command.urgentMs === undefined
        ? {
            limitMs: order.stageLimitMs[stage],
            graceMs: writes ? APPLY_GRACE_MS : GRACE_MS,
            writes,
            stopping,
          }
        : { limitMs: command.urgentMs, graceMs: 0, writes: false, stopping: new Stopping() }),
    });
    for (const tail of tails) await tail.finish();
    return listener.result(end);
  } finally {
    for (const tail of tails) await tail.finish();
    context.log.reportDropped();
  }
}

/**
 * Turns an end that was no success into the error that says so. `more` is what the stage itself
 * found out.
 */
export function failureOf(
  stage: Stage,
  result: TofuResult,
  more: { readonly stateRescued?: boolean; readonly unrecorded?: readonly string[] } = {},
): StageFailure | StageStopped | StageAbandoned {
  const { end, message, lock, planStale } = result;
  if (end.abandoned) return new StageAbandoned(`OpenTofu goes on with ${stage} by itself`);
  const nothingOpen = !more.stateRescued && (more.unrecorded ?? []).length === 0;
  if (end.by === "stop" && nothingOpen) return new StageStopped(stage, endText(stage, end));
  const said = [endText(stage, end), message].filter((text) => text !== "").join("\n");
  // Ended by a signal it did not say how it went.
  const exitCode = end.exitCode !== undefined && end.exitCode > 128 ? undefined : end.exitCode;
  return new StageFailure(stage, said, { exitCode, lock, planStale, ...more });
}

/** Empty if what OpenTofu said itself is enough. */
function endText(stage: Stage, { by, killed, exitCode, limitMs }: StepEnd): string {
  const limit = durationText(limitMs ?? 0);
  const how = killed ? "did not end when interrupted and was killed" : "was interrupted";
  if (by === "limit") return `The time limit of ${stage} (${limit}) passed: OpenTofu ${how}`;
  if (by === "stop") return `Stopped in ${stage}: OpenTofu ${how}`;
  if (exitCode === undefined) return "OpenTofu was killed, and its exit code is not known";
  if (exitCode > 128) return `OpenTofu was ended by signal ${exitCode - 128}`;
  return "";
}

/** 600000 is 10m, 1500 is 1.5s: as durations are written in the spec. */
function durationText(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  const seconds = (ms % 60_000) / 1_000;
  const parts = [minutes > 0 ? `${minutes}m` : "", seconds > 0 ? `${seconds}s` : ""];
  return parts.join("") || "0s";
}

/** Takes the lines of one command apart. */
class Listener {
  readonly #context: RunContext;
  readonly #ledger = new ProgressLedger();
  readonly #errors: Diagnostic[] = [];
  readonly #complaints: string[] = [];
  #complaintsLength = 0;
  #progress: JournalBody[] = [];
  #summary: PlanSummary | undefined;
  #outputs: string | undefined;

  constructor(context: RunContext) {
    this.#context = context;
  }

  line(text: string, output: "ui" | "text"): void {
    const { log } = this.#context;
    if (output === "text") {
      if (text.trim() !== "") log.write(text, "noise");
      return;
    }
    // A flood is not worth the reading: what a provisioner prints bears no result.
    if (mayTellOutputs(text)) this.#outputs = text;
    if (log.isFull && text.includes('"type":"provision_progress"')) log.write("", "noise");
    else this.#ui(parseTofuLine(text));
  }

  /** A line of stderr. */
  complaint(text: string): void {
    if (text.trim() === "") return;
    this.#context.log.write(text, "noise");
    // Whole lines, so that no secret is torn before it is masked.
    this.#complaints.push(text);
    this.#complaintsLength += text.length;
    while (this.#complaints.length > 1 && this.#complaintsLength > MESSAGE_LENGTH) {
      this.#complaintsLength -= this.#complaints.shift()?.length ?? 0;
    }
  }

  /** Journals what has gathered. On a full disk it is tried again; the command goes on. */
  async flush(): Promise<void> {
    const entries = this.#progress;
    this.#progress = [];
    try {
      await this.#context.journal.append(...entries);
    } catch {
      this.#progress.unshift(...entries);
    }
  }

  result(end: StepEnd): TofuResult {
    const texts = this.#errors.map(diagnosticText);
    const complaints = this.#complaints.join("\n");
    // With diagnostics stderr holds warnings at most; a panic leaves no diagnostics.
    const said = texts.length > 0 ? texts.join("\n\n").trim() : complaintOf(complaints);
    const code = end.exitCode === undefined ? "" : ` with exit code ${end.exitCode}`;
    const text = said === "" ? `OpenTofu ended${code} and said nothing` : said;
    // Not from details: a provisioner's output may stand there, and may say anything.
    const locked = this.#errors.find(({ summary }) => /\block/i.test(summary));
    return {
      end,
      message: cut(this.#context.mask.apply(text)),
      lock: lockIn(locked?.detail ?? (texts.length > 0 ? "" : complaints)),
      planStale: this.#errors.some(saysPlanStale),
      ledger: this.#ledger,
      summary: this.#summary,
      outputs: this.#outputs === undefined ? undefined : outputsToldIn(this.#outputs),
    };
  }

  #ui(line: TofuLine): void {
    this.#ledger.see(line);
    if (line.kind === "planned") this.#summary = line.summary;
    if (line.kind === "progress" && line.state !== "going") {
      const { resource, action, state } = line;
      this.#progress.push({ type: "progress", resource, action, state });
    }
    const isError = line.kind === "diagnostic" && line.diagnostic.severity === "error";
    if (isError && this.#errors.length < ERRORS_MAX) this.#errors.push(line.diagnostic);
    const logged = loggedAs(line);
    if (logged !== undefined) this.#context.log.write(logged.text, logged.weight);
  }
}

/** What init says before it comes to the point, of which a list shows the first line alone. */
const PREAMBLE =
  /^(Error: )?\w+ encountered problems during initiali[sz]ation,[\s\S]*?(?=^Error: )/m;

/** Diagnostics on stderr stand in a frame. */
export function complaintOf(stderr: string): string {
  const lines = stderr.split("\n").map((line) => line.replace(/^[╷│╵|]\s?/, "").trimEnd());
  return lines
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim()
    .replace(PREAMBLE, "");
}

function cut(text: string): string {
  return text.length <= MESSAGE_LENGTH ? text : `${text.slice(0, MESSAGE_LENGTH)}…`;
}
