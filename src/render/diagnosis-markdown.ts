import type { Diagnosis, JudgedFinding } from "../recognizers/diagnose.ts";
import type { Incident } from "../recognizers/incidents.ts";
import { stamp } from "../recognizers/words.ts";
import { asOfWords } from "./diagnosis-text.ts";
import { code, escaped } from "./markdown.ts";
import { cureOf, uselessOf } from "./remedies.ts";

/** The diagnosis as Markdown, for an issue or a chat. Evidence is never taken as markup. */
export function diagnosisMarkdown(diagnosis: Diagnosis): string {
  const { asOfMs, asOfFrom, incidents, findings } = diagnosis;
  const told = new Set(incidents.flatMap((each) => each.findings.map(({ key }) => key)));
  const alone = findings.filter((each) => each.foldedInto === undefined && !told.has(each.key));
  const lines = [`# Diagnosis as of ${stamp(asOfMs)} (${asOfWords[asOfFrom]})`, ""];
  if (incidents.length === 0) lines.push("No failure was recognized.", "");
  incidents.forEach((incident, index) => {
    lines.push(...incidentLines(incident, index + 1));
  });
  for (const [severity, head] of [
    ["risk", "Risks"],
    ["wait", "Waits"],
  ] as const) {
    const own = alone.filter((each) => each.recognizer.severity === severity);
    if (own.length > 0) lines.push(`## ${head}`, "", ...own.flatMap(findingLines), "");
  }
  const usual = diagnosis.notJudged.filter((each) => each.missing.some((one) => one.usual));
  if (usual.length > 0) {
    lines.push("## Not judged", "");
    for (const { recognizer, why, missing } of usual) {
      const commands = missing.map((each) => code(each.command)).join(", ");
      lines.push(`- ${code(recognizer.id)}: ${escaped(why)} ${commands}`);
    }
    lines.push("");
  }
  lines.push(`Well: ${escaped(diagnosis.well)}.`);
  return `${lines.join("\n")}\n`;
}

function incidentLines(incident: Incident, number: number): string[] {
  const { root, findings, timeline } = incident;
  const remedies = cureOf(findings.filter((each) => each.recognizer.severity !== "wait"));
  const useless = uselessOf(findings);
  return [
    `## Incident ${number}: ${escaped(root.says)}`,
    "",
    ...findings.flatMap(findingLines),
    "",
    "### Time line",
    "",
    ...timeline.map(({ atMs, says }) => `- ${stamp(atMs)} ${escaped(says)}`),
    "",
    "### Cure, in this order",
    "",
    ...remedies.flatMap((remedy, index) => [
      `${index + 1}. ${escaped(remedy.do)} (${remedy.risk})`,
      ...(remedy.command === undefined ? [] : [`   - ${code(remedy.command)}`]),
      `   - Price: ${escaped(remedy.price)}`,
      `   - Done when: ${escaped(remedy.verify)}`,
    ]),
    "",
    "### Will not help",
    "",
    ...useless.map((each) => `- ${escaped(each)}`),
    "",
  ];
}

function findingLines(finding: JudgedFinding): string[] {
  const cites = finding.cites.map(({ says, place }) => {
    const where = place.line === undefined ? place.origin : `${place.origin}:${place.line}`;
    return `  - ${escaped(says)} (${code(where)})`;
  });
  return [`- **${finding.recognizer.id}** ${escaped(finding.says)}`, ...cites];
}
