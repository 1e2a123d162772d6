import { know } from "../evidence/knowledge.ts";
import type { RecognizerCase } from "../recognizers/case.ts";
import type { Finding, Recognizer } from "../recognizers/define.ts";
import { judge } from "../recognizers/judge.ts";
import { stamp } from "../recognizers/words.ts";
import { code, escaped } from "./markdown.ts";

/**
 * A case as a worked example: what the evidence says, and what follows from it. It is judged here
 * and now, so the page shows what the recognizer does and not what somebody once wrote down.
 */
export function workedExample(
  recognizer: Recognizer,
  own: RecognizerCase,
  { facts }: { readonly facts: boolean },
): string {
  const { asOfMs } = own.scene;
  const moment = { asOfMs, takenMs: asOfMs };
  const verdict = judge(recognizer, know(own.scene.evidence(), moment), moment);
  if (verdict.verdict !== "recognized") {
    throw new Error(`The first case of ${recognizer.id} is not recognized: ${own.why}`);
  }
  const [first] = verdict.findings;
  if (first === undefined) throw new Error(`A case of ${recognizer.id} has no finding`);
  return [
    `A case that the tests run, judged as of ${stamp(asOfMs)}: ${escaped(own.why)}.`,
    citesOf(first),
    `So: **${escaped(first.says)}**`,
    ...(facts ? [factsOf(first)] : []),
  ].join("\n\n");
}

function citesOf({ cites }: Finding): string {
  return cites.map(({ says, place }) => `- ${escaped(says)} (${code(place.origin)})`).join("\n");
}

function factsOf({ facts }: Finding): string {
  const known = Object.entries(facts).filter(([, value]) => value !== "" && !isEmpty(value));
  const rows = known.map(([name, value]) => {
    const text = Array.isArray(value) ? value.join(", ") : String(value);
    return `| ${name} | ${escaped(text)} |`;
  });
  return ["| Fact | Here |", "| --- | --- |", ...rows].join("\n");
}

const isEmpty = (value: Finding["facts"][string]) => Array.isArray(value) && value.length === 0;
