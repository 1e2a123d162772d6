import type { FactTable, Remedy } from "../recognizers/define.ts";
import type { JudgedFinding } from "../recognizers/diagnose.ts";

/** A remedy with its facts filled in. */
export interface FilledRemedy extends Remedy {
  /** Ids of the recognizers that ask for it. */
  readonly from: readonly string[];
}

/** The cure of some findings in order, each step once, those that do not apply left out. */
export function remediesOf(findings: readonly JudgedFinding[]): FilledRemedy[] {
  const steps = new Map<string, FilledRemedy>();
  for (const { recognizer, facts } of findings) {
    for (const remedy of recognizer.remedies) {
      if (remedy.onlyIf !== undefined && isEmpty(facts[remedy.onlyIf])) continue;
      const filled = fill(remedy, facts);
      const key = filled.command ?? filled.do;
      const known = steps.get(key);
      if (known === undefined) steps.set(key, { ...filled, from: [recognizer.id] });
      else if (!known.from.includes(recognizer.id)) {
        steps.set(key, { ...known, from: [...known.from, recognizer.id] });
      }
    }
  }
  return [...steps.values()];
}

/** An incident's cure: what acts, root first; looking around only where nothing else is to do. */
export function cureOf(findings: readonly JudgedFinding[]): FilledRemedy[] {
  const all = remediesOf(findings);
  const acts = all.filter((each) => each.look !== true);
  return acts.length > 0 ? acts : all;
}

/** What does not help against the failures of an incident, each once with all its reasons. */
export function uselessOf(findings: readonly JudgedFinding[]): string[] {
  const failures = findings.filter((each) => each.recognizer.severity === "failure");
  const all = new Set(failures.flatMap((each) => each.recognizer.doesNotHelp));
  const byAct = Map.groupBy(all, (each) => each.split(": ", 1)[0] ?? each);
  return [...byAct].map(([act, same]) => {
    if (same.length === 1) return same[0] ?? act;
    const reasons = same.map((each) => each.slice(act.length + 2).replace(/\.$/, ""));
    return `${act}: ${reasons.join("; ")}.`;
  });
}

/** Characters that mean nothing to a shell. Names of objects have no others. */
const PLAIN_WORD = /^[\w./:@=+-]+$/;

/**
 * One remedy with `{fact}` filled in; a fact that is not known stays as its name in capitals. So
 * does, in a command, one that a shell could take for more than a word: a dump may be anybody's,
 * and commands are copied.
 */
export function fill(remedy: Remedy, facts: FactTable): Remedy {
  const putInto = (text: string, fits: (word: string) => boolean) =>
    text.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = facts[name];
      const word = Array.isArray(value) ? value.join(", ") : String(value ?? "");
      return word !== "" && fits(word) ? word : name.toUpperCase();
    });
  const put = (text: string) => putInto(text, () => true);
  const putWord = (text: string) => putInto(text, (word) => PLAIN_WORD.test(word));
  return {
    ...remedy,
    do: put(remedy.do),
    ...(remedy.command === undefined ? {} : { command: putWord(remedy.command) }),
    precondition: put(remedy.precondition),
    effect: put(remedy.effect),
    price: put(remedy.price),
    undo: put(remedy.undo),
    verify: put(remedy.verify),
  };
}

const isEmpty = (value: FactTable[string] | undefined) =>
  value === undefined ||
  value === "" ||
  value === false ||
  (Array.isArray(value) && value.length === 0);
