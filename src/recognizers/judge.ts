import { type Known, type Part, parts } from "../evidence/knowledge.ts";
import type { JudgedAt, Missing, Recognizer, Verdict } from "./define.ts";

/** Judges with one recognizer: it sees what it declares, and is not asked without what it needs. */
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
  return recognizer.recognize(only(known, [...recognizer.needs, ...recognizer.wants]), moment);
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
