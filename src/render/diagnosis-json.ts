import type { Diagnosis, JudgedFinding } from "../recognizers/diagnose.ts";
import { remediesOf } from "./remedies.ts";

/** The diagnosis as JSON; its schema is docs/doctor.schema.json. */
export function diagnosisJson(diagnosis: Diagnosis): string {
  return `${JSON.stringify(diagnosisData(diagnosis), null, 2)}\n`;
}

export function diagnosisData(diagnosis: Diagnosis) {
  return {
    asOf: iso(diagnosis.asOfMs),
    asOfFrom: diagnosis.asOfFrom,
    exitCode: diagnosis.exitCode,
    incidents: diagnosis.incidents.map((incident) => ({
      id: incident.id,
      root: incident.root.key,
      says: incident.root.says,
      struck: incident.struck,
      findings: incident.findings.map((each) => each.key),
      timeline: incident.timeline.map(({ atMs, says }) => ({ at: iso(atMs), says })),
    })),
    findings: diagnosis.findings.map((each) => findingData(each, diagnosis)),
    notJudged: diagnosis.notJudged.map(({ recognizer, objects, why, missing }) => ({
      id: recognizer.id,
      severity: recognizer.severity,
      objects,
      why,
      missing: missing.map(({ what, command }) => ({ what, command })),
    })),
    well: diagnosis.well,
  };
}

function findingData(finding: JudgedFinding, { readAtMs }: Diagnosis) {
  const { recognizer } = finding;
  const { defect } = recognizer;
  return {
    key: finding.key,
    id: recognizer.id,
    verdict: "recognized",
    severity: recognizer.severity,
    objects: finding.objects,
    says: finding.says,
    ...(finding.since === undefined ? {} : { since: finding.since }),
    facts: finding.facts,
    cites: finding.cites.map(({ says, place }) => {
      const readMs = readAtMs.get(place.origin);
      return {
        says,
        origin: place.origin,
        ...(place.line === undefined ? {} : { line: place.line }),
        ...(readMs === undefined ? {} : { readAt: iso(readMs) }),
      };
    }),
    causes: finding.causes,
    remedies: remediesOf([finding]).map(({ look, onlyIf, from, ...remedy }) => remedy),
    doesNotHelp: recognizer.doesNotHelp,
    ...(defect === undefined ? {} : { defect }),
    ...(finding.foldedInto === undefined ? {} : { foldedInto: finding.foldedInto }),
  };
}

const iso = (ms: number) => new Date(ms).toISOString();
