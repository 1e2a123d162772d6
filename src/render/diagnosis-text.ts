import { styleText } from "node:util";
import type { Diagnosis, JudgedFinding, NotJudged } from "../recognizers/diagnose.ts";
import type { Incident } from "../recognizers/incidents.ts";
import { clock, count, HARMLESS, stamp } from "../recognizers/words.ts";
import { cureOf, uselessOf } from "./remedies.ts";
import { wrappedCommand } from "./shell.ts";
import { wrapped } from "./wrap.ts";

export interface TextOptions {
  readonly columns: number;
  readonly colours: boolean;
  /** Every citation, not only the first of each finding. */
  readonly all: boolean;
}

/** Findings listed below one heading before the rest is only counted. */
const LISTED = 8;
/** Places of one finding that are shown; --all shows every one. */
const CITED = 3;

/** The diagnosis for a terminal. Colour is an extra: every meaning is in the words. */
export function diagnosisText(diagnosis: Diagnosis, options: TextOptions): string {
  const page = new Page(options);
  const { asOfMs, asOfFrom, incidents } = diagnosis;
  page.line(`As of ${stamp(asOfMs)} (${asOfWords[asOfFrom]}): ${summaryOf(diagnosis)}`);
  incidents.forEach((incident, index) => {
    writeIncident(page, incident, index + 1);
  });
  writeAlone(page, diagnosis);
  writeNotJudged(page, diagnosis.notJudged);
  page.gap();
  page.item("Well:", diagnosis.well, 0);
  page.sources(diagnosis.readAtMs);
  return page.text();
}

/** Where the time comes from that is judged. */
export const asOfWords: Readonly<Record<Diagnosis["asOfFrom"], string>> = {
  given: "as asked",
  cluster: "by the cluster's clock",
  manifest: "by the dump",
  "newest-time": "derived: the newest time in it",
};

/** Counts what is shown below: of risks and waits those that belong to no incident. */
function summaryOf({ incidents, findings, notJudged }: Diagnosis): string {
  const told = new Set(incidents.flatMap((each) => each.findings.map(({ key }) => key)));
  const shown = findings.filter((each) => each.foldedInto === undefined && !told.has(each.key));
  const usual = notJudged.filter((each) => each.missing.some((one) => one.usual)).length;
  const of = (severity: string) =>
    shown.filter((each) => each.recognizer.severity === severity).length;
  const said = [
    incidents.length === 0 ? "no failure" : count(incidents.length, "incident"),
    of("risk") === 0 ? "" : count(of("risk"), "risk"),
    of("wait") === 0 ? "" : count(of("wait"), "wait"),
    usual === 0 ? "" : `${usual} not judged`,
  ];
  return said.filter((each) => each !== "").join(", ");
}

function writeIncident(page: Page, incident: Incident, number: number): void {
  const { root, findings, timeline, struck } = incident;
  page.gap();
  page.heading(`INCIDENT ${number}`, "red", root.says + page.cite(root));
  if (struck > 1) page.line(`It strikes ${struck} objects.`, 2);
  for (const group of grouped(findings.filter((each) => each !== root))) page.group(group);
  writeDefects(page, findings);
  if (timeline.length > 0) {
    page.line("Time line", 2);
    for (const { atMs, says } of timeline) page.item(clock(atMs), says, 4);
  }
  writeCure(page, findings);
}

function writeDefects(page: Page, findings: readonly JudgedFinding[]): void {
  const told = new Set<string>();
  for (const { recognizer, facts } of findings) {
    const { defect } = recognizer;
    if (defect === undefined || told.has(recognizer.id) || recognizer.severity !== "failure")
      continue;
    told.add(recognizer.id);
    const version = facts.controllerVersion;
    const here = version === undefined || version === "unknown" ? "" : ` Here: ${version}.`;
    page.item("Defect:", `${defect.what} (${defect.versions}.)${here}`, 2);
  }
}

function writeCure(page: Page, findings: readonly JudgedFinding[]): void {
  const failed = findings.filter((each) => each.recognizer.severity !== "wait");
  const remedies = cureOf(failed);
  if (remedies.length > 0) page.line("Cure, in this order", 2);
  remedies.forEach((remedy, index) => {
    page.item(`${index + 1}.`, `${remedy.do} [${remedy.risk}]`, 4);
    if (remedy.command !== undefined) page.command(remedy.command, 7);
    const isGrave = /disruptive|destructive/.test(remedy.risk);
    if (isGrave) page.item("Only if:", remedy.precondition, 7);
    if (isGrave) page.item("Effect:", remedy.effect, 7);
    if (remedy.price !== HARMLESS) page.item("Price:", remedy.price, 7);
    if (remedy.risk === "destructive") page.item("Undo:", remedy.undo, 7);
    page.item("Done when:", remedy.verify, 7);
  });
  const useless = uselessOf(failed);
  if (useless.length > 0) page.line("Will not help", 2);
  for (const each of useless) page.item("-", each, 4);
}

/** Findings that belong to no incident: risks, then waits. */
function writeAlone(page: Page, { findings, incidents }: Diagnosis): void {
  const told = new Set(incidents.flatMap((each) => each.findings.map(({ key }) => key)));
  const alone = findings.filter((each) => each.foldedInto === undefined && !told.has(each.key));
  for (const severity of ["risk", "wait"] as const) {
    const own = alone.filter((each) => each.recognizer.severity === severity);
    if (own.length === 0) continue;
    page.gap();
    page.heading(severity === "risk" ? "RISKS" : "WAITS", "yellow", "");
    for (const group of grouped(own)) page.group(group);
  }
}

