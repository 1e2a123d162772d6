import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createFolderStore } from "../adapters/artifacts/store.ts";
import { createGitSource } from "../adapters/git/source.ts";
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
  /** NIGARI_GIT_TOKEN and NIGARI_GIT_USERNAME. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** The manifests of `nigari up GIT-URL`. */
export function gitManifests(options: UpOptions, place: GitPlace): ManifestSource {
  const { url, dataDir, clock, gitEnv } = place;
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
  const credentials = credentialsOf(options, place.env);
  return manifestRepository({
    git,
    artifacts,
    url,
    ref: options.ref,
    path: options.path,
    credentials,
  });
}

/** In the form of a Flux Secret; undefined leaves it to the user's own git and ssh. */
function credentialsOf(
  { tokenFile, identityFile, knownHostsFile }: UpOptions,
  env: GitPlace["env"],
): Record<string, string> | undefined {
  const token = tokenFile === undefined ? env.NIGARI_GIT_TOKEN : text(tokenFile).trim();
  const found: Record<string, string> = {};
  if (token !== undefined && token !== "") {
    found.username = env.NIGARI_GIT_USERNAME ?? "git";
    found.password = token;
  }
  if (identityFile !== undefined) found.identity = text(identityFile);
  if (knownHostsFile !== undefined) found.known_hosts = text(knownHostsFile);
  return Object.keys(found).length === 0 ? undefined : found;
}

function text(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CliError(EXIT.usage, `Cannot read ${path}: ${why}`);
  }
}
