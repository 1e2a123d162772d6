import type { Diagnostic } from "../api/diagnostic.ts";
import type { AnyObject } from "../api/kinds.ts";
import type { Call } from "./call.ts";

/** Where the manifests come from that an engine keeps applied: a folder, or a Git repository. */
export interface ManifestSource {
  /**
   * The manifests as they are now. What cannot be read or understood is in the diagnostics; it
   * fails only when nothing could be looked at at all.
   */
  read(call: Call): Promise<Manifests>;
}

export interface Manifests {
  /** The same text means the same content; for a Git repository its revision. */
  readonly version: string;
  readonly objects: readonly AnyObject[];
  readonly diagnostics: readonly Diagnostic[];
  /** The file each object stands in, seen from the source's root, where that is known. */
  readonly files?: ReadonlyMap<AnyObject, string>;
  /**
   * Files, named alike, with something in them that is no manifest: empty, another text, too large.
   * They are nobody's business, unless a manifest stood in one of them before.
   */
  readonly unclear?: readonly string[];
}
