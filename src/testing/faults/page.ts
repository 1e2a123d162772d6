import { table } from "../../render/markdown.ts";
import {
  type Expected,
  expected,
  type FaultName,
  faults,
  faultTexts,
  type StageName,
  stages,
  stageText,
} from "./cells.ts";

const marks: Readonly<Record<Expected["is"], string>> = {
  recovered: "recovers",
  stalled: "stalls",
  impossible: "–",
};

/** docs/faults.md: what befalls a run in each stage, and what follows. */
export function faultsPage(): string {
  return [
    "# Faults: what befalls a run, and what follows",
    "",
    "<!-- Rendered from src/testing/faults/cells.ts by `npm run faults`. -->",
    "",
    "`npm run faults` goes through all of this on real processes: a whole engine, real runners " +
      "and OpenTofu, each run held in its stage by a file or by a proxy before the state door, " +
      "and struck there. What was done is judged by what the resources wrote down themselves, " +
      "outside of any state: no effect is lost, and none is had twice. Afterwards no place is " +
      "taken, no process lives, no folder is left.",
    "",
    "_recovers_: all goes on by itself. _stalls_: nothing does, and the status says why and " +
      "what a person can do. –: the cell cannot be.",
    "",
    table(
      ["stage", ...faults.map((fault) => faultTexts[fault].title)],
      stages.map((stage) => [
        `\`${stage}\``,
        ...faults.map((fault) => marks[expected(stage, fault).is]),
      ]),
    ),
    "",
    "The stages, when the fault strikes:",
    "",
    ...stages.map((stage) => `- \`${stage}\`: ${stageText[stage]}`),
    "",
    ...faults.flatMap(section),
  ]
    .join("\n")
    .trimEnd()
    .concat("\n");
}

function section(fault: FaultName): string[] {
  const { title, means, bound } = faultTexts[fault];
  const rows = groups(fault).map(([text, found]) => [
    found.map((stage) => `\`${stage}\``).join(", "),
    text,
  ]);
  return [`## ${title}`, "", means, "", bound, "", table(["in", "what follows"], rows), ""];
}

/** Stages with the same end, in the order of the stages. */
function groups(fault: FaultName): [string, StageName[]][] {
  const byText = new Map<string, StageName[]>();
  for (const stage of stages) {
    const what = expected(stage, fault);
    const text = what.is === "impossible" ? `– ${what.why}` : `${marks[what.is]}: ${what.then}`;
    byText.set(text, [...(byText.get(text) ?? []), stage]);
  }
  return [...byText];
}
