import { allCases } from "../recognizers/cases.ts";
import type { Recognizer, Remedy } from "../recognizers/define.ts";
import { workedExample } from "./example.ts";
import { code, escaped } from "./markdown.ts";

/** A file of the runbook: path below its folder, with slashes, and whole text. */
export interface RunbookFile {
  readonly path: string;
  readonly text: string;
}

/** First line of every page, by which one that nobody needs any more is told from other files. */
export const PAGE_MARK = "<!-- Rendered by nigari runbook render. Edit the recognizer instead. -->";

export const TROUBLESHOOTING = "troubleshooting.md";

/** Areas from what lies deepest up, as their ids begin, and what they are about. */
const areas: readonly { readonly prefix: string; readonly title: string }[] = [
  { prefix: "node", title: "Nodes" },
  { prefix: "control-plane", title: "Control plane" },
  { prefix: "network", title: "Network" },
  { prefix: "flux", title: "Sources and artifacts" },
  { prefix: "tofu", title: "Terraform objects, their runners and their controller" },
];

/** Every page: one for each recognizer, and one by area for all of them. */
export function runbookFiles(recognizers: readonly Recognizer[]): RunbookFile[] {
  return [
    { path: TROUBLESHOOTING, text: troubleshootingPage(recognizers) },
    ...recognizers.map((each) => ({ path: `${each.id}.md`, text: recognizerPage(each) })),
  ];
}

/** The page of one recognizer, from its declaration alone. Heading order is fixed. */
export function recognizerPage(recognizer: Recognizer): string {
  const { id, doc } = recognizer;
  const up = "../".repeat(id.split("/").length - 1);
  return page([
    PAGE_MARK,
    `# ${id}`,
    `${escaped(recognizer.summary)} ${kindOf(recognizer)}`,
    `Impact: ${escaped(doc.impact)}`,
    ...sections(recognizer, "##"),
    ...exampleOf(recognizer, "##", { facts: true }),
    `## Limits and history\n\n${escaped(doc.limits)}\n\n${historyOf(recognizer, `${up}../`)}`,
    `All known failures: [${TROUBLESHOOTING}](${up}${TROUBLESHOOTING})`,
  ]);
}

function troubleshootingPage(recognizers: readonly Recognizer[]): string {
  return page([PAGE_MARK, "# Troubleshooting", troubleshooting(recognizers, "##")]);
}

/**
 * All known failures by area, below headings of the given depth: what stands on its own page here,
 * and between markers in another repository's.
 */
export function troubleshooting(recognizers: readonly Recognizer[], heading: string): string {
  const found = areas
    .map(({ prefix, title }) => ({
      title,
      own: recognizers.filter((each) => each.id.startsWith(`${prefix}/`)),
    }))
    .filter(({ own }) => own.length > 0);
  return [
    `${heading} Look here first`,
    FIRST,
    symptomTable(recognizers),
    ...found.flatMap(({ title, own }) => [
      `${heading} ${title}`,
      ...own.flatMap((each) => entry(each, `${heading}#`)),
    ]),
  ].join("\n\n");
}

const FIRST = [
  "`nigari doctor` looks at the cluster of the current kubeconfig, says which of these failures it",
  "is and which it only looks like, and cites its evidence; `nigari doctor --bundle DUMP` does the",
  "same with a saved dump. `nigari explain ID` shows one of them in the terminal.",
].join("\n");

/** What a person sees, and where to read on: failures first, then what only looks like one. */
function symptomTable(recognizers: readonly Recognizer[]): string {
  const rows = (["failure", "risk", "wait"] as const).flatMap((severity) =>
    recognizers
      .filter((each) => each.severity === severity)
      .map(({ id, doc }) => {
        const symptom = escaped(doc.symptoms[0] ?? "");
        return `| ${symptom} | [${id}](#${anchorOf(id)}) | ${severity} |`;
      }),
  );
  return ["| You see | It may be | Kind |", "| --- | --- | --- |", ...rows].join("\n");
}

