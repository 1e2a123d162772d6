import { once } from "node:events";
import { createReadStream } from "node:fs";
import { lstat, mkdir, open, readdir, readlink, realpath, rm, stat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { createGunzip } from "node:zlib";
import { extract, list, type Parser, type ReadEntry, type Unpack } from "tar";
import { StageFailure } from "./failure.ts";

export interface ArtifactLimits {
  readonly entries: number;
  readonly bytes: number;
}

export const artifactLimits: ArtifactLimits = { entries: 100_000, bytes: 2 ** 31 };

const KINDS = new Set(["File", "OldFile", "ContiguousFile", "Directory", "SymbolicLink", "Link"]);

export interface Extraction {
  readonly limits: ArtifactLimits;
  /** Folder of the root module: no link in it is left out. */
  readonly path: string;
}

/**
 * Extracts an artifact. It is looked through first and refused as a whole if an entry would land
 * outside of the folder, is a device, or if it is too large, because code with a part missing plans
 * the removal of that part. Answers the symbolic links out of it that were left out, as
 * source-controller leaves out all of them: those of which no module can be made.
 */
export async function extractArtifact(
  archive: string,
  folder: string,
  { limits = artifactLimits, path = "" }: Partial<Extraction> = {},
): Promise<readonly string[]> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const links = new LinksOut(path);
  let offence: string | undefined;
  try {
    offence = await firstOffence(archive, limits, links);
    // What is extracted is ours, also where we are root and the archive names somebody else.
    const how = { cwd: folder, strict: true, preserveOwner: false };
    const filter = (name: string) => !links.leftOut.has(name);
    if (offence === undefined) await unpack(archive, extract({ ...how, filter }));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StageFailure("artifact", `The artifact cannot be unpacked: ${why}`);
  }
  offence ??= await linkOffence(folder, links);
  if (offence === undefined) return [...links.leftOut].sort();
  await rm(folder, { recursive: true, force: true });
  throw new StageFailure("artifact", `The artifact is refused: ${offence}`);
}

/** Files that OpenTofu reads of a folder without being told their names. */
const MODULE_FILE = /\.(?:tf|tofu)(?:\.json)?$/;

/** Symbolic links that lead out of the artifact: which are left out, and which refuse it. */
class LinksOut {
  readonly leftOut = new Set<string>();
  readonly #module: string;
  constructor(path: string) {
    this.#module = resolve("/", join("/", path));
  }

  /** The offence, if this link cannot be left out without a module that lacks something. */
  meet(name: string): string | undefined {
    const path = join("/", name);
    const inModule = this.#module === "/" || `${path}/`.startsWith(`${this.#module}/`);
    if (inModule || MODULE_FILE.test(path)) return linkOut(name);
    this.leftOut.add(name);
    return undefined;
  }
}

function linkOut(name: string): string {
  const mend = "put there what it leads to, or leave it out with spec.ignore of the source";
  return `${JSON.stringify(name)} is a link out of it; ${mend}`;
}

/** Stops reading at the first offence, so that a bomb goes off in no memory and on no disk. */
async function firstOffence(
  archive: string,
  limits: ArtifactLimits,
  links: LinksOut,
): Promise<string | undefined> {
  let entries = 0;
  let bytes = 0;
  let offence: string | undefined;
  const parser = list({
    strict: true,
    onReadEntry(entry) {
      entries += 1;
      bytes += entry.size;
      offence ??= offenceOf(entry, links);
      if (entries > limits.entries) offence ??= `It has more than ${limits.entries} entries`;
      if (bytes > limits.bytes) offence ??= `It unpacks to more than ${limits.bytes} bytes`;
    },
  });
  await feed(archive, parser, () => offence !== undefined);
  return offence;
}

async function unpack(archive: string, unpacking: Unpack): Promise<void> {
  const closed = Promise.withResolvers<void>();
  closed.promise.catch(() => undefined);
  unpacking.on("close", () => closed.resolve());
  unpacking.on("error", (error) => closed.reject(error));
  await feed(archive, unpacking, () => false);
  await closed.promise;
}

/**
 * Hands an archive to a parser, as far as its end by its own word: what lies behind may be zeros
 * without end, packed into a few kilobytes. Fails with the parser's error.
 */
