/** A piece of evidence on its way from a cluster to whoever judges or saves it. */
export interface EvidenceFile {
  /** Where it lies in an archive, with slashes. */
  readonly path: string;
  /** Where it came from, such as `GET /api/v1/pods`. */
  readonly origin: string;
  /** Objects (JSON), text of any kind, or the manifest of all. */
  readonly holds: "objects" | "text" | "manifest";
  /** Can be read once. Ends early, without an error, where the source broke off. */
  readonly bytes: AsyncIterable<Buffer>;
}

/**
 * Takes evidence. Call order: all objects, then text, then the manifest; within each any number at
 * once. A file is read to its end before `put` answers.
 */
export interface EvidenceSink {
  put(file: EvidenceFile): Promise<void>;
}
