import { formatDuration } from "../../api/duration.ts";
import {
  DELETION_POLICY,
  DEPENDENCY_FINALIZER_PREFIX,
  FINALIZER,
  REASON,
} from "../../api/names.ts";
import { retryIntervalMs } from "../backoff.ts";
import { orphanWay } from "../deletion.ts";
import { deletionPolicy, leavesResources } from "../deletion-policy.ts";
import type { ArtifactFact, Effect } from "../facts.ts";
import type { Ground } from "../ground.ts";
import { hasNoDependants } from "../guards.ts";
import { normal, type Outcome, type Pass, waiting, wantsDestroy, withEffects } from "../pass.ts";
import { judgeState } from "../state-guard.ts";
import { admit } from "./admit.ts";
import { holdOff } from "./due.ts";
import { guardState } from "./guard-state.ts";
import { pending } from "./pending.ts";
import { rescued } from "./rescued.ts";
import { startRun } from "./start.ts";
import { suspend } from "./suspend.ts";

/**
 * Carries a deletion to its end: dependants first, then the resources if they are to be destroyed,
 * then what Nigari stored, then the finalizer. An object that is being deleted never goes on into
 * an ordinary pass; what holds it up is named with the way out.
 *
 * May set: Ready Unknown Suspended, Ready False (DeletionBlockedByDependantsReason, ArtifactFailed,
 * AccessDenied, VarsGenerationFailed, InvalidSpec, RunResultUnknown), Stalled, and what `admit`,
 * `rescued`, `guardState` and `startRun` may set.
 */
export function finalize(pass: Pass): Outcome | undefined {
  if (!pass.deleting) return undefined;
  const held = heldBy(pass);
  if (held === "others") return nothingToDo(pass);
  // Who orphans has said what is to become of everything; nothing is started for it.
  const suspended = leavesResources(pass.terraform) ? undefined : suspend(pass);
  if (suspended !== undefined) return suspended;
  const { dependants } = pass.observed;
  if (!hasNoDependants(dependants)) return blocked(pass, [...dependants].sort());
  if (held === "left-over") return freed(pass);
  const made = mayHaveResources(pass);
  return made && wantsDestroy(pass) ? destroy(pass) : cleanUp(pass, made);
}

/** "left-over": what tofu-controller did is done, but for finalizers of dependants. */
function heldBy({ terraform }: Pass): "us" | "left-over" | "others" {
  const { finalizers = [] } = terraform.metadata;
  if (finalizers.includes(FINALIZER)) return "us";
  return finalizers.some(isOfDependant) ? "left-over" : "others";
}

/** tofu-controller notes dependants so; Nigari asks which there are. */
export function isOfDependant(finalizer: string): boolean {
  return finalizer.startsWith(DEPENDENCY_FINALIZER_PREFIX);
}

