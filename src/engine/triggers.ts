import type { Bucket, GitRepository, OCIRepository } from "../api/core.ts";
import { REQUESTED_AT } from "../api/names.ts";
import type { Terraform } from "../api/terraform.ts";
import { sameJson } from "./canonical.ts";
import type { Priority } from "./queue.ts";

/**
 * What a change of an object calls for. All of it only saves time: the sweep and the due dates
 * find what is missed here.
 */

/** How soon the object itself wants a pass; undefined if only what the engine wrote changed. */
export function wantsPass(after: Terraform, before: Terraform | undefined): Priority | undefined {
  if (before === undefined) return isAsked(after) ? "urgent" : "normal";
  if (sameJson(peoplesPart(before), peoplesPart(after))) return undefined;
  return "urgent";
}

/** Whether objects that depend on it may see something new. */
export function wakesDependants(after: Terraform, before: Terraform | undefined): boolean {
  return before === undefined || !sameJson(dependedOn(before), dependedOn(after));
}

/** Whether objects that use it as a source may see something new. */
export function sourceChanged(after: Source, before: Source | undefined): boolean {
  return before === undefined || !sameJson(sourcePart(before), sourcePart(after));
}
export type Source = GitRepository | OCIRepository | Bucket;

/** A person waits for it. */
function isAsked(terraform: Terraform): boolean {
  const requested = terraform.metadata.annotations?.[REQUESTED_AT];
  const open = requested !== undefined && requested !== terraform.status?.lastHandledReconcileAt;
  return open || terraform.metadata.deletionTimestamp !== undefined;
}

/** Everything but what the engine writes itself; a finalizer alone is the engine's. */
function peoplesPart({ metadata, spec }: Terraform) {
  const { uid, annotations, labels, deletionTimestamp } = metadata;
  return { uid, annotations, labels, deletionTimestamp, spec };
}

function dependedOn({ metadata, status }: Terraform) {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return {
    generation: metadata.generation,
    observed: status?.observedGeneration,
    ready: ready?.status,
    applied: status?.lastAppliedRevision,
    planned: status?.lastPlannedRevision,
  };
}

function sourcePart({ metadata, status }: Source) {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const { revision, digest } = status?.artifact ?? {};
  const trouble = digest === undefined ? ready?.message : undefined;
  return { uid: metadata.uid, revision, digest, trouble };
}
