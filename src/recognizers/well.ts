import type { Known } from "../evidence/knowledge.ts";
import type { JudgedFinding } from "./diagnose.ts";
import { count } from "./words.ts";

/** What is well, in a line: objects, nodes, workers, control plane, as far as they were read. */
export function wellOf(known: Known, findings: readonly JudgedFinding[]): string {
  const named = new Set(findings.flatMap((each) => each.objects));
  const said: string[] = [];
  const { terraforms, nodes, workers } = known;
  if (terraforms !== undefined) {
    const well = terraforms.filter(
      (each) => !named.has(each.ref) && each.ready?.status === "True",
    ).length;
    said.push(`${well} of ${count(terraforms.length, "object")} Ready and without a finding`);
  }
  if (nodes !== undefined) {
    const ready = nodes.filter((each) => each.ready).length;
    said.push(`${ready} of ${count(nodes.length, "node")} Ready`);
  }
  for (const each of workers ?? []) {
    said.push(`${each.maximum - each.active} of ${each.maximum} workers free`);
  }
  const steady = !findings.some((each) => each.recognizer.id.startsWith("control-plane/"));
  if (known.controlPlane !== undefined && steady) said.push("control plane steady");
  return said.length === 0 ? "nothing could be read" : said.join(", ");
}
