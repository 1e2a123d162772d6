import { type Known, type Part, parts } from "../evidence/knowledge.ts";
import { redactText } from "../evidence/redaction.ts";
import type { FactTable, Finding, JudgedAt, Missing, Recognizer, Verdict } from "./define.ts";

/**
 * Judges with one recognizer: it sees what it declares, and is not asked without what it needs.
 * Whatever text of the evidence it hands on is made fit to be shown.
 */
export function judge(recognizer: Recognizer, known: Known, moment: JudgedAt): Verdict {
  const absent = recognizer.needs.filter((part) => known[part] === undefined);
  if (absent.length > 0) {
    const words = absent.map((part) => parts[part].says).join(" and ");
    const why = `It needs ${words}, which could not be read.`;
    return {
      verdict: "inconclusive",
      undecided: [{ objects: [], why, missing: absent.map(missing) }],
    };
  }
  const seen = only(known, [...recognizer.needs, ...recognizer.wants]);
  return presentable(recognizer.recognize(seen, moment));
}

/** What of a part is missing, with the command that gets it. */
export function missing(part: Part): Missing {
  const { says, command, usual } = parts[part];
  return { what: says, command, usual };
}

function only(known: Known, wanted: readonly Part[]): Known {
  return Object.fromEntries(
    wanted.flatMap((part) => (known[part] === undefined ? [] : [[part, known[part]]])),
  ) as Known;
}

/** No secret, and nothing that a terminal could take for a command. */
const shown = (text: string) => redactText(text.replace(/\p{Cc}+/gu, " "));

function presentable(verdict: Verdict): Verdict {
  if (verdict.verdict === "ruled-out") return { ...verdict, why: shown(verdict.why) };
  const undecided = verdict.undecided.map((each) => ({ ...each, why: shown(each.why) }));
  if (verdict.verdict === "inconclusive") return { ...verdict, undecided };
  return { ...verdict, undecided, findings: verdict.findings.map(presentableFinding) };
}

function presentableFinding(finding: Finding): Finding {
  return {
    ...finding,
    says: shown(finding.says),
    ...(finding.short === undefined ? {} : { short: shown(finding.short) }),
    facts: presentableFacts(finding.facts),
    cites: finding.cites.map(({ says, place }) => ({ says: shown(says), place })),
  };
}

function presentableFacts(facts: FactTable): FactTable {
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => {
      if (typeof value === "string") return [name, shown(value)];
      return [name, Array.isArray(value) ? value.map(shown) : value];
    }),
  );
}
