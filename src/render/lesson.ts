import type { Recognizer } from "../recognizers/define.ts";
import { count } from "../recognizers/words.ts";
import type { DiagnosisData, FindingData, IncidentData } from "./diagnosis-data.ts";
import { code, escaped } from "./markdown.ts";

/** Headings that every lesson has, in this order. */
export const lessonParts = [
  "Summary",
  "Time line",
  "Root cause",
  "Aggravating and compounding factors",
  "Key symptoms",
  "Resolution",
  "Lessons",
  "Open questions",
] as const;

export interface Lesson {
  /** `YYYY_MM_DD_<slug>.md`; the incident's date. */
  readonly file: string;
  readonly text: string;
}

export interface LessonSource {
  readonly diagnosis: DiagnosisData;
  readonly incident: IncidentData;
  /** Saved evidence, as the lesson's file names it; undefined if a person has yet to reduce it. */
  readonly evidence: string | undefined;
}

/** A lesson as far as evidence tells it; what only people know is asked at its end. */
export function lessonDraft(source: LessonSource, recognizers: readonly Recognizer[]): Lesson {
  const story = storyOf(source, recognizers);
  const bodies: Record<(typeof lessonParts)[number], string> = {
    Summary: summary(story),
    "Time line": timeline(story),
    "Root cause": rootCause(story),
    "Aggravating and compounding factors": factors(story),
    "Key symptoms": symptoms(story),
    Resolution: resolution(story),
    Lessons: lessons(story),
    "Open questions": questions(story),
  };
  const head = [
    "---",
    `date: ${story.date}`,
    `incident: ${source.incident.id}`,
    "recognizers:",
    ...story.ids.map((id) => `  - ${id}`),
    `evidence: ${source.evidence ?? ""}`.trimEnd(),
    "---",
  ].join("\n");
  const parts = lessonParts.flatMap((part) => [`## ${part}`, bodies[part]]);
  return {
    file: `${story.date.replaceAll("-", "_")}_${story.slug}.md`,
    text: `${[head, `# ${story.date}: ${escaped(story.root.says)}`, ...parts].join("\n\n")}\n`,
  };
}

interface Story extends LessonSource {
  readonly date: string;
  readonly slug: string;
  readonly root: FindingData;
  /** Of the incident, root first. */
  readonly findings: readonly FindingData[];
  /** The failures of the incident; what the lesson is about comes first. */
  readonly failures: readonly FindingData[];
  /** Ids of all of the incident, what the lesson is about first; waits are no lesson. */
  readonly ids: readonly string[];
  readonly recognizers: ReadonlyMap<string, Recognizer>;
}

function storyOf(source: LessonSource, list: readonly Recognizer[]): Story {
  const { diagnosis, incident } = source;
  const byKey = new Map(diagnosis.findings.map((each) => [each.key, each]));
  const findings = incident.findings.flatMap((key) => byKey.get(key) ?? []);
  const root = byKey.get(incident.root) ?? findings[0];
  if (root === undefined) throw new Error(`Incident ${incident.id} names no finding`);
  const failures = findings.filter((each) => each.severity === "failure");
  // A known defect is what a lesson is about; a node that went down is only what set it off.
  const main = failures.find((each) => each.defect !== undefined) ?? failures[0] ?? root;
  const lasting = findings.filter((each) => each.severity !== "wait");
  return {
    ...source,
    date: (root.since ?? incident.timeline[0]?.at ?? diagnosis.asOf).slice(0, 10),
    slug: slugOf(main, root),
    ...{ root, findings, failures },
    ids: [...new Set([main.id, ...lasting.map((each) => each.id)])],
    recognizers: new Map(list.map((each) => [each.id, each])),
  };
}

function slugOf(main: FindingData, root: FindingData): string {
  const fact = (id: string) => id.replace("/", "_").replaceAll("-", "_");
  const own = fact(main.id.split("/")[1] ?? main.id);
  return main.id === root.id ? own : `${own}_after_${fact(root.id)}`;
}

function summary({ root, failures, findings, incident, diagnosis }: Story): string {
  const byId = Map.groupBy(findings, (each) => each.id);
  const rows = [...byId].map(([id, own]) => {
    const [first] = own;
    const text = own.length === 1 ? (first?.says ?? "") : `${own.length} findings of this kind.`;
    return `- ${code(id)} (${first?.severity}): ${escaped(text)}`;
  });
  const struck = count(incident.struck, "Terraform object");
  return [
    `${escaped(root.says)} ${struck} were struck; ${count(failures.length, "finding")} of the ` +
      `incident are failures. This is what the evidence said at ${diagnosis.asOf}:`,
    rows.join("\n"),
  ].join("\n\n");
}

function timeline({ incident, diagnosis }: Story): string {
  const rows = incident.timeline.map(({ at, says }) => `| ${at} | ${escaped(says)} |`);
  const last = `| ${diagnosis.asOf} | the evidence was read |`;
  return ["| Time (UTC) | What happened |", "| --- | --- |", ...rows, last].join("\n");
}