async function feed(archive: string, parser: Parser, isEnough: () => boolean): Promise<void> {
  let isOver = false;
  const ended = Promise.withResolvers<void>();
  ended.promise.catch(() => undefined);
  parser.on("eof", () => {
    isOver = true;
  });
  parser.on("end", () => ended.resolve());
  parser.on("error", (error) => ended.reject(error));
  for await (const chunk of await unzipped(archive)) {
    if (!parser.write(chunk)) await Promise.race([once(parser, "drain"), ended.promise]);
    if (isEnough()) return;
    if (isOver) break;
  }
  parser.end();
  await ended.promise;
}

/** The archive's bytes, unzipped if it is zipped, a piece at a time. */
async function unzipped(archive: string): Promise<AsyncIterable<Buffer>> {
  const file = await open(archive);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
  await file.close();
  const isZipped = bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  const stream = createReadStream(archive);
  if (!isZipped) return stream;
  const unzip = createGunzip();
  stream.on("error", (error) => unzip.destroy(error));
  return stream.pipe(unzip);
}

function offenceOf(entry: ReadEntry, links: LinksOut): string | undefined {
  const name = JSON.stringify(entry.path);
  if (!KINDS.has(entry.type)) return `${name} is neither file, folder nor link (${entry.type})`;
  if (!isInside(entry.path)) return `${name} would land outside of it`;
  const target = entry.linkpath ?? "";
  if (entry.type === "Link" && !isInside(target)) return linkOut(entry.path);
  if (entry.type === "SymbolicLink" && !isInside(join(dirname(entry.path), target), target)) {
    return links.meet(entry.path);
  }
  return undefined;
}

function isInside(path: string, target = path): boolean {
  const root = resolve("/artifact");
  const found = resolve(root, path);
  return (
    !target.startsWith("/") &&
    !path.includes("\0") &&
    (found === root || found.startsWith(root + sep))
  );
}

/** Links through links may lead where no single one does: seen only once they are there. */
async function linkOffence(folder: string, links: LinksOut): Promise<string | undefined> {
  const root = await realpath(folder);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    if (await staysInside(root, path)) continue;
    const offence = links.meet(relative(folder, path));
    if (offence !== undefined) return offence;
    await rm(path);
  }
  return undefined;
}

/** Follows a link part by part, as the kernel does, as far as it leads. */
async function staysInside(root: string, link: string): Promise<boolean> {
  let at = await realpath(dirname(link));
  for (const part of (await readlink(link)).split("/")) {
    const next = join(at, part);
    at = await realpath(next).catch(() => next);
    if (at !== root && !at.startsWith(root + sep)) return false;
  }
  return true;
}

/**
 * The folder below `root` that a path of the spec names. Fails if it does not exist or lies outside
 * of the artifact; `field` is named in the message.
 */
export async function folderInArtifact(root: string, path: string, field: string): Promise<string> {
  const found = await inArtifact(root, path, { named: field, stage: "artifact" });
  if (!(await stat(found)).isDirectory()) {
    throw new StageFailure(
      "artifact",
      `${field} "${path}" is a file in the artifact, not a folder`,
    );
  }
  return found;
}

/** The variable file below `root` that spec.tfVarsFiles names; what is wrong fails the plan. */
export async function varFileInArtifact(root: string, path: string): Promise<string> {
  // The first words are upstream's, for people and scripts look for them.
  const named = "tfvars file's path does not exist: spec.tfVarsFiles";
  const found = await inArtifact(root, path, { named, stage: "plan" });
  if (!(await stat(found)).isFile()) {
    throw new StageFailure("plan", `${named} "${path}" is a folder in the artifact, not a file`);
  }
  return found;
}

interface Asked {
  /** What the message begins with, before the path. */
  readonly named: string;
  readonly stage: "artifact" | "plan";
}

async function inArtifact(root: string, path: string, { named, stage }: Asked): Promise<string> {
  const top = await realpath(root);
  // As Flux does it: whatever the path says, it is taken as if the root were the file system's.
  const wanted = join(top, join("/", path));
  const found = await realpath(wanted).catch(() => undefined);
  if (found === undefined || (await lstat(found).catch(() => undefined)) === undefined) {
    const mend = "see that the path is in the source at this revision and not left out of it";
    throw new StageFailure(stage, `${named} "${path}" does not exist in the artifact; ${mend}`);
  }
  if (found !== top && !found.startsWith(top + sep)) {
    throw new StageFailure(stage, `${named} "${path}" leads out of the artifact`);
  }
  return found;
}
