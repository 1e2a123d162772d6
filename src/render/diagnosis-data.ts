import type { diagnosisData } from "./diagnosis-json.ts";

/** A diagnosis as its JSON has it. */
export type DiagnosisData = ReturnType<typeof diagnosisData>;
export type FindingData = DiagnosisData["findings"][number];
export type IncidentData = DiagnosisData["incidents"][number];

/** What was printed by `nigari doctor -o json`, or undefined if this is something else. */
export function readDiagnosis(text: string): DiagnosisData | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { asOf, incidents, findings, notJudged } = value as Record<string, unknown>;
  if (typeof asOf !== "string" || Number.isNaN(Date.parse(asOf))) return undefined;
  const isWhole =
    all(incidents, ["id", "root", "findings", "timeline"]) &&
    all(findings, ["key", "id", "severity", "says", "facts", "cites", "remedies"]) &&
    all(notJudged, ["id", "why", "missing"]);
  return isWhole ? (value as DiagnosisData) : undefined;
}

function all(value: unknown, fields: readonly string[]): boolean {
  return (
    Array.isArray(value) &&
    value.every(
      (each) => typeof each === "object" && each !== null && fields.every((name) => name in each),
    )
  );
}
