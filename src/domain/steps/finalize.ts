import { FINALIZER, REASON } from "../../api/names.ts";
import { retryIntervalMs } from "../backoff.ts";
import type { ArtifactFact } from "../facts.ts";
import type { Ground } from "../ground.ts";
import { type Outcome, type Pass, waiting, wantsDestroy, withEffects } from "../pass.ts";
import { holdOff } from "./due.ts";
import { guardState } from "./guard-state.ts";
import { pending } from "./pending.ts";
import { rescued } from "./rescued.ts";
import { startRun } from "./start.ts";

/**
 * Carries a deletion to its end: dependants first, then the resources if they are to be destroyed,
 * then what Nigari stored, then the finalizer. An object that is being deleted never goes on into
 * an ordinary pass.
 *
 * May set: Ready False (DeletionBlockedByDependantsReason, ArtifactFailed, AccessDenied,
 * VarsGenerationFailed, RunResultUnknown, StateRescued), Stalled, and what `startRun` may set.
 */
export function finalize(pass: Pass): Outcome | undefined {
  if (!pass.deleting) return undefined;
  if (pass.terraform.metadata.finalizers?.includes(FINALIZER) !== true) return nothingToDo(pass);
  const { dependants } = pass.observed;
  if (dependants.length > 0) {
    return blocked(pass, [...dependants].sort());
  }
  return mustDestroy(pass) ? destroy(pass) : cleanUp(pass);
}

/** Upstream's words, and what they leave open: some of those named may be on their way out. */
function blocked(pass: Pass, dependants: readonly string[]): Outcome {
  const named = dependants.join(", ");
  const [leaving] = pass.observed.dependantsLeaving ?? [];
  const told =
    leaving === undefined
      ? ""
      : ` ${leaving} is being deleted already; "nigari describe ${leaving}" says what it waits for`;
  return waiting(pass, `deletion: blocked by ${named}`, {
    is: "failed",
    reason: REASON.deletionBlocked,
    message: `Deletion in progress, but blocked. Please delete ${named} to resume ...${told}`,
  });
}

function nothingToDo(pass: Pass): Outcome {
  return {
    why: "deletion: others hold the object back, not we",
    fields: pass.fields,
    standing: { is: "unchanged" },
  };
}

/** There may be something to destroy, and it has not been destroyed yet. */
function mustDestroy(pass: Pass): boolean {
  const { fields } = pass;
  if (!wantsDestroy(pass) || fields.settled?.destroy === true) return false;
  const applied =
    fields.lastAppliedRevision !== undefined ||
    fields.plan?.lastApplied !== undefined ||
    pass.terraform.status?.conditions?.some((each) => each.type === "Apply") === true;
  // A plan without changes has found a state that somebody made.
  return applied || fields.settled !== undefined || fields.held !== undefined;
}

/** What was stored goes in this order, the finalizer last; each is safe to do again. */
function cleanUp(pass: Pass): Outcome {
  return {
    why: "deletion: everything is done, the object is let go",
    fields: pass.fields,
    standing: { is: "unchanged" },
    before: [{ do: "delete-plan" }, { do: "delete-outputs" }, { do: "remove-finalizer" }],
  };
}

function destroy(pass: Pass): Outcome {
  const ground = groundOf(pass);
  if ("why" in ground) return ground;
  const kept = rescued(pass);
  if (kept !== undefined) return kept;
  const changed = guardState(pass);
  if (changed !== undefined) return changed;
  const next = pending(pass, ground);
  if ("why" in next) return next;
  // After a failed destroy the retry interval holds; the first attempt waits for nothing.
  const wait = next.fields.attempted?.destroy === true ? holdOff(next) : undefined;
  const intent = { operation: "plan", reason: "DestroyOnDeletion", destroy: true } as const;
  return withEffects(next, wait ?? startRun(next, ground, intent));
}

/** Artifact and inputs of a destroy; the last artifact will do if the source is gone. */
function groundOf(pass: Pass): Ground | Outcome {
  const artifact = artifactOf(pass);
  if ("why" in artifact) return artifact;
  const { inputs } = pass.observed;
  if (inputs.state === "failed") return stuck(pass, inputs.reason, inputs.message);
  const { digest: inputsDigest, sources: inputSources } = inputs;
  return { artifact, revision: artifact.revision, inputsDigest, inputSources };
}

function artifactOf(pass: Pass): ArtifactFact | Outcome {
  const { source, lastArtifact } = pass.observed;
  if (source.state === "ready") return source.artifact;
  if (lastArtifact !== undefined) return lastArtifact;
  const reason = source.state === "denied" ? REASON.accessDenied : REASON.artifactFailed;
  return stuck(pass, reason, source.message);
}

/** Names what a destroy lacks, and the two ways out. */
function stuck(pass: Pass, reason: string, lacking: string): Outcome {
  const seconds = Math.round(retryIntervalMs(pass.terraform.spec) / 1_000);
  const message =
    "Deletion waits: spec.destroyResourcesOnDeletion asks to destroy the resources first, and " +
    `that lacks something: ${lacking}. Bring it back (looked for every ${seconds}s), or set ` +
    "spec.destroyResourcesOnDeletion to false to leave the resources as they are";
  return waiting(pass, `deletion: ${lacking}`, { is: "failed", reason, message });
}
