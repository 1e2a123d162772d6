import type { Knowledge, Known, Part } from "../evidence/knowledge.ts";
import type { Place } from "../evidence/model.ts";

/**
 * A known failure as a typed declaration: what it is, what it only looks like, on which evidence,
 * and the safe cure. The check, the runbook page, the pointer and the lesson all come from it.
 * One file each, its test beside it; the list is src/recognizers/index.ts.
 */
export interface Recognizer {
  /** `<area>/<fact>`; equals the path of its file. */
  readonly id: string;
  /** Ids it had before. */
  readonly pastIds?: readonly string[];
  readonly since: string;
  readonly maturity: "trial" | "stable" | "retired";
  readonly severity: "failure" | "risk" | "wait";
  /** One sentence that begins "Checks for". */
  readonly summary: string;
  /** What several findings have in common, after their number: "objects are …". */
  readonly plural: string;
  /** A sentence that counts what its findings come to; shown below them. */
  sum?(findings: readonly Finding[]): string | undefined;
  /** Parts of the knowledge it cannot do without: missing one makes it inconclusive. */
  readonly needs: readonly Part[];
  /** Parts that make its verdict stronger or richer. */
  readonly wants: readonly Part[];
  readonly lookAlikes: readonly { readonly id: string; readonly tellApart: string }[];
  /** More general findings that fold below this one when it is recognized for the same object. */
  readonly specialises?: readonly string[];
  /** Findings that usually come with it and are shown beside it. */
  readonly accompanies?: readonly string[];
  /** Pure. Sees the parts it declares and nothing else; needs are there, or it is not called. */
  recognize(known: Known, moment: JudgedAt): Verdict;
  /** Harmless before risky. */
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
  /** Day of the incident that brought it, as 2026-07-03. */
  readonly firstSeen: string;
  /** Last checked against a real system, and which. */
  readonly lastVerified: { readonly on: string; readonly against: string };
  /** Lesson that brought it, by file name in docs/lessons_learned. */
  readonly origin?: string;
}

export interface JudgedAt {
  /** Milliseconds since 1970. */
  readonly asOfMs: number;
}

export type Verdict = Recognized | RuledOut | Inconclusive;

export interface Recognized {
  readonly verdict: "recognized";
  readonly findings: readonly Finding[];
  /** Objects for which something was missing. */
  readonly undecided: readonly Undecided[];
}
export interface RuledOut {
  readonly verdict: "ruled-out";
  /** A whole sentence. */
  readonly why: string;
}
export interface Inconclusive {
  readonly verdict: "inconclusive";
  readonly undecided: readonly Undecided[];
}

/** What could not be judged, and what would settle it. */
export interface Undecided {
  /** `Kind/namespace/name`; none if nothing at all could be judged. */
  readonly objects: readonly string[];
  /** A whole sentence. */
  readonly why: string;
  readonly missing: readonly Missing[];
}
export interface Missing {
  readonly what: string;
  readonly command: string;
  /** It is read by habit: without it something needed was unreadable. */
  readonly usual: boolean;
}

export type FactValue = string | number | boolean | readonly string[];
export type FactTable = Readonly<Record<string, FactValue>>;

/** One case of the failure: the objects it strikes, what is known, and where it is written. */
export interface Finding {
  /** `Kind/namespace/name`; cluster-wide ones `Kind/name`. The first is the one it is about. */
  readonly objects: readonly string[];
  /** One sentence for the screen. */
  readonly says: string;
  /** The same below a heading that says what they have in common. */
  readonly short?: string;
  readonly facts: FactTable;
  readonly cites: readonly Cite[];
  /** When it began, as far as the evidence tells, RFC 3339. */
  readonly since: string | undefined;
  /** What brought it about, as `Kind/namespace/name` or `Kind/name`: makes incidents. */
  readonly causes: readonly string[];
  /** What belongs on the time line beside `since`. */
  readonly moments?: readonly Moment[];
}

export interface Moment {
  readonly atMs: number;
  /** Half a sentence, whatever their number: "node b is Ready again", "runner lost". */
  readonly says: string;
  /** Whom it befell: findings that share it are told once, with their names or number. */
  readonly who?: string;
}

export interface Cite {
  /** What is claimed, in words. */
  readonly says: string;
  readonly place: Place;
}

export interface Remedy {
  /** Imperative sentence; `{fact}` is filled in. */
  readonly do: string;
  /** Fact that must hold something for this remedy to apply. */
  readonly onlyIf?: string;
  /** It only looks around: shown with the finding itself, left out of a larger incident's cure. */
  readonly look?: true;
  /** Command, if it is one; `{fact}` is filled in. */
  readonly command?: string;
  readonly risk: Risk;
  readonly precondition: string;
  readonly effect: string;
  /** What it costs. */
  readonly price: string;
  readonly undo: string;
  readonly verify: string;
}

export const risks = ["read-only", "reversible", "disruptive", "destructive"] as const;
export type Risk = (typeof risks)[number];

export interface Defect {
  readonly what: string;
  readonly versions: string;
  readonly files: readonly string[];
  readonly references: readonly string[];
}

/** A recognizer as its file writes it: `recognize` sees its needs as there, its wants as maybe. */
export interface Declaration<N extends Part, W extends Part>
  extends Omit<Recognizer, "needs" | "wants" | "recognize"> {
  readonly needs: readonly N[];
  readonly wants: readonly W[];
  recognize(known: Seen<N, W>, moment: JudgedAt): Verdict;
}
export type Seen<N extends Part, W extends Part> = Pick<Knowledge, N> & {
  readonly [P in W]?: Knowledge[P];
};

/** Types a declaration by its needs and wants. */
export function defineRecognizer<const N extends Part, const W extends Part>(
  declaration: Declaration<N, W>,
): Recognizer {
  return declaration as unknown as Recognizer;
}

export const ruledOut = (why: string): RuledOut => ({ verdict: "ruled-out", why });

/** The verdict of what was found, what could not be judged, and else why it is not this. */
export function verdictOf(
  findings: readonly Finding[],
  undecided: readonly Undecided[],
  otherwise: string,
): Verdict {
  if (findings.length > 0) return { verdict: "recognized", findings, undecided };
  if (undecided.length > 0) return { verdict: "inconclusive", undecided };
  return ruledOut(otherwise);
}
