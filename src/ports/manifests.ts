import type { Diagnostic } from "../api/diagnostic.ts";
import type { AnyObject, ObjectRef } from "../api/kinds.ts";
import type { Call } from "./call.ts";

/** A file of manifests, read but not understood yet. */
export interface ManifestFile {
  /** As it is shown to people. */
  readonly path: string;
  readonly text: string;
}

/** What files come down to: the objects that are right, and what is wrong with the others. */
export interface ManifestsRead {
  readonly objects: readonly ManifestObject[];
  readonly diagnostics: readonly Diagnostic[];
}
export interface ManifestObject {
  readonly object: AnyObject;
  readonly file: string;
  readonly line: number;
}

/** Understands YAML and JSON. Pure. */
export type ReadManifests = (files: readonly ManifestFile[]) => ManifestsRead;

/** Makes the objects of manifests so, as `kubectl apply` does. */
export interface ManifestApplier {
  apply(files: readonly ManifestFile[], options: ApplyOptions, call: Call): Promise<ApplyReport>;
}

export interface ApplyOptions {
  /**
   * Whose manifests these are: all that this owner has. What it applied before and no longer has is
   * told, and deleted if `prune`. Undefined: a single apply, which owns nothing.
   */
  readonly owner?: string;
  readonly prune?: boolean;
}

export interface ApplyReport {
  readonly results: readonly ApplyResult[];
  /** What is wrong with the files; objects that are right were applied all the same. */
  readonly diagnostics: readonly Diagnostic[];
  /** Applied before by this owner and no longer in its files; not deleted. */
  readonly vanished: readonly ObjectRef[];
}
export interface ApplyResult {
  readonly ref: ObjectRef;
  readonly outcome: "created" | "configured" | "unchanged" | "pruned" | "failed";
  /** Why it failed. */
  readonly message?: string;
}