function rootCause({ failures, root, recognizers }: Story): string {
  const ids = [...new Set([...failures.map((each) => each.id), root.id])];
  return ids.map((id) => causeOf(id, recognizers.get(id))).join("\n\n");
}

function causeOf(id: string, recognizer: Recognizer | undefined): string {
  if (recognizer === undefined) return `${code(id)} is not known to this version of Nigari.`;
  const { defect, doc } = recognizer;
  if (defect === undefined) return `${code(id)}: ${escaped(doc.meaning)}`;
  return [
    `${code(id)}: ${escaped(doc.meaning)} ${escaped(defect.what)}`,
    [
      `- Versions: ${escaped(defect.versions)}`,
      `- Code: ${defect.files.map(code).join(", ")}`,
      `- Upstream: ${defect.references.map((each) => `<${each}>`).join(", ")}`,
    ].join("\n"),
  ].join("\n\n");
}

function factors({ findings, root, diagnosis, incident }: Story): string {
  const own = new Set(incident.findings);
  const risks = findings.filter((each) => each !== root && each.severity === "risk");
  const beside = diagnosis.findings.filter(
    (each) => !own.has(each.key) && each.severity !== "wait" && each.foldedInto === undefined,
  );
  const rows = [
    ...kinds(risks).map((text) => `- Part of the incident: ${text}`),
    ...kinds(beside).map((text) => `- At the same time, by another cause: ${text}`),
  ];
  return rows.length === 0 ? "- None that the evidence shows." : rows.join("\n");
}

/** One line per kind of finding, however many there are. */
function kinds(findings: readonly FindingData[]): string[] {
  return [...Map.groupBy(findings, (each) => each.id)].map(([id, own]) =>
    own.length === 1
      ? `${code(id)}: ${escaped(own[0]?.says ?? "")}`
      : `${code(id)}: ${own.length} times, such as: ${escaped(own[0]?.says ?? "")}`,
  );
}

function symptoms({ failures, recognizers }: Story): string {
  const ids = [...new Set(failures.map((each) => each.id))];
  const known = ids.flatMap((id) => recognizers.get(id)?.doc.symptoms ?? []);
  const seen = new Map(
    failures.slice(0, 3).flatMap(({ cites }) => cites.slice(0, 3).map((each) => [each.says, each])),
  );
  return [
    known.map((each) => `- ${escaped(each)}`).join("\n"),
    "As seen here:",
    [...seen.values()].map((each) => `- ${escaped(each.says)} (${code(each.origin)})`).join("\n"),
  ].join("\n\n");
}

function resolution({ findings }: Story): string {
  const steps = new Map<string, FindingData["remedies"][number]>();
  for (const { remedies, severity } of findings) {
    if (severity === "wait") continue;
    for (const each of remedies) {
      if (!steps.has(each.command ?? each.do)) steps.set(each.command ?? each.do, each);
    }
  }
  const useless = [...new Set(findings.flatMap((each) => each.doesNotHelp))];
  return [
    "The cure, in this order:",
    [...steps.values()]
      .map(({ do: act, command, price, verify }, index) =>
        [
          `${index + 1}. ${escaped(act)}`,
          ...(command === undefined ? [] : [`   - Command: ${code(command)}`]),
          `   - Price: ${escaped(price)}`,
          `   - Done when: ${escaped(verify)}`,
        ].join("\n"),
      )
      .join("\n"),
    "What does not help:",
    useless.map((each) => `- ${escaped(each)}`).join("\n"),
  ].join("\n\n");
}

function lessons({ failures, recognizers }: Story): string {
  const ids = [...new Set(failures.map((each) => each.id))];
  const apart = ids.flatMap((id) =>
    (recognizers.get(id)?.lookAlikes ?? []).map(
      (each) => `- ${code(id)} is not ${code(each.id)}: ${escaped(each.tellApart)}`,
    ),
  );
  return [
    "- `nigari doctor` knows this failure: run it before anything is restarted or deleted.",
    ...apart,
  ].join("\n");
}

function questions({ diagnosis, failures, evidence }: Story): string {
  const open = diagnosis.notJudged
    .filter((each) => each.severity === "failure")
    .map(({ id, why, missing }) => {
      const command = missing[0]?.command;
      const asked = command === undefined ? "" : ` ${code(command)}`;
      return `- Was it ${code(id)}, too? ${escaped(why)}${asked}`;
    });
  const since = failures[0]?.since;
  return [
    `- Who noticed it first, when and by what${since === undefined ? "" : `, after ${since}`}?`,
    "- What was tried, in which order, and what of it helped?",
    "- Was anything applied twice, lost or left locked by the cure?",
    "- What would have prevented it, and who will do that?",
    ...(evidence === undefined
      ? ["- Which evidence proves it? Reduce it, rename what is private, and name it above."]
      : []),
    ...new Set(open),
  ].join("\n");
}
