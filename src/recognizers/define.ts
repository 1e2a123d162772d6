import type { Place } from "../evidence/model.ts";

/**
 * A known failure as a typed declaration: what it is, what it only looks like, on which evidence,
 * and the safe cure. The check, the runbook page, the pointer and the lesson all come from it.
 * One file each, its test beside it; the list is src/recognizers/index.ts.
 */
export interface Recognizer<Facts extends object = object> {
  /** `<area>/<fact>`; equals the path of its file. */
  readonly id: string;
  /** Ids it had before. */
  readonly pastIds?: readonly string[];
  readonly since: string;
  readonly maturity: "trial" | "stable" | "retired";
  readonly severity: "failure" | "risk" | "wait";
  /** One sentence that begins "Checks for". */
  readonly summary: string;
  /** Parts of the knowledge it cannot do without: missing one makes it inconclusive. */
  readonly needs: readonly (keyof Facts)[];
  /** Parts that make its verdict stronger or richer. */
  readonly wants: readonly (keyof Facts)[];
  readonly lookAlikes: readonly { readonly id: string; readonly tellApart: string }[];
  /** More general findings that fold below this one when it is recognized for the same object. */
  readonly specialises?: readonly string[];
  /** Findings that usually come with it and are shown beside it. */
  readonly accompanies?: readonly string[];
  recognize(facts: Facts, asOfMs: number): Verdict;
  readonly remedies: readonly Remedy[];
  /** What people try and what does not help, with the reason. */
  readonly doesNotHelp: readonly string[];
  readonly defect?: Defect;
  readonly doc: {
    readonly meaning: string;
    readonly impact: string;
    readonly symptoms: readonly string[];
    readonly limits: string;
  };
  readonly firstSeen: string;
  /** Last checked against a real system, and which. */
  readonly lastVerified: { readonly on: string; readonly against: string };
  /** Lesson that brought it, by file name in docs/lessons_learned. */
  readonly origin?: string;
}

export type Verdict =
  | { readonly verdict: "recognized"; readonly findings: readonly Finding[] }
  | { readonly verdict: "ruled-out"; readonly why: string }
  | {
      readonly verdict: "inconclusive";
      readonly missing: readonly { readonly what: string; readonly command: string }[];
      readonly leaning?: string;
    };

/** One case of the failure: the objects it strikes, what is known, and where it is written. */
export interface Finding {
  /** `Kind/namespace/name`; cluster-wide ones `Kind/name`. */
  readonly objects: readonly string[];
  readonly facts: Readonly<Record<string, string | number | boolean | readonly string[]>>;
  readonly cites: readonly Cite[];
  /** When it began, as far as the evidence tells, RFC 3339. */
  readonly since: string | undefined;
}

export interface Cite {
  /** What is claimed, in words. */
  readonly says: string;
  readonly place: Place;
}

export interface Remedy {
  /** Imperative sentence; `{fact}` is filled in. */
  readonly do: string;
  /** Command, if it is one. */
  readonly command?: string;
  readonly risk: "read-only" | "reversible" | "disruptive" | "destructive";
  readonly precondition: string;
  readonly effect: string;
  /** What it costs. */
  readonly price: string;
  readonly undo: string;
  readonly verify: string;
}

export interface Defect {
  readonly what: string;
  readonly versions: string;
  readonly files: readonly string[];
  readonly references: readonly string[];
}

/** Types a declaration without losing its facts. */
export function defineRecognizer<Facts extends object>(
  recognizer: Recognizer<Facts>,
): Recognizer<Facts> {
  return recognizer;
}
