import { posix } from "node:path";
import { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { Parser, type ReadEntry } from "tar";
import type { GitRepository } from "../../api/core.ts";
import type { Diagnostic } from "../../api/diagnostic.ts";
import {
  ArtifactError,
  type ArtifactStore,
  type GitResult,
  type GitSource,
  type OpenArtifact,
} from "../../ports/artifacts.ts";
import type { Call } from "../../ports/call.ts";
import type { ManifestSource, Manifests } from "../../ports/manifests.ts";
import { type ManifestText, readManifests, TEXT_BYTES_MAX } from "./read.ts";

export interface ManifestRepository {
  readonly git: GitSource;
  readonly artifacts: ArtifactStore;
  readonly url: string;
  /** A branch, a tag, a range of versions, a full ref or a full commit; HEAD if absent. */
  readonly ref?: string | undefined;
  /** Folder of the manifests in the repository; its root if absent. */
  readonly path?: string | undefined;
  /** Keys as a Secret of Flux has them: username, password, bearerToken, identity, known_hosts. */
  readonly credentials?: Readonly<Record<string, string>> | undefined;
  /** For objects that name none. */
  readonly namespace?: string | undefined;
}

const FILES_MAX = 10_000;
/** Bytes of all manifests together. */
const TOTAL_MAX = 64 * 1024 * 1024;

/**
 * The manifests of a Git repository at a ref, read out of the archive that any source becomes:
 * nothing is unpacked. A revision that was read before is not read again. Fails with ArtifactError.
 */
export function manifestRepository(options: ManifestRepository): ManifestSource {
  let last: { readonly digest: string; readonly manifests: Manifests } | undefined;
  return {
    async read(call) {
      const result = await fetchAny(options, call);
      if (last?.digest !== result.digest) {
        const artifact = { ...result, sizeBytes: result.sizeBytes };
        const opened = await options.artifacts.open(artifact, call);
        const { texts, diagnostics } = await textsIn(opened, options, result.revision, call);
        const report = readManifests(texts, options.namespace);
        const skipped = diagnostics.flatMap(({ file }) => (file === undefined ? [] : [file]));
        const manifests = {
          version: result.revision,
          objects: report.objects,
          diagnostics: [...diagnostics, ...report.errors, ...report.warnings],
          files: report.files,
          unclear: [...skipped, ...report.unclear],
        };
        last = { digest: result.digest, manifests };
      }
      return { ...last.manifests, version: result.revision };
    },
  };
}

/** A plain name may be a branch or a tag; the branch goes first, as with git itself. */
async function fetchAny(options: ManifestRepository, call: Call): Promise<GitResult> {
  const refs = meaningsOf(options.ref);
  for (const [index, ref] of refs.entries()) {
    try {
      return await options.git.fetch(requestFor(options, ref), call);
    } catch (error) {
      if (!(error instanceof ArtifactError)) throw error;
      const other = index + 1 < refs.length;
      if (other && / has no branch /.test(error.message)) continue;
      const message = inWordsOfTheCommandLine(error.message);
      throw new ArtifactError(message, error.transient, { cause: error });
    }
  }
  throw new ArtifactError(`Ref "${options.ref}" means nothing; name a branch or a tag`, false);
}

type Ref = NonNullable<GitRepository["spec"]["ref"]>;

function meaningsOf(ref: string | undefined): Ref[] {
  if (ref === undefined || ref === "") return [{ name: "HEAD" }];
  if (/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(ref)) return [{ commit: ref }];
  if (ref.startsWith("refs/") || ref === "HEAD") return [{ name: ref }];
  if (/^[~^<>=!*]|\s|\|\|/.test(ref)) return [{ semver: ref }];
  return [{ branch: ref }, { tag: ref }];
}

function requestFor({ url, credentials }: ManifestRepository, ref: Ref) {
  // A stand-in, so that messages name something; it is stored nowhere.
  const metadata = { name: "manifests", namespace: "nigari-up" };
  const repository: GitRepository = {
    apiVersion: "source.toolkit.fluxcd.io/v1",
    kind: "GitRepository",
    metadata,
    spec: { url, interval: "1m", ref },
  };
  return { repository, credentials };
}

/** What is said of fields of a GitRepository, for somebody who wrote flags and a URL instead. */
export function inWordsOfTheCommandLine(message: string): string {
  return WORDS.reduce((text, [field, flag]) => text.replace(field, flag), message);
}

const WORDS: readonly (readonly [RegExp, string])[] = [
  [/^GitRepository nigari-up\/manifests: /, ""],
  [/URL in spec\.url/, "Git URL"],
  [/put username and password into a Secret .*/, "give it by --token-file or NIGARI_GIT_TOKEN"],
  [/name a Secret with username and password,?.* in spec\.secretRef/, "give --token-file"],
  [/name a Secret with (identity.*) in spec\.secretRef/, "give $1 by --identity-file"],
  [/name a Secret with ca\.crt in spec\.secretRef/, "name its file in SSL_CERT_FILE"],
  [/known_hosts of the Secret of spec\.secretRef \(or (into .*)\)/, "a --known-hosts-file, or $1"],
  [/^Secret of spec\.secretRef has no identity;.*/, "An ssh URL needs --identity-file beside it"],
  [/spec\.ref(\.\w+)?/g, "--ref"],
  [/spec\.interval/g, "--poll"],
  [/spec\.url/g, "the Git URL"],
];

interface Found {
  readonly texts: ManifestText[];
  readonly diagnostics: Diagnostic[];
}

async function textsIn(
  artifact: OpenArtifact,
  options: ManifestRepository,
  revision: string,
  call: Call,
): Promise<Found> {
  const root = posix
    .join("/", options.path ?? "")
    .slice(1)
    .replace(/\/$/, "");
  const found: Found = { texts: [], diagnostics: [] };
  let seen = root === "";
  let left = TOTAL_MAX;
  const parser = new Parser({
    strict: true,
    onReadEntry(entry) {
      const below = pathBelow(entry.path, root);
      seen ||= below !== undefined;
      if (below === undefined || !isManifest(below) || entry.type !== "File") {
        entry.resume();
        return;
      }
      left -= entry.size;
      if (entry.size > TEXT_BYTES_MAX || left < 0 || found.texts.length >= FILES_MAX) {
        entry.resume();
        const summary =
          entry.size > TEXT_BYTES_MAX
            ? `Skipped, larger than the ${TEXT_BYTES_MAX} bytes of a manifest`
            : "Repository holds too many manifests; name the folder that holds yours";
        const severity = entry.size > TEXT_BYTES_MAX ? "warning" : "error";
        found.diagnostics.push({ severity, summary, file: entry.path });
        return;
      }
      keep(entry, found.texts);
    },
  });
  const content = Readable.from(artifact.chunks());
  await pipeline(content, createGunzip(), into(parser), { signal: call.signal });
  if (!seen) {
    const summary = `Folder "${root}" is not in ${revision}; name one that is`;
    found.diagnostics.push({ severity: "error", summary });
  }
  found.texts.sort((a, b) => (a.file < b.file ? -1 : 1));
  return found;
}

/** The path seen from the folder asked for; undefined if it lies elsewhere. */
function pathBelow(path: string, root: string): string | undefined {
  if (root === "") return path;
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : undefined;
}

/** As in a folder of the file system: hidden folders and node_modules are left out. */
function isManifest(path: string): boolean {
  const steps = path.split("/");
  const hidden = steps.some((step) => step.startsWith(".") || step === "node_modules");
  return !hidden && /\.(ya?ml|json)$/.test(path);
}

function keep(entry: ReadEntry, texts: ManifestText[]): void {
  const chunks: Buffer[] = [];
  entry.on("data", (chunk: Buffer) => chunks.push(chunk));
  entry.on("end", () => {
    texts.push({ file: entry.path, content: Buffer.concat(chunks), found: true });
  });
}

/** The parser as a stream of Node's, whose end and errors are the parser's. */
function into(parser: Parser): Writable {
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      try {
        parser.write(chunk);
        done();
      } catch (error) {
        // A strict parser throws; that must not leave the stream.
        done(error as Error);
      }
    },
    final(done) {
      parser.on("end", () => done());
      parser.end();
    },
  });
  parser.on("error", (error: Error) => stream.destroy(error));
  return stream;
}
