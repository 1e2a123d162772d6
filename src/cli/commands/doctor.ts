import type { Evidence } from "../../evidence/model.ts";
import { type Diagnosis, diagnose } from "../../recognizers/diagnose.ts";
import { recognizers } from "../../recognizers/index.ts";
import { diagnosisJson } from "../../render/diagnosis-json.ts";
import { diagnosisMarkdown } from "../../render/diagnosis-markdown.ts";
import { diagnosisText } from "../../render/diagnosis-text.ts";
import { explanation } from "../../render/explanation.ts";
import { CliError, EXIT, type Shell } from "../world.ts";

/** Where evidence comes from. Main hands it in, loaded when it is needed. */
export interface EvidenceTools {
  /** Reads a saved dump; what is wrong with the path itself is an Error to be shown. */
  loadBundle(path: string, signal: AbortSignal): Promise<Evidence>;
}

export interface DoctorParts {
  readonly shell: Shell;
  evidence(): Promise<EvidenceTools>;
}

export interface DoctorFlags {
  readonly bundle: string | undefined;
  readonly asOf: string | undefined;
  readonly output: "text" | "json" | "markdown";
  readonly all: boolean;
}

/** Judges a saved dump and prints the diagnosis. Answers with its exit code. */
export async function doctor(
  { shell, evidence }: DoctorParts,
  flags: DoctorFlags,
): Promise<number> {
  if (flags.bundle === undefined) {
    throw new CliError(EXIT.usage, "Name a saved dump with --bundle PATH");
  }
  const given = flags.asOf === undefined ? undefined : Date.parse(flags.asOf);
  if (given !== undefined && Number.isNaN(given)) {
    throw new CliError(
      EXIT.usage,
      `--as-of "${flags.asOf}" is no time; write 2026-07-03T05:35:00Z`,
    );
  }
  const { loadBundle } = await evidence();
  const found = await loadBundle(flags.bundle, shell.interrupted).catch((error: unknown) => {
    if (shell.interrupted.aborted) throw error;
    const text = error instanceof Error ? error.message : String(error);
    throw new CliError(EXIT.usage, text);
  });
  const takenMs = found.taken?.atMs;
  const asOfMs = given ?? takenMs;
  if (asOfMs === undefined) {
    throw new CliError(EXIT.usage, `${flags.bundle} holds nothing with a time; give --as-of`);
  }
  const derived = found.taken?.from ?? "newest-time";
  const asOfFrom: Diagnosis["asOfFrom"] = given === undefined ? derived : "given";
  const diagnosis = diagnose(found, { asOfMs, takenMs: takenMs ?? asOfMs, asOfFrom }, recognizers);
  shell.out.write(rendered(diagnosis, flags, shell));
  return diagnosis.exitCode;
}

function rendered(diagnosis: Diagnosis, flags: DoctorFlags, { out }: Shell): string {
  if (flags.output === "json") return diagnosisJson(diagnosis);
  if (flags.output === "markdown") return diagnosisMarkdown(diagnosis);
  const columns = Math.min(out.isTerminal ? out.columns : 80, 100);
  return diagnosisText(diagnosis, { columns, colours: out.colours, all: flags.all });
}

/** Prints all that a recognizer declares. */
export function explain({ out }: Shell, id: string): number {
  const found = recognizers.find((each) => each.id === id || each.pastIds?.includes(id) === true);
  if (found === undefined) {
    const known = recognizers.map((each) => `  ${each.id}`).join("\n");
    throw new CliError(EXIT.usage, `There is no "${id}". There are:\n${known}`);
  }
  out.write(explanation(found, Math.min(out.isTerminal ? out.columns : 80, 100)));
  return EXIT.ok;
}
