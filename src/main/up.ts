import { createHash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { readAddress } from "../adapters/git/address.ts";
import { manifestFolder } from "../adapters/manifests/files.ts";
import { inWordsOfTheCommandLine } from "../adapters/manifests/git.ts";
import { findOpenTofu } from "../adapters/opentofu/find.ts";
import { toolsFolder } from "../adapters/opentofu/programs.ts";
import { describeProgress } from "../adapters/opentofu/progress.ts";
import { DatabaseError } from "../adapters/sqlite/database.ts";
import { createLog } from "../adapters/system/log.ts";
import type { Terraform } from "../api/terraform.ts";
import { CliError, EXIT, type Output, type UpOptions } from "../cli/world.ts";
import { ManifestSync } from "../engine/manifests.ts";
import { ArtifactError } from "../ports/artifacts.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { ManifestSource } from "../ports/manifests.ts";
import { type ListenAddress, readListenAddress } from "../server/access.ts";
import { PortRefused } from "../server/server.ts";
import { dataDirOf, makePrivate } from "./data-dir.ts";
import { type Standalone, startStandalone } from "./engine.ts";
import { childEnvironment } from "./environment.ts";
import { gitCredentials, gitManifests } from "./git-manifests.ts";
import { keepHeapSmall } from "./heap.ts";
import { packageRoot } from "./package.ts";
import type { Kept } from "./store.ts";

/** What `up` needs of the process it runs in. */
export interface UpWorld {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: Output;
  /** Fires at the first Ctrl-C. */
  readonly interrupted: AbortSignal;
}

/** A folder that is looked at often; a Git URL has a poll interval of its own. */
const FOLDER_POLL_MS = 2_000;
/** OpenTofu may have to be built: some four minutes, on a slow machine more. */
const TOFU_MS = 3_600_000;

/** nigari up: an engine in the foreground that keeps manifests applied. Answers an exit code. */
export async function up(options: UpOptions, world: UpWorld): Promise<number> {
  const { clock, out, interrupted } = world;
  keepHeapSmall();
  const place = placeOf(options.from);
  const credentials = gitCredentials(options, world.env);
  const dataDir = dataDirOf(options.dataDir, world.env);
  makePrivate(dataDir);
  const log = createLog({
    format: world.env.NIGARI_LOG_FORMAT === "json" ? "json" : "human",
    level: world.env.NIGARI_LOG_LEVEL === "debug" ? "debug" : "info",
  });
  const child = childEnvironment(world.env, options.passEnv);
  const gitEnv = gitEnvironment(child.env, world.env);
  const tofu = await tofuFor(dataDir, world, child.env);
  const standalone = await startStandalone(
    {
      dataDir,
      runnerEnv: { ...child.env, NIGARI_TOFU: tofu.path },
      gitEnv,
      runtimeFolder: world.env.XDG_RUNTIME_DIR,
      maxRuns: options.concurrent,
      lostApply: options.lostApply,
      listen: options.listen === undefined ? undefined : addressOf(options.listen),
      command: `nigari up ${place.shown}`,
      clock,
      log,
    },
    interrupted,
  ).catch((error: unknown) => {
    const known = error instanceof DatabaseError || error instanceof PortRefused;
    if (!known) throw error;
    throw new CliError(EXIT.unreachable, error.message, { cause: error });
  });
  try {
    const source: ManifestSource =
      place.is === "folder"
        ? manifestFolder(place.path)
        : gitManifests(options, { url: place.url, dataDir, gitEnv, credentials, clock });
    log.info("Ready", { dataDir, tofu: `${tofu.product} ${tofu.version} (${tofu.how})` });
    log.info(wordsOnEnvironment(child.passed));
    const owner = ownerOf(place.is === "folder" ? place.path : place.url);
    const pollMs = place.is === "folder" ? FOLDER_POLL_MS : options.pollMs;
    await keepApplied(standalone, { source, owner, pollMs, options, log, world });
  } catch (error) {
    // Whatever went wrong: no half of an engine stays behind and holds the directory.
    await standalone.close();
    throw error;
  }
  return goDown(standalone, { options, place, out });
}

function addressOf(text: string): ListenAddress {
  const address = readListenAddress(text);
  if (address !== undefined) return address;
  throw new CliError(EXIT.usage, `${text} is no address of this machine; write 127.0.0.1:PORT`);
}

function wordsOnEnvironment(passed: readonly string[]): string {
  return passed.length === 0
    ? "OpenTofu sees no variables of yours; --pass-env 'AWS_*,KUBECONFIG' hands some on"
    : `OpenTofu sees, besides PATH, HOME and proxies: ${passed.join(", ")}`;
}

interface Keeping {
  readonly source: ManifestSource;
  readonly owner: string;
  readonly pollMs: number;
  readonly options: UpOptions;
  readonly log: Log;
  readonly world: UpWorld;
}

/** Until Ctrl-C, or until the engine is no longer the one that leads. */
async function keepApplied(standalone: Standalone, keeping: Keeping): Promise<void> {
  const { source, owner, options, log, world, pollMs } = keeping;
  const { engine, kept } = standalone;
  const ended = new AbortController();
  void engine.ended.finally(() => ended.abort());
  const sync = new ManifestSync({
    source,
    store: kept.store,
    clock: world.clock,
    log,
    owner,
    prune: options.prune,
    pollMs,
  });
  await sync.run(AbortSignal.any([world.interrupted, ended.signal]));
}

type Place = { readonly shown: string } & (
  | { readonly is: "folder"; readonly path: string }
  | { readonly is: "git"; readonly url: string }
);

/** What cannot become right by waiting is refused before anything is started. */
function placeOf(from: string): Place {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(from) || /^[\w.-]+@[\w.-]+:/.test(from)) {
    return { is: "git", url: from, shown: shownUrl(from) };
  }
  const path = resolve(from);
  if (!existsSync(path)) {
    throw new CliError(EXIT.usage, `${path} is not there; name a folder or a Git URL`);
  }
  if (!statSync(path).isDirectory()) {
    throw new CliError(EXIT.usage, `${path} is a file; name the folder that holds the manifests`);
  }
  return { is: "folder", path, shown: from };
}

