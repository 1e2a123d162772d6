import { ACCEPT_STATE } from "../api/names.ts";
import type { StateStatus } from "../api/terraform.ts";
import type { FoundState, StateFact } from "./facts.ts";
import { change, type Fields, type Pass } from "./pass.ts";
import { secondText } from "./time.ts";

/**
 * The guard before a state: what was known of it last against what is there now. Nothing is ever
 * planned or applied on a state that lost what was in it, for tofu would make everything anew.
 */

/** A state as it is there: `undefined` is none. `ours`: a run of this object wrote it. */
export type SeenState = (FoundState & { readonly ours: boolean }) | undefined;

export interface KnownState extends Pick<StateStatus, "present" | "serial"> {
  readonly lineage?: string | undefined;
  readonly resources?: number | undefined;
  /** It was known in another backend than the one that is looked at. */
  readonly elsewhere: boolean;
}

interface Guard {
  /** What is wrong, as the end of "State … ". */
  readonly says: string;
  readonly strikes: (known: KnownState, seen: SeenState) => boolean;
}

/** Every guard; the first that strikes is told. A test takes each away and must see harm. */
export const stateGuards: Readonly<Record<string, Guard>> = {
  moved: {
    says: "is not in the backend that the spec names now; the one before still has it",
    strikes: (known, seen) => known.elsewhere && known.present && seen === undefined,
  },
  vanished: {
    says: "has vanished",
    strikes: (known, seen) => !known.elsewhere && known.present && seen === undefined,
  },
  otherLineage: {
    says: "is another one than before: its lineage changed",
    strikes: (known, seen) =>
      !known.elsewhere &&
      seen !== undefined &&
      known.lineage !== undefined &&
      seen.lineage !== known.lineage,
  },
  wentBack: {
    says: "is older than the one before: its serial went back",
    strikes: (known, seen) =>
      !known.elsewhere && seen !== undefined && seen.serial < known.serial && known.present,
  },
  emptied: {
    says: "has lost every resource that was in it, and no run of this object did that",
    strikes: (known, seen) =>
      !known.elsewhere &&
      seen !== undefined &&
      !seen.ours &&
      seen.resources === 0 &&
      (known.resources ?? 0) > 0,
  },
};

export type StateVerdict =
  /** It is what was known, or what became of that; or nothing was known. */
  | { readonly is: "fitting" }
  /** It is not, and a person has said that it is right all the same. */
  | { readonly is: "accepted" }
  | ({ readonly is: "struck" } & Struck);

export interface Struck {
  /** Which guard, by its name in the table. */
  readonly guard: string;
  readonly says: string;
  readonly known: KnownState;
  readonly seen: SeenState;
  /** What the annotation must say to accept it: good for this change alone. */
  readonly word: string;
}

/** What is there against what was known. */
export function judgeState(pass: Pass, seen: SeenState): StateVerdict {
  const known = knownState(pass);
  if (known === undefined) return { is: "fitting" };
  const found = Object.entries(stateGuards).find(([, { strikes }]) => strikes(known, seen));
  if (found === undefined) return { is: "fitting" };
  const [guard, { says }] = found;
  const word = `${wordOf(seen)}-instead-of-${wordOf(known, pass.fields.state?.seenAt)}`;
  if (pass.terraform.metadata.annotations?.[ACCEPT_STATE] === word) return { is: "accepted" };
  return { is: "struck", guard, says, known, seen, word };
}

/** A state in a word. */
function wordOf(
  state: { readonly lineage?: string | undefined; readonly serial: number } | undefined,
  otherwise = "unknown",
): string {
  return state === undefined ? "none" : `${state.lineage || otherwise}/${state.serial}`;
}

/** What was known: from the status, or, of a state that was never looked at, from its history. */
function knownState(pass: Pass): KnownState | undefined {
  const { state } = pass.fields;
  const { head, place = "" } = pass.observed.state;
  // Another workspace is another state, and the spec says which; of that one nothing is known.
  if (state !== undefined && state.workspace === workspaceOf(pass)) {
    return { ...state, elsewhere: state.place !== place };
  }
  if (head?.state === "absent" && head.former !== undefined) {
    return { ...head.former, present: true, elsewhere: false };
  }
  return wasAppliedByAnother(pass) ? { present: true, serial: 0, elsewhere: false } : undefined;
}

/** Whoever reconciled the object before us applied it, so there must be a state. */
function wasAppliedByAnother({ fields }: Pass): boolean {
  const { state, lastRun, lastAppliedRevision } = fields;
  return state === undefined && lastRun === undefined && lastAppliedRevision !== undefined;
}

/** The state that can be looked at without a run; "hidden" where only a run can. */
export function seenIn({ head }: StateFact): SeenState | "hidden" {
  if (head === undefined) return "hidden";
  return head.state === "absent" ? undefined : { ...head, ours: head.runId !== undefined };
}

/** The state in question was accepted since: it is time to look at it once more. */
export function isNewlyAccepted(pass: Pass): boolean {
  const asked = pass.fields.stateInQuestion;
  return asked !== undefined && pass.terraform.metadata.annotations?.[ACCEPT_STATE] === asked;
}

/** The fields with a state that was judged: as the known one, unless it struck. */
export function judged(fields: Fields, pass: Pass, verdict: StateVerdict, seen: SeenState): Fields {
  if (verdict.is === "struck") return change(fields, { stateInQuestion: verdict.word });
  const settled = change(fields, { stateInQuestion: undefined });
  if (seen === undefined) {
    // That there is none yet is nothing to know; that there is none any more was accepted.
    if (verdict.is === "fitting") return settled;
    return remember(pass, settled, { present: false, serial: 0 });
  }
  const { serial, lineage, resources } = seen;
  return remember(pass, settled, {
    present: true,
    ...(lineage === "" ? {} : { lineage }),
    serial,
    ...(resources === undefined ? {} : { resources }),
  });
}

/**
 * After an apply whose state only a later run can look at: there is one, and it is not older than
 * the one that the plan was made on. What is in it is known only of a whole destroy.
 */
export function rememberApplied(pass: Pass, fields: Fields, destroyed: boolean): Fields {
  if (seenIn(pass.observed.state) !== "hidden") return fields;
  const known = fields.state?.present === true ? fields.state : undefined;
  return remember(pass, fields, {
    present: true,
    ...(known?.lineage === undefined ? {} : { lineage: known.lineage }),
    serial: known?.serial ?? 0,
    ...(destroyed ? { resources: 0 } : {}),
  });
}

/** An apply failed on the way: what is in the state is not known any more. */
export function rememberUnsure(fields: Fields): Fields {
  if (fields.state?.resources === undefined) return fields;
  const { resources: _, ...state } = fields.state;
  return change(fields, { state });
}

type Known = Omit<StateStatus, "workspace" | "place" | "seenAt">;

/** Nothing is written as long as nothing changes. */
function remember(pass: Pass, fields: Fields, known: Known): Fields {
  const where = { workspace: workspaceOf(pass), place: pass.observed.state.place ?? "" };
  const next = { ...known, ...where };
  const { seenAt: _, ...old } = fields.state ?? { seenAt: "" };
  if (sameState(old, next)) return fields;
  return change(fields, { state: { ...next, seenAt: secondText(pass.nowMs) } });
}

function sameState(a: object, b: object): boolean {
  const text = (of: object) => JSON.stringify(Object.entries(of).sort());
  return text(a) === text(b);
}

export function workspaceOf(pass: Pass): string {
  return pass.terraform.spec.workspace ?? "default";
}
