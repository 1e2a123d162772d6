import type { Evidence, Gap } from "../../evidence/model.ts";
import type { Call } from "../../ports/call.ts";
import { oneLine } from "../../recognizers/cites.ts";
import { type Diagnosis, diagnose } from "../../recognizers/diagnose.ts";
import { recognizers } from "../../recognizers/index.ts";
import { count } from "../../recognizers/words.ts";
import { diagnosisJson } from "../../render/diagnosis-json.ts";
import { diagnosisMarkdown } from "../../render/diagnosis-markdown.ts";
import { diagnosisText } from "../../render/diagnosis-text.ts";
import { explanation } from "../../render/explanation.ts";
import { CliError, EXIT, type Shell } from "../world.ts";

/** Where evidence comes from. Main hands it in, loaded when it is needed. */
export interface EvidenceTools {
  /** Reads a saved dump; what is wrong with the path itself is an Error to be shown. */
  loadBundle(path: string, signal: AbortSignal): Promise<Evidence>;
  /** Reads a cluster. Fails with a CliError if there is no way to it. */
  readCluster(flags: ClusterFlags, call: Call): Promise<Evidence>;
  /** Saves a cluster's evidence, redacted, as an archive or folder. Fails with a CliError. */
  saveCluster(flags: ClusterFlags, path: string, call: Call): Promise<Saved>;
}

/** Which cluster: that of the current context, if neither is given. */
export interface ClusterFlags {
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
}

/** What was saved, and what could not be read. */
export interface Saved {
  readonly files: readonly { readonly path: string; readonly count: number }[];
  readonly lacks: readonly Gap[];
  /** Requests to the API server that it took. */
  readonly calls: number;
}

export interface DoctorParts {
  readonly shell: Shell;
  evidence(): Promise<EvidenceTools>;
}

export interface DoctorFlags extends ClusterFlags {
  readonly bundle: string | undefined;
  /** Where to keep the evidence that was judged, if it is a cluster's. */
  readonly save: string | undefined;
  readonly asOf: string | undefined;
  readonly output: "text" | "json" | "markdown";
  readonly all: boolean;
}

/** Judges a cluster or a saved dump and prints the diagnosis. Answers with its exit code. */
export async function doctor(parts: DoctorParts, flags: DoctorFlags): Promise<number> {
  const { shell } = parts;
  const given = flags.asOf === undefined ? undefined : Date.parse(flags.asOf);
  if (given !== undefined && Number.isNaN(given)) {
    throw new CliError(
      EXIT.usage,
      `--as-of "${flags.asOf}" is no time; write 2026-07-03T05:35:00Z`,
    );
  }
  const found = await evidenceFor(parts, flags);
  const takenMs = found.taken?.atMs;
  const asOfMs = given ?? takenMs;
  if (asOfMs === undefined) {
    const what = flags.bundle ?? "The cluster";
    throw new CliError(EXIT.usage, `${what} holds nothing with a time; give --as-of`);
  }
  const derived = flags.bundle === undefined ? "cluster" : (found.taken?.from ?? "newest-time");
  const asOfFrom: Diagnosis["asOfFrom"] = given === undefined ? derived : "given";
  const diagnosis = diagnose(found, { asOfMs, takenMs: takenMs ?? asOfMs, asOfFrom }, recognizers);
  shell.out.write(rendered(diagnosis, flags, shell));
  return diagnosis.exitCode;
}

/** A dump if one is named; else the cluster, saved first if that is asked for. */
async function evidenceFor({ shell, evidence }: DoctorParts, flags: DoctorFlags) {
  const tools = await evidence();
  const call = { signal: shell.interrupted };
  if (flags.bundle === undefined && flags.save === undefined) {
    return tools.readCluster(flags, call);
  }
  if (flags.bundle !== undefined && flags.save !== undefined) {
    throw new CliError(EXIT.usage, "--save keeps a cluster's evidence; --bundle is one already");
  }
  if (flags.save !== undefined) await tools.saveCluster(flags, flags.save, call);
  const path = flags.bundle ?? flags.save ?? "";
  return tools.loadBundle(path, shell.interrupted).catch((error: unknown) => {
    if (shell.interrupted.aborted) throw error;
    const text = error instanceof Error ? error.message : String(error);
    throw new CliError(EXIT.usage, text);
  });
}

/** Saves a cluster's evidence and says what was taken and what was not. */
export async function collect(
  { shell, evidence }: DoctorParts,
  path: string,
  flags: ClusterFlags,
): Promise<number> {
  const tools = await evidence();
  const { files, lacks, calls } = await tools.saveCluster(flags, path, {
    signal: shell.interrupted,
  });
  shell.out.write(`${path}: ${count(files.length, "file")}, ${count(calls, "request")}\n`);
  for (const { what, why, detail } of lacks) {
    shell.out.write(`lacks ${what} (${why}): ${oneLine(detail, 200)}\n`);
  }
  return lacks.every(({ why }) => why === "absent") ? EXIT.ok : EXIT.incomplete;
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
