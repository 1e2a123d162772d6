import { type Outcome, type Pass, waiting } from "../pass.ts";

/**
 * Finds the digest of variables, environment and the like. What cannot be resolved counts as a
 * failure and is looked for again.
 *
 * May set: Ready False (VarsGenerationFailed, or the reason that the fact names).
 */
export function inputs(pass: Pass): { readonly inputsDigest: string } | Outcome {
  const { inputs: fact } = pass.observed;
  if (fact.state === "resolved") return { inputsDigest: fact.digest };
  const { reason, message } = fact;
  return waiting(pass, `inputs: ${message}`, { is: "failed", reason, message }, { failure: true });
}
