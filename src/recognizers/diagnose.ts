import { type Known, know, type Moment } from "../evidence/knowledge.ts";
import type { Evidence } from "../evidence/model.ts";
import { redactText } from "../evidence/redaction.ts";
import type { FactTable, Finding, Recognizer, Undecided, Verdict } from "./define.ts";
import { type Incident, incidentsOf } from "./incidents.ts";
import { judge } from "./judge.ts";
import { wellOf } from "./well.ts";

/** Everything that the doctor says of some evidence at a time. */
export interface Diagnosis {
  readonly asOfMs: number;
  /** `cluster`: it was read just now, and this is what its clock says. */
  readonly asOfFrom: "given" | "cluster" | "manifest" | "newest-time";
  readonly incidents: readonly Incident[];
  readonly findings: readonly JudgedFinding[];
  readonly notJudged: readonly NotJudged[];
  /** Id → why it is none of these. */
  readonly ruledOut: readonly { readonly id: string; readonly why: string }[];
  /** When each origin that is cited was read, as far as it is known. */
  readonly readAtMs: Evidence["readAtMs"];
  /** What is well, in a line. */
  readonly well: string;
  readonly exitCode: number;
}

export interface JudgedFinding extends Finding {
  /** Unique within the diagnosis: the id and what it is about. */
  readonly key: string;
  readonly recognizer: Recognizer;
  /** Key of the special finding that says the same of the same object. */
  readonly foldedInto: string | undefined;
}

export interface NotJudged extends Undecided {
  readonly recognizer: Recognizer;
}

/** Exit codes of the doctor: see docs/cli.md. */
export const exitCodes = { healthy: 0, failures: 1, incomplete: 2 } as const;

/** Asks every recognizer, folds what is said twice, and joins findings by their cause. */
export function diagnose(
  evidence: Evidence,
  moment: Moment & { readonly asOfFrom: Diagnosis["asOfFrom"] },
  list: readonly Recognizer[],
): Diagnosis {
  const known = know(evidence, moment);
  const verdicts = list.map((recognizer) => ({
    recognizer,
    verdict: judge(recognizer, known, moment),
  }));
  const findings = folded(verdicts.flatMap(findingsOf));
  const notJudged = verdicts.flatMap(notJudgedOf);
  return {
    asOfMs: moment.asOfMs,
    asOfFrom: moment.asOfFrom,
    incidents: incidentsOf(findings, moment.asOfMs),
    findings,
    notJudged,
    ruledOut: verdicts.flatMap(({ recognizer, verdict }) =>
      verdict.verdict === "ruled-out" ? [{ id: recognizer.id, why: verdict.why }] : [],
    ),
    readAtMs: evidence.readAtMs,
    well: wellOf(known, findings),
    exitCode: exitCode(findings, notJudged, known),
  };
}

type Judged = { readonly recognizer: Recognizer; readonly verdict: Verdict };

function findingsOf({ recognizer, verdict }: Judged): JudgedFinding[] {
  if (verdict.verdict !== "recognized") return [];
  return verdict.findings.map((finding) => ({
    ...finding,
    facts: withoutSecrets(finding.facts),
    recognizer,
    key: `${recognizer.id} ${finding.objects[0] ?? ""}`.trim(),
    foldedInto: undefined,
  }));
}

/** A fact may be what a program said, and a saved dump may hold that as it was. */
function withoutSecrets(facts: FactTable): FactTable {
  const shown = (value: FactTable[string]) =>
    typeof value === "string" ? redactText(value) : value;
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, shown(value)]));
}

function notJudgedOf({ recognizer, verdict }: Judged): NotJudged[] {
  if (verdict.verdict === "ruled-out") return [];
  return verdict.undecided.map((each) => ({ ...each, recognizer }));
}

/** The special shows, the general folds below it, where both speak of the same object. */
function folded(findings: readonly JudgedFinding[]): JudgedFinding[] {
  return findings.map((finding) => {
    const special = findings.find(
      (other) =>
        other.recognizer.specialises?.includes(finding.recognizer.id) === true &&
        other.objects.some((object) => finding.objects.includes(object)),
    );
    return special === undefined ? finding : { ...finding, foldedInto: special.key };
  });
}

/**
 * 1 if something has failed; else 2 if a failure could not be ruled out because something that is
 * read by habit is not there; else 0: waits and risks are no failures.
 */
function exitCode(
  findings: readonly JudgedFinding[],
  notJudged: readonly NotJudged[],
  known: Known,
): number {
  if (findings.some((each) => each.recognizer.severity === "failure")) return exitCodes.failures;
  const unread = notJudged.some(
    ({ recognizer, missing }) =>
      recognizer.severity === "failure" && missing.some((each) => each.usual),
  );
  return unread || known.terraforms === undefined ? exitCodes.incomplete : exitCodes.healthy;
}
