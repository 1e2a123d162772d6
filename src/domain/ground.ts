import type { ArtifactFact } from "./facts.ts";

/** What a run would be made from now: a step that needs it cannot be called without. */
export interface Ground {
  readonly artifact: ArtifactFact;
  readonly revision: string;
  readonly inputsDigest: string;
  /** A digest of each Secret and ConfigMap that they came from. */
  readonly inputSources?: Readonly<Record<string, string>> | undefined;
}
