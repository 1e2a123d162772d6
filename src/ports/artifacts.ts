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
  /**
   * Whether the archive lies on this machine. Present where it is fetched from elsewhere, which
   * takes a time that no pass may wait for.
   */
  isKept?(artifact: ArtifactFact, call: Call): Promise<boolean>;
}
export interface OpenArtifact {
  /** sha256 hex. */
  readonly digest: string;
  readonly sizeBytes: number;
  /** Chunks of at most 1 MiB; a new iteration reads anew. */
  chunks(): AsyncIterable<Uint8Array>;
}

/** Keeps archives on this machine: what GitSource makes and ArtifactStore opens. */
export interface ArtifactKeeper {
  /** Keeps an archive, whole or not at all. Fails with `ArtifactError` when it is too large. */
  keep(content: AsyncIterable<Uint8Array>, call: Call): Promise<KeptArtifact>;
  /** The archive of this digest (`sha256:<hex>`), if it is kept. */
  find(digest: string, call: Call): Promise<KeptArtifact | undefined>;
  /**
   * Removes the archives whose digest is not listed, except those of the last minutes, which nobody
   * may have had the time to refer to. Answers how many went.
   */
  retain(digests: readonly string[], call: Call): Promise<number>;
}
export interface KeptArtifact {
  /** `sha256:<hex>`. */
  readonly digest: string;
  readonly url: string;
  readonly sizeBytes: number;
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
export interface GitResult extends KeptArtifact {
  /** `<branch or tag>@sha1:<commit>`, as source-controller writes it. */
  readonly revision: string;
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
