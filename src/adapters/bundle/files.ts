import { createReadStream } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { join, posix, sep } from "node:path";
import { createGunzip } from "node:zlib";
import type { Gap } from "../../evidence/model.ts";
import { tarEntries } from "./tar.ts";

/** One file of a bundle, wherever it lies. Its bytes can be read once. */
export interface BundleFile {
  /** Path inside the bundle, with slashes, without `.gz`. */
  readonly path: string;
  /** Where it came from, if that is not its path. */
  readonly origin?: string;
  readonly bytes: AsyncIterable<Buffer>;
}

/** What is wrong with the path that was given, to be shown to the person who gave it. */
export class BundleError extends Error {}

/** More files than this are a bomb or the wrong folder. */
const FILES_MAX = 200_000;

/**
 * Visits every file of a folder, tar, tar.gz or single file, one after the other. Nothing is ever
 * written; links are not followed, and a name that leads out of the archive is passed over and
 * told as a gap.
 */
export async function eachFile(
  path: string,
  visit: (file: BundleFile) => Promise<void>,
  signal: AbortSignal,
): Promise<readonly Gap[]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw new BundleError(`Bundle ${path} does not exist`);
  if (found.isDirectory()) return eachOfFolder(path, visit, signal);
  if (!found.isFile()) throw new BundleError(`Bundle ${path} is neither a folder nor a file`);
  const kind = await archiveKind(path);
  if (kind === "plain" || kind === "gzip") {
    const name = posix.basename(path.split(sep).join("/"));
    const bytes = unpacked(kind === "gzip" ? ".gz" : "", bytesOf(path));
    const gaps: Gap[] = [];
    await guarded(name, gaps, () => visit({ path: withoutGz(name), bytes }));
    return gaps;
  }
  return eachOfTar(path, visit, signal);
}

async function eachOfFolder(
  root: string,
  visit: (file: BundleFile) => Promise<void>,
  signal: AbortSignal,
): Promise<readonly Gap[]> {
  const gaps: Gap[] = [];
  let count = 0;
  const walk = async (folder: string): Promise<void> => {
    const entries = await readdir(join(root, folder), { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      signal.throwIfAborted();
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) await walk(path);
      else if (entry.isFile()) {
        count += 1;
        if (count > FILES_MAX) throw new BundleError(`Bundle ${root} has too many files`);
        await guarded(path, gaps, () =>
          visit({ path: withoutGz(path), bytes: unpacked(path, bytesOf(join(root, path))) }),
        );
      }
    }
  };
  await walk("");
  return gaps;
}

/** A file that cannot be read, or breaks off inside its compression, is a gap and not the end. */
async function guarded(path: string, gaps: Gap[], visit: () => Promise<void>): Promise<void> {
  try {
    await visit();
  } catch (error) {
    if (error instanceof Error && error.name === "AbortError") throw error;
    const detail = error instanceof Error ? error.message : String(error);
    gaps.push({ what: path, why: "damaged", detail, command: undefined });
  }
}

async function eachOfTar(
  path: string,
  visit: (file: BundleFile) => Promise<void>,
  signal: AbortSignal,
): Promise<readonly Gap[]> {
  const gaps: Gap[] = [];
  let count = 0;
  const whole = unpacked((await startsAsGzip(path)) ? ".gz" : "", bytesOf(path));
  try {
    for await (const entry of tarEntries(whole)) {
      signal.throwIfAborted();
      count += 1;
      if (count > FILES_MAX) throw new BundleError(`Bundle ${path} has too many files`);
      const name = safeName(entry.path);
      if (name === undefined) {
        const detail = "Its name leads out of the archive";
        gaps.push({ what: entry.path.slice(0, 200), why: "damaged", detail, command: undefined });
      } else {
        await guarded(name, gaps, () =>
          visit({ path: withoutGz(name), bytes: unpacked(name, entry.bytes) }),
        );
      }
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof BundleError) throw error;
    const detail = error instanceof Error ? error.message : String(error);
    gaps.push({ what: path, why: "damaged", detail, command: undefined });
  }
  return gaps;
}

const CHUNK_BYTES = 64 * 1024;

const bytesOf = (path: string): AsyncIterable<Buffer> =>
  createReadStream(path, { highWaterMark: CHUNK_BYTES });

/** The name inside the archive, or undefined if it would lead out of it. */
function safeName(name: string): string | undefined {
  const clean = posix.normalize(name.replaceAll("\\", "/")).replace(/^\.\//, "");
  return clean.startsWith("../") || clean.startsWith("/") || clean === ".." ? undefined : clean;
}

const withoutGz = (path: string) => path.replace(/\.gz$/, "");

function unpacked(path: string, bytes: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  return path.endsWith(".gz") ? gunzipped(bytes) : bytes;
}

/** What could be unpacked of a stream that breaks off is handed on before the error. */
async function* gunzipped(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  const fed = (async () => {
    for await (const chunk of bytes) {
      if (gunzip.destroyed) return;
      if (!gunzip.write(chunk)) {
        await new Promise<void>((resolve) => {
          gunzip.once("drain", resolve);
          gunzip.once("close", resolve);
        });
      }
    }
    gunzip.end();
  })();
  try {
    for await (const chunk of gunzip) yield chunk as Buffer;
    await fed;
  } finally {
    gunzip.destroy();
    await fed.catch(() => undefined);
  }
}

type ArchiveKind = "tar" | "gzip" | "plain";

async function archiveKind(path: string): Promise<ArchiveKind> {
  const head = await headOf(path);
  if (isTar(head)) return "tar";
  if (!isGzip(head)) return "plain";
  return /\.(tgz|tar\.gz)$/.test(path) ? "tar" : insideGzip(path);
}

const startsAsGzip = async (path: string) => isGzip(await headOf(path));
const isGzip = (head: Buffer) => head[0] === 0x1f && head[1] === 0x8b;
const isTar = (head: Buffer) => head.subarray(257, 262).toString() === "ustar";

async function headOf(path: string): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const head = Buffer.alloc(512);
    await file.read(head, 0, 512, 0);
    return head;
  } finally {
    await file.close();
  }
}

async function insideGzip(path: string): Promise<ArchiveKind> {
  for await (const chunk of gunzipped(bytesOf(path))) return isTar(chunk) ? "tar" : "gzip";
  return "gzip";
}