function freed(pass: Pass): Outcome {
  return {
    why: "deletion: no dependant is left, the object is let go",
    fields: pass.fields,
    standing: { is: "unchanged" },
    before: [{ do: "remove-finalizer" }],
  };
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

/** There may be resources of this object. The state knows best, where it can be asked. */
function mayHaveResources(pass: Pass): boolean {
  const { fields } = pass;
  const { rescued: aside, head } = pass.observed.state;
  if (fields.held !== undefined || aside.length > 0) return true;
  if (fields.settled?.destroy === true) return false;
  if (head?.state === "present") {
    if (head.resources !== 0) return true;
    const seen = { ...head, ours: head.runId !== undefined };
    // It is empty, and should be so.
    if (judgeState(pass, seen).is === "fitting") return false;
  }
  // What has vanished was there.
  if (head?.state === "absent" && head.former !== undefined && head.former.resources !== 0) {
    return true;
  }
  const applied =
    fields.lastAppliedRevision !== undefined ||
    fields.plan?.lastApplied !== undefined ||
    pass.terraform.status?.conditions?.some((each) => each.type === "Apply") === true;
  // A plan has found a state that somebody made.
  const found = fields.state?.present === true && fields.state.resources !== 0;
  return applied || found || fields.settled !== undefined;
}

/** What was stored goes in this order, the finalizer last; each is safe to do again. */
function cleanUp(pass: Pass, made: boolean): Outcome {
  const left = made && pass.fields.settled?.destroy !== true;
  return {
    why: `deletion: everything is done, the object is let go${left ? ", its resources stay" : ""}`,
    fields: pass.fields,
    standing: { is: "unchanged" },
    before: [
      { do: "delete-plan" },
      { do: "delete-outputs" },
      { do: "forget-inputs" },
      ...(left ? [resourcesLeft(pass)] : []),
      { do: "remove-finalizer" },
    ],
  };
}

function resourcesLeft(pass: Pass): Effect {
  const why = leavesResources(pass.terraform)
    ? `${DELETION_POLICY} is "orphan"`
    : "spec.destroyResourcesOnDeletion is not set";
  return normal(
    REASON.resourcesLeft,
    `The object is gone and its resources are left as they are, for ${why}; its state is kept`,
  );
}

function destroy(pass: Pass): Outcome {
  const held = unknownPolicy(pass) ?? admit(pass) ?? rescued(pass) ?? guardState(pass);
  if (held !== undefined) return held;
  const ground = groundOf(pass);
  if ("why" in ground) return ground;
  const next = pending(pass, ground);
  if ("why" in next) return next;
  // After a failed destroy the retry interval holds; the first attempt waits for nothing.
  const wait = next.fields.attempted?.destroy === true ? holdOff(next) : undefined;
  const intent = { operation: "plan", reason: "DestroyOnDeletion", destroy: true } as const;
  return withEffects(next, wait ?? startRun(next, ground, intent));
}

/** Nothing is destroyed on what may be a slip in the word that would have prevented it. */
function unknownPolicy(pass: Pass): Outcome | undefined {
  const policy = deletionPolicy(pass.terraform);
  if (policy === undefined) return undefined;
  const message =
    `Deletion waits: annotation ${DELETION_POLICY} says "${policy}", which is not known. Remove ` +
    `it to have the resources destroyed, as spec.destroyResourcesOnDeletion asks${orphanWay(pass)}`;
  return waiting(pass, "deletion: unknown policy", {
    is: "stalled",
    reason: REASON.invalidSpec,
    message,
  });
}

/** Artifact and inputs of a destroy; those of the last good run will do if others lack. */
function groundOf(pass: Pass): Ground | Outcome {
  const artifact = artifactOf(pass);
  if ("why" in artifact) return artifact;
  const { inputs, keptInputs } = pass.observed;
  const { revision } = artifact;
  if (inputs.state === "resolved") {
    const { digest: inputsDigest, sources: inputSources } = inputs;
    return { artifact, revision, inputsDigest, inputSources };
  }
  if (keptInputs === undefined) return stuck(pass, inputs.reason, inputs.message);
  return { artifact, revision, inputsDigest: keptInputs.digest, inputSources: {} };
}

/**
 * The artifact to destroy with. Where the one of now does not do it (often the module has left the
 * repository together with the object), the last good one is tried in turn with it.
 */
function artifactOf(pass: Pass): ArtifactFact | Outcome {
  const { source, lastArtifact } = pass.observed;
  if (source.state !== "ready") {
    if (lastArtifact !== undefined) return lastArtifact;
    const reason = source.state === "denied" ? REASON.accessDenied : REASON.artifactFailed;
    return stuck(pass, reason, source.message);
  }
  const { artifact } = source;
  if (lastArtifact === undefined || lastArtifact.digest === artifact.digest) return artifact;
  const { plan, attempted, reconciliationFailures = 0 } = pass.fields;
  if (plan?.pending !== undefined && plan.isDestroyPlan === true) {
    return plan.revision === lastArtifact.revision ? lastArtifact : artifact;
  }
  const failed = attempted?.destroy === true && reconciliationFailures > 0;
  const triedThis = failed && attempted.artifactDigest === artifact.digest;
  const triedLast = failed && attempted.artifactDigest === lastArtifact.digest;
  // Until the pause is over the one that failed is still the one that counts.
  const resting = holdOff(pass) !== undefined;
  if (resting) return triedLast ? lastArtifact : artifact;
  return triedThis ? lastArtifact : artifact;
}

/** Names what a destroy lacks, and the ways out. */
function stuck(pass: Pass, reason: string, lacking: string): Outcome {
  const every = formatDuration(retryIntervalMs(pass.terraform.spec));
  const message =
    "Deletion waits: spec.destroyResourcesOnDeletion asks to destroy the resources first, and " +
    `that lacks something: ${lacking}. Bring it back (looked for every ${every})` +
    `, or set spec.destroyResourcesOnDeletion to false${orphanWay(pass)}`;
  return waiting(pass, `deletion: ${lacking}`, { is: "failed", reason, message });
}
