import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { parseDocument } from "yaml";
import type { Recognizer } from "../../recognizers/define.ts";
import { diagnose } from "../../recognizers/diagnose.ts";
import { recognizers } from "../../recognizers/index.ts";
import { type IncidentData, readDiagnosis } from "../../render/diagnosis-data.ts";
import { lessonDraft, lessonParts } from "../../render/lesson.ts";
import { CliError, EXIT, type Shell } from "../world.ts";
import type { DoctorParts, EvidenceTools } from "./doctor.ts";

export interface DraftFlags {
  /** What `nigari doctor -o json` printed; "-" for standard input. */
  readonly from: string;
  /** Which incident, where there are several. */
  readonly incident: string | undefined;
  /** Saved evidence that the lesson shall name. */
  readonly evidence: string | undefined;
  /** Folder of the lessons. */
  readonly output: string;
}

/** Writes the draft of a lesson from a diagnosis. A lesson that is there is never overwritten. */
export async function lessonDraftFrom(shell: Shell, flags: DraftFlags): Promise<number> {
  const text = Buffer.from(await shell.readFile(flags.from)).toString("utf8");
  const diagnosis = readDiagnosis(text);
  if (diagnosis === undefined) {
    throw new CliError(EXIT.usage, `${flags.from} is none of what "nigari doctor -o json" prints`);
  }
  const incident = pick(diagnosis.incidents, flags.incident);
  const evidence =
    flags.evidence === undefined
      ? undefined
      : relative(flags.output, flags.evidence).split(sep).join("/");
  const lesson = lessonDraft({ diagnosis, incident, evidence }, recognizers);
  const file = join(flags.output, lesson.file);
  if ((await mkdir(flags.output, { recursive: true })) !== undefined) {
    await chmod(flags.output, 0o755);
  }
  try {
    await writeFile(file, lesson.text, { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new CliError(EXIT.usage, `${file} exists; people may have written in it. Move it away`);
  }
  await chmod(file, 0o644);
  shell.out.write(`made ${file}\n`);
  return EXIT.ok;
}

function pick(incidents: readonly IncidentData[], wanted: string | undefined): IncidentData {
  const ids = incidents.map((each) => each.id).join(", ");
  if (incidents.length === 0) {
    throw new CliError(EXIT.usage, "The diagnosis has no incident, so there is no lesson in it");
  }
  const found = wanted === undefined ? incidents : incidents.filter((each) => each.id === wanted);
  const [first, second] = found;
  if (first === undefined) {
    throw new CliError(EXIT.usage, `There is no incident "${wanted}"; there are: ${ids}`);
  }
  if (second !== undefined) {
    throw new CliError(EXIT.usage, `There are several incidents; give --incident, one of: ${ids}`);
  }
  return first;
}

/** Checks lessons; folders are looked through. Answers 1 and says why if one does not hold. */
export async function lessonCheck(
  { shell, evidence }: DoctorParts,
  paths: readonly string[],
): Promise<number> {
  const files = (await Promise.all(paths.map(lessonsIn))).flat();
  if (files.length === 0) throw new CliError(EXIT.usage, `No lesson in ${paths.join(", ")}`);
  const tools = await evidence();
  let wrong = 0;
  for (const file of files) {
    const found = await troubles(file, tools, shell.interrupted);
    wrong += found.length;
    for (const each of found) shell.out.error(`nigari: ${file}: ${each}\n`);
    if (found.length === 0) shell.out.write(`${file} holds\n`);
  }
  return wrong === 0 ? EXIT.ok : EXIT.failed;
}

async function lessonsIn(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw new CliError(EXIT.usage, `${path} does not exist`);
  if (found.isFile()) return [path];
  const names = await readdir(path);
  return names
    .filter((name) => /^\d{4}_\d\d_\d\d_.+\.md$/.test(name))
    .sort()
    .map((name) => join(path, name));
}

/** What the head of a lesson says. */
interface Head {
  readonly date: string;
  readonly recognizers: readonly string[];
  /** Each recognizer is recognized in one of these. */
  readonly evidence: readonly string[];
  /** An earlier lesson of the same failure, to which the recognizer points. */
  readonly repeats: string | undefined;
}

async function troubles(
  file: string,
  tools: EvidenceTools,
  signal: AbortSignal,
): Promise<string[]> {
  const text = await readFile(file, "utf8");
  const head = headOf(text);
  if (typeof head === "string") return [head];
  const missing = lessonParts.filter((part) => !text.includes(`\n## ${part}\n`));
  const byDate = basename(file).startsWith(`${head.date.replaceAll("-", "_")}_`);
  return [
    ...missing.map((part) => `it has no part "${part}"`),
    ...(byDate ? [] : [`its name does not begin with its date, ${head.date}`]),
    ...originTroubles(file, head),
    ...(await evidenceTroubles(file, head, tools, signal)),
  ];
}

function headOf(text: string): Head | string {
  const yaml = /^---\r?\n([\s\S]*?)\r?\n---\r?\n/.exec(text)?.[1];
  if (yaml === undefined) return "it does not begin with a head between lines of ---";
  const document = parseDocument(yaml, { logLevel: "silent" });
  if (document.errors.length > 0) return "its head is no YAML";
  const head = (document.toJS() ?? {}) as Record<string, unknown>;
  const names = Array.isArray(head.recognizers) ? head.recognizers.map(String) : [];
  if (typeof head.date !== "string" || !/^\d{4}-\d\d-\d\d$/.test(head.date)) {
    return "its head has no date, as 2026-07-03";
  }
  if (names.length === 0) return "its head names no recognizers";
  const evidence = [head.evidence].flat().filter((each) => typeof each === "string");
  if (evidence.length === 0) {
    return "its head names no evidence; reduce what proves it, and name it there";
  }
  const repeats = typeof head.repeats === "string" ? head.repeats : undefined;
  return { date: head.date, recognizers: names, evidence, repeats };
}

/** Each recognizer exists, and the one that the lesson is about points back. */
function originTroubles(file: string, head: Head): string[] {
  const unknown = head.recognizers
    .filter((id) => byId(id) === undefined)
    .map((id) => `there is no recognizer ${id}`);
  const [first = ""] = head.recognizers;
  const main = byId(first);
  const wanted = head.repeats ?? basename(file);
  if (main === undefined || main.origin === wanted) return unknown;
  const says = main.origin === undefined ? "names no lesson as its origin" : `names ${main.origin}`;
  return [...unknown, `recognizer ${first} ${says}; it should be ${wanted}`];
}

const byId = (id: string): Recognizer | undefined => recognizers.find((each) => each.id === id);

/** The lesson's own evidence is recognized as what it says. */
async function evidenceTroubles(
  file: string,
  head: Head,
  tools: EvidenceTools,
  signal: AbortSignal,
): Promise<string[]> {
  const found = new Set<string>();
  for (const path of head.evidence) {
    const judged = await idsIn(resolve(dirname(file), path), tools, signal);
    if (typeof judged === "string") return [`its evidence ${path} ${judged}`];
    for (const id of judged) found.add(id);
  }
  return head.recognizers
    .filter((id) => byId(id) !== undefined && !found.has(id))
    .map((id) => `its evidence is not recognized as ${id}`);
}

/** Ids of what is recognized in saved evidence, or what is wrong with it. */
async function idsIn(
  path: string,
  tools: EvidenceTools,
  signal: AbortSignal,
): Promise<readonly string[] | string> {
  try {
    const evidence = await tools.loadBundle(path, signal);
    const atMs = evidence.taken?.atMs;
    if (atMs === undefined) return "has no time";
    const moment = { asOfMs: atMs, takenMs: atMs, asOfFrom: "manifest" } as const;
    const { findings } = diagnose(evidence, moment, recognizers);
    return findings.map((each) => each.recognizer.id);
  } catch (error) {
    signal.throwIfAborted();
    return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}