/** The anchor that GitHub makes of a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

function entry(recognizer: Recognizer, heading: string): string[] {
  return [
    `${heading} ${recognizer.id}`,
    `${escaped(recognizer.summary)} ${kindOf(recognizer)}`,
    ...sections(recognizer, `${heading}#`),
    ...exampleOf(recognizer, `${heading}#`, { facts: false }),
  ];
}

const kinds = {
  failure: "A failure: it does not end by itself.",
  risk: "A risk: nothing has failed by it yet.",
  wait: "A wait: nothing is wrong.",
} as const;
const kindOf = ({ severity }: Recognizer) => `**${kinds[severity]}**`;

function sections(recognizer: Recognizer, heading: string): string[] {
  const { doc, lookAlikes, remedies, doesNotHelp } = recognizer;
  const part = (title: string, text: string) => (text === "" ? [] : [`${heading} ${title}`, text]);
  return [
    ...part("Symptoms", bullets(doc.symptoms.map(escaped))),
    ...part(
      "What it is not",
      bullets(lookAlikes.map(({ id, tellApart }) => `${code(id)}: ${escaped(tellApart)}`)),
    ),
    ...part("Cause", causeOf(recognizer)),
    ...part("Fix", remedies.map(remedyText).join("\n")),
    ...part("Verify", bullets(verifications(remedies))),
    ...part("What does not help", bullets(doesNotHelp.map(escaped))),
  ];
}

function causeOf({ doc, defect }: Recognizer): string {
  if (defect === undefined) return escaped(doc.meaning);
  return [
    escaped(doc.meaning),
    `**The defect.** ${escaped(defect.what)}`,
    bullets([
      `Versions: ${escaped(defect.versions)}`,
      `Files: ${defect.files.map(code).join(", ")}`,
      `Upstream: ${defect.references.map((each) => `<${each}>`).join(", ")}`,
    ]),
  ].join("\n\n");
}

function remedyText(remedy: Remedy, index: number): string {
  const only = remedy.onlyIf === undefined ? "" : " (only if there are any)";
  const rows = [
    `Before: ${worded(remedy.precondition)}`,
    `Effect: ${worded(remedy.effect)}`,
    `Price: ${worded(remedy.price)}`,
    `Undo: ${worded(remedy.undo)}`,
    `Done when: ${worded(remedy.verify)}`,
  ];
  return [
    `${index + 1}. ${worded(remedy.do)} *${remedy.risk}*${only}`,
    ...(remedy.command === undefined
      ? []
      : ["", "   ```sh", `   ${placeholders(remedy.command)}`, "   ```", ""]),
    ...rows.map((row) => `   - ${row}`),
  ].join("\n");
}

/** What must hold after each step, each sign said once. */
function verifications(remedies: readonly Remedy[]): string[] {
  const signs = remedies.map(({ verify }) => worded(verify));
  return signs
    .filter((sign, index) => signs.indexOf(sign) === index)
    .map((sign) =>
      remedies.length === 1 ? sign : `After step ${signs.indexOf(sign) + 1}: ${sign}`,
    );
}

/** `{controllerPod}` is filled in during an incident; on a page it is a word to replace. */
const placeholders = (text: string) => text.replace(/\{(\w+)\}/g, (_, name) => placeholder(name));
const placeholder = (fact: string) => fact.replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase();

/** The same in prose. */
function worded(text: string): string {
  return text
    .split(/(\{\w+\})/)
    .map((part, index) => (index % 2 === 0 ? escaped(part) : code(placeholder(part.slice(1, -1)))))
    .join("");
}

function historyOf(recognizer: Recognizer, toDocs: string): string {
  const { firstSeen, lastVerified, since, maturity, origin, pastIds = [] } = recognizer;
  return bullets([
    `First seen ${firstSeen}; last verified ${lastVerified.on} against ${lastVerified.against}`,
    `In Nigari since ${since} (${maturity})`,
    ...(pastIds.length === 0 ? [] : [`Was called ${pastIds.map(code).join(", ")}`]),
    ...(origin === undefined
      ? []
      : [`Lesson: [${origin}](${toDocs}lessons_learned/${encodeURI(origin)})`]),
  ]);
}

/** The first case in which it is recognized. */
function exampleOf(
  recognizer: Recognizer,
  heading: string,
  shows: { readonly facts: boolean },
): string[] {
  const first = allCases[recognizer.id]?.recognized[0];
  if (first === undefined) return [];
  return [`${heading} Worked example`, workedExample(recognizer, first, shows)];
}

const bullets = (texts: readonly string[]) => texts.map((each) => `- ${each}`).join("\n");
const page = (parts: readonly string[]) => `${parts.join("\n\n")}\n`;

/** What stands in a repository's AGENTS.md, so that who looks there first finds the way. */
export function pointer(recognizers: readonly Recognizer[], link: string): string {
  const failures = recognizers.filter((each) => each.severity === "failure");
  const first = [
    "**Is something stuck, failing or slow in the cluster?** Before you restart, delete or debug",
    "anything, run `nigari doctor` (or `nigari doctor --bundle DUMP` on a saved dump) and read",
    `[${link}](${encodeURI(link)}): known failures, what only looks like them,`,
    "what cures them at which price, and what does not help. Known are:",
  ];
  const rows = failures.map(({ id, summary }) => `- ${code(id)}: ${escaped(short(summary))}`);
  return [first.join("\n"), rows.join("\n")].filter((each) => each !== "").join("\n\n");
}

/** "Checks for reconciles that …." → "reconciles that …". */
const short = (summary: string) => summary.replace(/^Checks for /, "").replace(/\.$/, "");
