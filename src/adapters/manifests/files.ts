import { createHash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Diagnostic } from "../../api/diagnostic.ts";
import type { Call } from "../../ports/call.ts";
import type { ManifestSource } from "../../ports/manifests.ts";
import { contentOf } from "./content.ts";
import { type ManifestReport, type ManifestText, readManifests, TEXT_BYTES_MAX } from "./read.ts";

/** More files than this are no folder of manifests, but somebody's home. */
const FILES_MAX = 10_000;

/**
 * Reads the manifests at `path`: a file, or every .yaml, .yml and .json file of a folder and the
 * folders below it, hidden ones left out. Never throws for what it finds.
 */
export async function readManifestFiles(
  path: string,
  namespace: string | undefined,
  call: Call,
): Promise<ManifestReport> {
  const { texts, diagnostics } = await gather(path, call);
  const report = readManifests(texts, namespace);
  const { warnings, errors } = report;
  return {
    ...report,
    warnings: [...diagnostics.filter(isWarning), ...warnings],
    errors: [...diagnostics.filter((each) => !isWarning(each)), ...errors],
  };
}

/** The same files, looked at again and again; the version is a digest of all they hold. */
export function manifestFolder(path: string, namespace?: string): ManifestSource {
  return {
    async read(call) {
      const { texts, diagnostics } = await gather(path, call);
      const report = readManifests(texts, namespace);
      const { objects, warnings, errors } = report;
      const below = (file: string) => relative(path, file) || basename(file);
      const skipped = diagnostics.flatMap(({ file }) => (file === undefined ? [] : [file]));
      const digest = createHash("sha256");
      for (const { file, content } of texts) {
        digest.update(`${file}\0${content.length}\0`).update(content);
      }
      return {
        version: `sha256:${digest.digest("hex")}`,
        objects,
        diagnostics: [...diagnostics, ...errors, ...warnings],
        files: new Map([...report.files].map(([object, file]) => [object, below(file)])),
        unclear: [...skipped, ...report.unclear].map(below),
      };
    },
  };
}

interface Gathered {
  readonly texts: readonly ManifestText[];
  readonly diagnostics: readonly Diagnostic[];
}

async function gather(path: string, call: Call): Promise<Gathered> {
  const texts: ManifestText[] = [];
  const diagnostics: Diagnostic[] = [];
  try {
    const isFolder = (await stat(path)).isDirectory();
    const files = isFolder ? await filesBelow(path, call) : [path];
    if (files.length > FILES_MAX) {
      const text = `The folder holds more than ${FILES_MAX} files; name the one with the manifests`;
      return { texts, diagnostics: [{ severity: "error", summary: text, file: path }] };
    }
    for (const file of files) {
      call.signal.throwIfAborted();
      const text = await readText(file, isFolder, call);
      if ("summary" in text) diagnostics.push(text);
      else texts.push(text);
    }
  } catch (error) {
    if (call.signal.aborted) throw error;
    diagnostics.push({ severity: "error", summary: whyUnreadable(error), file: path });
  }
  return { texts, diagnostics };
}

function isWarning({ severity }: Diagnostic): boolean {
  return severity === "warning";
}

/** In an order that is the same everywhere. */
async function filesBelow(folder: string, call: Call): Promise<string[]> {
  call.signal.throwIfAborted();
  const entries = await readdir(folder, { withFileTypes: true });
  const files: string[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
    const path = join(folder, entry.name);
    // A link to a folder is not followed: it may lead round in circles.
    if (entry.isDirectory()) files.push(...(await filesBelow(path, call)));
    else if (/\.(ya?ml|json)$/.test(entry.name)) files.push(path);
    if (files.length > FILES_MAX) break;
  }
  return files;
}

async function readText(
  file: string,
  found: boolean,
  call: Call,
): Promise<ManifestText | Diagnostic> {
  try {
    const stats = await stat(file);
    if (found && !stats.isFile()) {
      return { severity: "warning", summary: "Skipped, not a plain file", file };
    }
    if (found && stats.size > TEXT_BYTES_MAX) {
      const summary = `Skipped, larger than the ${TEXT_BYTES_MAX} bytes of a manifest`;
      return { severity: "warning", summary, file };
    }
    const content = await contentOf(file, TEXT_BYTES_MAX, call.signal);
    return { file, content, folder: dirname(resolve(file)), found };
  } catch (error) {
    if (call.signal.aborted) throw error;
    return { severity: "error", summary: whyUnreadable(error), file };
  }
}

/** Why a file could not be read, in words. */
export function whyUnreadable(error: unknown): string {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
  return reasons[code] ?? `The file cannot be read (${code})`;
}

const reasons: { readonly [code: string]: string } = {
  ENOENT: "There is no such file or folder; check the path",
  EACCES: "The file may not be read; check its permissions",
  EISDIR: "A folder stands where a file is needed; name a file in it",
  ELOOP: "The link leads round in circles; remove it",
};
