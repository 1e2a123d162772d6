import { DELETION_POLICY, REASON } from "../api/names.ts";
import { basisOf, change, type Outcome, type Pass, sameBasis, warning, wordFor } from "./pass.ts";

/**
 * The way out of every deletion that is held up by a destroy, as the end of a sentence; nothing for
 * an object that is not being deleted.
 */
export function orphanWay(pass: Pass): string {
  if (!pass.deleting) return "";
  return (
    `. To leave the resources as they are and let the object go: "nigari delete ` +
    `${wordFor(pass)} --orphan" (annotation ${DELETION_POLICY}: orphan)`
  );
}

/**
 * Keeps what a later destroy needs, for then it may not be had any more: the inputs of an apply
 * before it begins, and those of a run that ended well as the good ones. Whatever comes of it holds
 * nothing up.
 */
export function keepingGood(pass: Pass, outcome: Outcome): Outcome {
  const keep = worthKeeping(pass, outcome);
  if (keep === undefined) return outcome;
  const good = keep.as === "good" ? { lastGood: keep.basis } : {};
  const kept = { ...outcome, fields: change(outcome.fields, good) };
  const failed = pass.observed.failedEffect;
  if (failed?.effect !== "keep-inputs") {
    const { inputsDigest: digest } = keep.basis;
    const effect = { do: "keep-inputs", digest, as: keep.as } as const;
    return { ...kept, before: [...(kept.before ?? []), effect] };
  }
  const message =
    `The inputs could not be kept for a later destroy: ${failed.message}; ` +
    "it will need them where the spec says";
  return { ...kept, after: [...(kept.after ?? []), warning(REASON.inputsNotKept, message)] };
}

function worthKeeping(pass: Pass, { fields }: Outcome) {
  if (pass.deleting) return undefined;
  const { run: before, lastGood } = pass.fields;
  const { run, settled } = fields;
  if (run !== undefined) {
    const starts = before === undefined && run.operation === "apply" && run.destroy !== true;
    return starts ? ({ as: "tried", basis: basisOf(run) } as const) : undefined;
  }
  if (before === undefined || settled === undefined || settled.destroy === true) return undefined;
  const news = sameBasis(settled, basisOf(before)) && !sameBasis(lastGood, settled);
  return news ? ({ as: "good", basis: settled } as const) : undefined;
}