function writeNotJudged(page: Page, notJudged: readonly NotJudged[]): void {
  const usual = notJudged.filter((each) => each.missing.some(({ usual }) => usual));
  if (usual.length === 0) return;
  page.gap();
  page.heading("NOT JUDGED", "yellow", "");
  const lacking = usual.filter(isLacking);
  if (lacking.length > 0) writeLacking(page, lacking);
  const others = usual.filter((each) => !isLacking(each));
  const byWhy = Map.groupBy(others, (each) => `${each.why} ${each.missing[0]?.command ?? ""}`);
  for (const group of byWhy.values()) {
    const [first] = group;
    if (first === undefined) continue;
    page.item("-", `${group.map((each) => each.recognizer.id).join(", ")}: ${first.why}`, 2);
    const command = first.missing[0]?.command;
    if (command !== undefined) page.command(command, 4);
  }
}

const LIST = /^kubectl get ([a-z,]+)(?: -A)? -o json$/;

/** Whole kinds are missing, of which nothing could be judged. */
const isLacking = ({ objects, missing }: NotJudged) =>
  objects.length === 0 && missing.every(({ command }) => LIST.test(command));

/** What is lacking, told once, with the one command that gets it all. */
function writeLacking(page: Page, lacking: readonly NotJudged[]): void {
  const missing = lacking.flatMap((each) => each.missing);
  const what = [...new Set(missing.map((each) => each.what))].join(", ");
  const kinds = new Set(
    missing.flatMap(({ command }) => LIST.exec(command)?.[1]?.split(",") ?? []),
  );
  const ids = lacking.map((each) => each.recognizer.id).join(", ");
  page.item("-", `Not read: ${what}. A file of a dump may hold what this prints:`, 2);
  page.command(`kubectl get ${[...kinds].join(",")} -A -o json`, 4);
  page.line(`Without it there is no word on ${ids}.`, 4);
}

function grouped(findings: readonly JudgedFinding[]): JudgedFinding[][] {
  return [...Map.groupBy(findings, (each) => each.recognizer.id).values()];
}

/** Lines of the page, and the places that its numbers in brackets stand for. */
class Page {
  readonly #options: TextOptions;
  readonly #lines: string[] = [];
  readonly #places = new Map<string, number>();

  constructor(options: TextOptions) {
    this.#options = options;
  }

  line(text: string, indent = 0): void {
    this.#lines.push(...wrapped(text, this.#options.columns, indent, indent));
  }

  gap(): void {
    this.#lines.push("");
  }

  heading(word: string, colour: "red" | "yellow", text: string): void {
    const head = this.#options.colours
      ? styleText(["bold", colour], word, { validateStream: false })
      : word;
    const lines = wrapped(`${word}  ${text}`.trimEnd(), this.#options.columns, 0, 2);
    this.#lines.push(...lines.map((line, at) => (at === 0 ? line.replace(word, head) : line)));
  }

  item(head: string, text: string, indent: number): void {
    const { columns } = this.#options;
    this.#lines.push(...wrapped(`${head} ${text}`, columns, indent, indent + head.length + 1));
  }

  command(text: string, indent: number): void {
    this.#lines.push(...wrappedCommand(text, this.#options.columns, indent));
  }

  group(group: readonly JudgedFinding[]): void {
    const [first] = group;
    if (first === undefined) return;
    if (group.length === 1) {
      this.line(first.says + this.cite(first), 2);
      return;
    }
    this.line(`${group.length} ${first.recognizer.plural}:`, 2);
    for (const each of group.slice(0, LISTED)) {
      this.line((each.short ?? each.says) + this.cite(each), 4);
    }
    if (group.length > LISTED) this.line(`and ${group.length - LISTED} more`, 4);
    const sum = first.recognizer.sum?.(group);
    if (sum !== undefined) this.line(sum, 2);
  }

  /** Numbers of the places where a finding is written. */
  cite(finding: JudgedFinding): string {
    const places = new Set(
      finding.cites.map(({ place }) =>
        place.line === undefined ? place.origin : `${place.origin}:${place.line}`,
      ),
    );
    const shown = this.#options.all ? [...places] : [...places].slice(0, CITED);
    const numbers = shown.map((place) => {
      const number = this.#places.get(place) ?? this.#places.size + 1;
      this.#places.set(place, number);
      return number;
    });
    return numbers.length === 0 ? "" : ` [${numbers.join(",")}]`;
  }

  /** `readAtMs` tells when an origin was read, where that is known. */
  sources(readAtMs: Diagnosis["readAtMs"]): void {
    if (this.#places.size === 0) return;
    this.line("Evidence:");
    for (const [place, number] of this.#places) {
      const readMs = readAtMs.get(place) ?? readAtMs.get(place.replace(/:\d+$/, ""));
      const when = readMs === undefined ? "" : `, read ${clock(readMs)}`;
      this.item(`[${number}]`, place + when, 2);
    }
  }

  text(): string {
    return `${this.#lines.join("\n")}\n`;
  }
}
