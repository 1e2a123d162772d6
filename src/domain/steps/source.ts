import { REASON } from "../../api/names.ts";
import type { ArtifactFact } from "../facts.ts";
import { type Outcome, type Pass, parked, waiting, warning } from "../pass.ts";

/**
 * Finds the artifact. Without one the object waits for its source.
 *
 * May set: Ready False (ArtifactFailed, AccessDenied), Stalled (the source does not exist or is
 * not allowed).
 */
export function source(pass: Pass): ArtifactFact | Outcome {
  const { source: fact } = pass.observed;
  switch (fact.state) {
    case "ready":
      return fact.artifact;
    case "denied": {
      const standing = {
        is: "stalled",
        reason: REASON.accessDenied,
        message: fact.message,
      } as const;
      const known = pass.ready?.message === fact.message;
      return {
        ...parked(pass, "source: access is denied", standing),
        after: known ? [] : [warning(standing.reason, standing.message)],
      };
    }
    case "missing":
      return waiting(pass, "source: it does not exist", {
        is: "stalled",
        reason: REASON.artifactFailed,
        message: fact.message,
      });
    case "no-artifact":
      return waiting(pass, "source: it has no artifact", {
        is: "failed",
        reason: REASON.artifactFailed,
        message: fact.message,
      });
  }
}

export function isArtifact(found: ArtifactFact | Outcome): found is ArtifactFact {
  return "digest" in found;
}
