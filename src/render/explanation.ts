import type { Recognizer } from "../recognizers/define.ts";
import { wrapped } from "./wrap.ts";

/** All that a recognizer's declaration says, for a terminal. */
export function explanation(recognizer: Recognizer, columns: number): string {
  const lines: string[] = [];
  const part = (head: string, texts: readonly string[], bullet = false) => {
    if (texts.length === 0) return;
    lines.push("", head);
    for (const text of texts) {
      lines.push(...wrapped(bullet ? `- ${text}` : text, columns, 2, bullet ? 4 : 2));
    }
  };
  const { doc, defect } = recognizer;
  lines.push(`${recognizer.id} (${recognizer.severity}, ${recognizer.maturity})`);
  lines.push(...wrapped(recognizer.summary, columns, 0, 0));
  part("Symptoms", doc.symptoms, true);
  part(
    "What it is not",
    recognizer.lookAlikes.map((each) => `${each.id}: ${each.tellApart}`),
    true,
  );
  part("Meaning", [doc.meaning]);
  part("Impact", [doc.impact]);
  if (defect !== undefined) {
    part("Defect", [
      defect.what,
      `Versions: ${defect.versions}`,
      ...defect.files,
      ...defect.references,
    ]);
  }
  lines.push("", "Cure, in this order");
  recognizer.remedies.forEach((remedy, index) => {
    lines.push(...wrapped(`${index + 1}. ${remedy.do} [${remedy.risk}]`, columns, 2, 5));
    if (remedy.command !== undefined) lines.push(`     ${remedy.command}`);
    for (const [head, text] of [
      ["Before", remedy.precondition],
      ["Effect", remedy.effect],
      ["Price", remedy.price],
      ["Undo", remedy.undo],
      ["Done when", remedy.verify],
    ]) {
      lines.push(...wrapped(`${head}: ${text}`, columns, 5, 7));
    }
  });
  part("Will not help", recognizer.doesNotHelp, true);
  part("Limits", [doc.limits]);
  const { on, against } = recognizer.lastVerified;
  part("History", [
    `First seen ${recognizer.firstSeen}. Last verified ${on} against ${against}.`,
    ...(recognizer.origin === undefined
      ? []
      : [`Lesson: docs/lessons_learned/${recognizer.origin}`]),
  ]);
  return `${lines.join("\n")}\n`;
}
