import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createFolderStore } from "../adapters/artifacts/store.ts";
import { createGitSource } from "../adapters/git/source.ts";
import { whyUnreadable } from "../adapters/manifests/files.ts";
import { manifestRepository } from "../adapters/manifests/git.ts";
import { systemRandom } from "../adapters/system/random.ts";
import { CliError, EXIT, type UpOptions } from "../cli/world.ts";
import type { Clock } from "../ports/clock.ts";
import type { ManifestSource } from "../ports/manifests.ts";

export interface GitPlace {
  readonly url: string;
  readonly dataDir: string;
  /** What git may know of the environment. */
  readonly gitEnv: Readonly<Record<string, string>>;
  readonly credentials: Readonly<Record<string, string>> | undefined;
  readonly clock: Clock;
}

/** The manifests of `nigari up GIT-URL`. */
export function gitManifests(options: UpOptions, place: GitPlace): ManifestSource {
  const { url, dataDir, clock, gitEnv, credentials } = place;
  const folder = join(dataDir, "manifests");
  const random = systemRandom;
  const artifacts = createFolderStore({ folder: join(folder, "archives"), clock, random });
  const git = createGitSource({
    folder: join(folder, "git"),
    baseFolder: process.cwd(),
    env: gitEnv,
    keeper: artifacts,
    clock,
    random,
  });
  return manifestRepository({
    git,
    artifacts,
    url,
    ref: options.ref,
    path: options.path,
    credentials,
  });
}

/**
 * NIGARI_GIT_TOKEN, NIGARI_GIT_USERNAME and the files named by flags, in the form of a Flux Secret;
 * undefined leaves it to the user's own git and ssh. Fails with CliError if a file cannot be read.
 */
export function gitCredentials(
  { tokenFile, identityFile, knownHostsFile }: UpOptions,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> | undefined {
  const token =
    tokenFile === undefined ? env.NIGARI_GIT_TOKEN : text("--token-file", tokenFile).trim();
  const found: Record<string, string> = {};
  if (token !== undefined && token !== "") {
    found.username = env.NIGARI_GIT_USERNAME ?? "git";
    found.password = token;
  }
  if (identityFile !== undefined) found.identity = text("--identity-file", identityFile);
  if (knownHostsFile !== undefined) found.known_hosts = text("--known-hosts-file", knownHostsFile);
  return Object.keys(found).length === 0 ? undefined : found;
}

/** An empty file gives nothing, and would silently count as not given. */
function text(flag: string, path: string): string {
  let content: string;
  try {
    content = readFileSync(path, "utf8");
  } catch (error) {
    throw new CliError(EXIT.incomplete, `${path} of ${flag}: ${whyUnreadable(error)}`);
  }
  if (content.trim() !== "") return content;
  throw new CliError(EXIT.incomplete, `${path} of ${flag}: The file is empty; put it in`);
}
