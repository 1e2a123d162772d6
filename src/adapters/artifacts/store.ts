import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
  ArtifactError,
  type ArtifactKeeper,
  type ArtifactStore,
  type KeptArtifact,
} from "../../ports/artifacts.ts";
import type { Call } from "../../ports/call.ts";
import type { Clock, Random } from "../../ports/clock.ts";

/**
 * Archives in one folder, each named by its digest: `<sha256 hex>.tar.gz`. A file appears by a
 * rename, so it is whole or absent, and two makers of the same archive write the same file.
 */
export interface FolderStoreOptions {
  readonly folder: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Largest archive that is kept, compressed. */
  readonly limitBytes?: number;
}

const LIMIT_BYTES = 512 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
/** Younger archives are not collected: the object that names them may not be stored yet. */
const YOUNG_MS = 10 * 60_000;
const DIGEST = /^sha256:([0-9a-f]{64})$/;

export function createFolderStore(options: FolderStoreOptions): ArtifactStore & ArtifactKeeper {
  const { folder, clock, random, limitBytes = LIMIT_BYTES } = options;
  const pathOf = (hex: string) => join(folder, `${hex}.tar.gz`);

  async function find(digest: string): Promise<KeptArtifact | undefined> {
    const path = pathOf(hexOf(digest));
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) return undefined;
    return { digest, url: pathToFileURL(path).href, sizeBytes: found.size };
  }

  return {
    async open(artifact, call) {
      const hex = hexOf(artifact.digest);
      const path = pathOf(hex);
      refuseForeign(artifact.url, path);
      const sizeBytes = await checkedSize(path, hex, call);
      return {
        digest: hex,
        sizeBytes,
        chunks: () => createReadStream(path, { highWaterMark: CHUNK_BYTES, signal: call.signal }),
      };
    },

    async keep(content, call) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const draft = join(folder, `.${random.hex(8)}.draft`);
      try {
        const hex = await writeDraft(draft, content, limitBytes, call);
        await rename(draft, pathOf(hex));
        const kept = await find(`sha256:${hex}`);
        if (kept === undefined) throw new ArtifactError("Archive vanished as it was kept", true);
        return kept;
      } finally {
        await rm(draft, { force: true });
      }
    },

    async find(digest) {
      const kept = await find(digest);
      const now = new Date(clock.now());
      // Asked for is as good as new: it must not be collected before its object is stored.
      if (kept !== undefined) await utimes(fileURLToPath(kept.url), now, now).catch(() => {});
      return kept;
    },

    async retain(digests, call) {
      const wanted = new Set(digests.map((digest) => `${DIGEST.exec(digest)?.[1]}.tar.gz`));
      let removed = 0;
      for (const name of await readdir(folder).catch(() => [])) {
        if (wanted.has(name) || !/\.(tar\.gz|draft)$/.test(name)) continue;
        call.signal.throwIfAborted();
        const path = join(folder, name);
        const found = await stat(path).catch(() => undefined);
        if (found === undefined || clock.now() - found.mtimeMs < YOUNG_MS) continue;
        await rm(path, { force: true });
        removed += 1;
      }
      return removed;
    },
  };
}

function hexOf(digest: string): string {
  const hex = DIGEST.exec(digest)?.[1];
  if (hex !== undefined) return hex;
  throw new ArtifactError(
    `Digest "${digest}" of the artifact is not of the form sha256:<64 hex digits>; ` +
      "delete status.artifact of the source, so that it is made again",
    false,
  );
}

/** Only archives of this very folder are opened: a URL in a status is no leave to read any file. */
function refuseForeign(url: string, path: string): void {
  // Without an address it is meant by its digest alone, long after its source has gone.
  if (url === "" || url === pathToFileURL(path).href) return;
  throw new ArtifactError(
    `Artifact ${url} does not lie in this engine's data directory; ` +
      "reconcile its source, so that it is made again",
    true,
  );
}

/** The size of the file, once its content has proven to be what its name says. */
async function checkedSize(path: string, hex: string, call: Call): Promise<number> {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  try {
    const content = createReadStream(path, { highWaterMark: CHUNK_BYTES, signal: call.signal });
    for await (const chunk of content) {
      hash.update(chunk);
      sizeBytes += chunk.length;
    }
  } catch (error) {
    if (call.signal.aborted) throw stopped("Reading", call);
    const why = (error as NodeJS.ErrnoException).code === "ENOENT" ? "is no longer kept" : error;
    throw new ArtifactError(
      `Artifact sha256:${hex} ${why}; it is made again when its source is next looked at`,
      true,
      { cause: error },
    );
  }
  if (hash.digest("hex") === hex) return sizeBytes;
  // Out of the way with it, or it would be found again and refused again, for ever.
  await rm(path, { force: true });
  throw new ArtifactError(
    `Artifact sha256:${hex} was damaged on disk and is removed; ` +
      "it is made again when its source is next looked at",
    true,
  );
}

async function writeDraft(
  path: string,
  content: AsyncIterable<Uint8Array>,
  limitBytes: number,
  call: Call,
): Promise<string> {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  const file = await open(path, "wx", 0o600);
  try {
    for await (const chunk of content) {
      if (call.signal.aborted) throw stopped("Keeping", call);
      sizeBytes += chunk.length;
      if (sizeBytes > limitBytes) {
        throw new ArtifactError(
          `Archive is larger than ${limitBytes} bytes; ` +
            "leave files out with spec.ignore of the source or a .sourceignore file",
          false,
        );
      }
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return hash.digest("hex");
}

function stopped(what: string, call: Call): ArtifactError {
  const reason = call.signal.reason instanceof Error ? call.signal.reason.message : "cancelled";
  return new ArtifactError(`${what} the artifact was stopped: ${reason}`, true, {
    cause: call.signal.reason,
  });
}