/** A URL without a token that may stand in it. */
function shownUrl(url: string): string {
  try {
    return readAddress(url, process.cwd()).shown;
  } catch (error) {
    if (!(error instanceof ArtifactError)) throw error;
    // A folder that is not there may yet come; the wrong word in a URL stays wrong.
    if (error.transient) return url;
    throw new CliError(EXIT.usage, inWordsOfTheCommandLine(error.message), { cause: error });
  }
}

/** A label's value: which source an object's manifest came from. */
function ownerOf(place: string): string {
  return `up-${createHash("sha256").update(place).digest("hex").slice(0, 16)}`;
}

/** git may use the user's ssh agent and configuration; OpenTofu only if it is handed on. */
function gitEnvironment(
  child: Readonly<Record<string, string>>,
  env: UpWorld["env"],
): Record<string, string> {
  const agent = env.SSH_AUTH_SOCK;
  return { ...child, ...(agent === undefined ? {} : { SSH_AUTH_SOCK: agent }) };
}

async function tofuFor(
  dataDir: string,
  { clock, env, out, interrupted }: UpWorld,
  childEnv: Readonly<Record<string, string>>,
) {
  const root = packageRoot();
  const named = env.NIGARI_TOFU;
  return findOpenTofu(
    {
      root,
      folder: toolsFolder({ env, root, dataDir }),
      env: { ...env, ...childEnv, ...(named === undefined ? {} : { NIGARI_TOFU: named }) },
      clock,
      onProgress: (progress) => out.error(`${describeProgress(progress)}\n`),
    },
    { signal: clock.deadline("Finding OpenTofu", TOFU_MS, interrupted) },
  );
}

/** First Ctrl-C: nothing new is started; what runs goes on, and people are told how to return. */
async function goDown(
  standalone: Standalone,
  { options, place, out }: { options: UpOptions; place: Place; out: Output },
): Promise<number> {
  const { engine, kept } = standalone;
  if (options.wait) {
    out.error("Waiting for the runs under way; Ctrl-C again leaves them to themselves\n");
    await engine.drain(new AbortController().signal);
  } else out.error("Stopping: nothing new is started\n");
  const early = await Promise.race([engine.ended, Promise.resolve("going on")]);
  const runs = await runsOf(kept);
  await standalone.close();
  if (runs.length > 0) {
    out.error("These runs go on without the engine; nothing of them is lost:\n");
    for (const { metadata, status } of runs) {
      const { run } = status ?? {};
      out.error(`  ${metadata.namespace}/${metadata.name}: ${run?.operation}, run ${run?.id}\n`);
    }
    const at = options.dataDir === undefined ? "" : ` --data-dir ${options.dataDir}`;
    out.error(`Come back with: nigari up ${place.shown}${at}\n`);
  }
  if (early === "leadership lost") {
    out.error("nigari: the data directory was taken away from this engine; it has stopped\n");
    return EXIT.failed;
  }
  return EXIT.ok;
}

/** A database that fails must not keep the engine from going down. */
async function runsOf({ store }: Kept): Promise<readonly Terraform[]> {
  try {
    const { items } = await store.list("Terraform", {}, { signal: new AbortController().signal });
    return items.filter(({ status }) => status?.run !== undefined);
  } catch {
    return [];
  }
}
