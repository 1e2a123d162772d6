import type { GitRepository } from "../api/core.ts";
import type { ArtifactFact } from "../domain/facts.ts";
import type { Call } from "./call.ts";

/** Archives by digest. Verified before they are handed out. */
export interface ArtifactStore {
  /**
   * The archive as a file of this machine, fetched if need be, its digest checked. Fails with
   * `ArtifactError`.
   */
  open(artifact: ArtifactFact, call: Call): Promise<OpenArtifact>;
}
export interface OpenArtifact {
  /** sha256 hex. */
  readonly digest: string;
  readonly sizeBytes: number;
  /** Chunks of at most 1 MiB; a new iteration reads anew. */
  chunks(): AsyncIterable<Uint8Array>;
}

/** Makes artifacts of Git repositories (standalone; in a cluster source-controller does). */
export interface GitSource {
  /**
   * Looks at the repository and stores an archive of the revision asked for. Bounded in time by the
   * call, and in size. Fails with `ArtifactError`.
   */
  fetch(request: GitRequest, call: Call): Promise<GitResult>;
}
export interface GitRequest {
  readonly repository: GitRepository;
  /** Data of the Secret it refers to, decoded; undefined if it refers to none. */
  readonly credentials: Readonly<Record<string, string>> | undefined;
}
export interface GitResult {
  /** `<branch or tag>@sha1:<commit>`, as source-controller writes it. */
  readonly revision: string;
  readonly url: string;
  /** `sha256:<hex>`. */
  readonly digest: string;
  readonly sizeBytes: number;
}

/** `transient`: time or the other side may mend it. The message holds no credentials. */
export class ArtifactError extends Error {
  override readonly name = "ArtifactError";
  readonly transient: boolean;
  constructor(message: string, transient: boolean, options?: ErrorOptions) {
    super(message, options);
    this.transient = transient;
  }
}
