import { createHash } from "node:crypto";
import { contentOf } from "../adapters/manifests/content.ts";
import { readManifestFiles, whyUnreadable } from "../adapters/manifests/files.ts";
import { readManifests } from "../adapters/manifests/read.ts";
import { CliError, EXIT } from "../cli/world.ts";
import type { Call } from "../ports/call.ts";
import type { Manifests } from "../ports/manifests.ts";

/** A state file of more than this is none. */
const STATE_BYTES_MAX = 256 * 1024 * 1024;

/** All that a file holds. Fails with CliError. */
export async function readWhole(path: string, signal: AbortSignal): Promise<Buffer> {
  let content: Buffer;
  try {
    content = await contentOf(path, STATE_BYTES_MAX, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw new CliError(EXIT.incomplete, `${path}: ${whyUnreadable(error)}`, { cause: error });
  }
  if (content.length <= STATE_BYTES_MAX) return content;
  throw new CliError(EXIT.incomplete, `${path}: Larger than ${STATE_BYTES_MAX} bytes; no state is`);
}

interface ReadOptions {
  /** For objects that name none. */
  readonly namespace: string;
  readonly standardInput: () => Promise<Buffer>;
}

/** The manifests of files, folders and standard input ("-"), one after the other. */
export async function readPaths(
  paths: readonly string[],
  { namespace, standardInput }: ReadOptions,
  call: Call,
): Promise<Manifests> {
  const all: Manifests[] = [];
  for (const path of paths) {
    const report =
      path === "-"
        ? readManifests([{ file: "standard input", content: await standardInput() }], namespace)
        : await readManifestFiles(path, namespace, call);
    all.push(manifestsOf(report));
  }
  return {
    version: all.map(({ version }) => version).join(","),
    objects: all.flatMap(({ objects }) => objects),
    diagnostics: all.flatMap(({ diagnostics }) => diagnostics),
  };
}

function manifestsOf(report: Awaited<ReturnType<typeof readManifestFiles>>): Manifests {
  const { objects, warnings, errors } = report;
  const version = createHash("sha256").update(JSON.stringify(objects)).digest("hex").slice(0, 12);
  return { version, objects, diagnostics: [...errors, ...warnings] };
}
