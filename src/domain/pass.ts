import { keyOf, keyText } from "../api/kinds.ts";
import type { Condition } from "../api/meta.ts";
import { CONDITION, REQUESTED_AT } from "../api/names.ts";
import type {
  Basis,
  RunStatus,
  Terraform,
  TerraformSpec,
  TerraformStatus,
} from "../api/terraform.ts";
import { retryIntervalMs } from "./backoff.ts";
import { leavesResources } from "./deletion-policy.ts";
import type { Effect, Observed } from "./facts.ts";
import type { Marks, Standing } from "./standing.ts";
import { timeOf, timeText } from "./time.ts";

/** A status without its conditions: those are made by `summarize` alone. */
export type Fields = Omit<TerraformStatus, "conditions">;

/** What the steps hand on to each other. Nothing in it is changed in place. */
export interface Pass {
  readonly observed: Observed;
  readonly nowMs: number;
  readonly terraform: Terraform;
  readonly generation: number;
  /** Fields of the status as they are to be stored, so far. */
  readonly fields: Fields;
  /** Value of requestedAt that no pass has answered. */
  readonly requested: string | undefined;
  readonly deleting: boolean;
  readonly mode: ApprovalMode;
  /** Ready as stored. */
  readonly ready: Condition | undefined;
  /** Effects that go with whatever is decided. */
  readonly effects: Effects;
  /** The pending plan was dropped in this pass, and why. */
  readonly staleBecause?: string;
}

export type ApprovalMode = "auto" | "manual" | "plan-only" | "disable";

export interface Effects {
  readonly before: readonly Effect[];
  readonly after: readonly Effect[];
}

/** What a step decides; `decide` completes it. */
export interface Outcome {
  /** Which step, and what. */
  readonly why: string;
  readonly fields: Fields;
  readonly standing: Standing;
  readonly marks?: Marks;
  readonly before?: readonly Effect[];
  readonly after?: readonly Effect[];
  /** Look again after so many ms, whatever nextDueAt says. */
  readonly recheckMs?: number | undefined;
}

export function openPass(observed: Observed, nowMs: number): Pass {
  const { terraform } = observed;
  const { conditions = [], ...fields } = terraform.status ?? {};
  const { metadata, spec } = terraform;
  const requested = metadata.annotations?.[REQUESTED_AT];
  return {
    observed,
    nowMs,
    terraform,
    generation: metadata.generation ?? 0,
    fields,
    requested: requested === fields.lastHandledReconcileAt ? undefined : requested,
    deleting: metadata.deletionTimestamp !== undefined,
    mode: modeOf(spec),
    ready: conditions.find((each) => each.type === CONDITION.ready),
    effects: { before: [], after: [] },
  };
}

/** The object as a word in a command that is proposed. */
export function wordFor(pass: Pass): string {
  return keyText(keyOf(pass.terraform));
}

/** "disable" beats force, force beats planOnly, and planOnly beats an approval. */
function modeOf({ approvePlan, force, planOnly }: TerraformSpec): ApprovalMode {
  if (approvePlan === "disable") return "disable";
  if (force === true) return "auto";
  if (planOnly === true) return "plan-only";
  return approvePlan === "auto" ? "auto" : "manual";
}

type Change = { readonly [K in keyof Fields]?: Fields[K] | undefined };

/** The fields with some of them changed; undefined takes a field away. */
export function change(fields: Fields, changes: Change): Fields {
  const next: Record<string, unknown> = { ...fields };
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) delete next[name];
    else next[name] = value;
  }
  return next as Fields;
}

/** Whether everything is to be destroyed, by the spec or because the object goes. */
export function wantsDestroy(pass: Pass): boolean {
  const { spec } = pass.terraform;
  if (pass.deleting) {
    return spec.destroyResourcesOnDeletion === true && !leavesResources(pass.terraform);
  }
  return spec.destroy === true && pass.mode !== "disable";
}

export function basisOf(run: RunStatus): Basis {
  const { revision, generation, inputsDigest, artifactDigest, destroy } = run;
  const ground = { revision, generation, inputsDigest, artifactDigest };
  return { ...ground, ...(destroy === true ? { destroy } : {}) };
}

export function sameBasis(a: Basis | undefined, b: Basis): boolean {
  return (
    a?.revision === b.revision &&
    a.generation === b.generation &&
    a.inputsDigest === b.inputsDigest &&
    (a.destroy ?? false) === (b.destroy ?? false)
  );
}

/**
 * The object waits for something that is not there, and looks again after the retry interval. As
 * long as it waits for the same thing and the time has not come, nothing changes. One that is
 * stalled may wait for a person for weeks: its next look is not written down each time.
 */
export function waiting(
  pass: Pass,
  why: string,
  standing: Extract<Standing, { is: "failed" | "stalled" }>,
  options: { readonly marks?: Marks; readonly quiet?: boolean } = {},
): Outcome {
  const { fields, nowMs, ready } = pass;
  if (standing.is === "stalled") return stalled(pass, why, standing, options);
  const dueMs = timeOf(fields.nextDueAt);
  const retryMs = retryIntervalMs(pass.terraform.spec);
  const known = ready?.reason === standing.reason && ready.message === standing.message;
  const going = known && dueMs !== undefined && dueMs > nowMs && dueMs <= nowMs + retryMs;
  return {
    why,
    standing,
    marks: options.marks ?? {},
    fields: change(fields, { nextDueAt: going ? fields.nextDueAt : timeText(nowMs + retryMs) }),
    after: known || options.quiet ? [] : [warning(standing.reason, standing.message)],
  };
}

function stalled(
  pass: Pass,
  why: string,
  standing: Extract<Standing, { is: "stalled" }>,
  options: { readonly marks?: Marks; readonly quiet?: boolean },
): Outcome {
  const { ready } = pass;
  const known = ready?.reason === standing.reason && ready.message === standing.message;
  return {
    ...parked(pass, why, standing, options.marks),
    after: known || options.quiet ? [] : [warning(standing.reason, standing.message)],
    recheckMs: retryIntervalMs(pass.terraform.spec),
  };
}

/** The object waits for a person or for a fact that makes the engine look again. */
export function parked(pass: Pass, why: string, standing: Standing, marks: Marks = {}): Outcome {
  return { why, standing, marks, fields: change(pass.fields, { nextDueAt: undefined }) };
}

/** Effects of steps that passed on go with what a later step decides. */
export function withEffects(pass: Pass, outcome: Outcome): Outcome {
  return {
    ...outcome,
    before: [...pass.effects.before, ...(outcome.before ?? [])],
    after: [...pass.effects.after, ...(outcome.after ?? [])],
  };
}

export function normal(reason: string, message: string): Effect {
  return { do: "event", type: "Normal", reason, message };
}

export function warning(reason: string, message: string): Effect {
  return { do: "event", type: "Warning", reason, message };
}
