import { createHash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { manifestFolder } from "../adapters/manifests/files.ts";
import { findOpenTofu } from "../adapters/opentofu/find.ts";
import { toolsFolder } from "../adapters/opentofu/programs.ts";
import { describeProgress } from "../adapters/opentofu/progress.ts";
import { createLog } from "../adapters/system/log.ts";
import { diagnosticText } from "../api/diagnostic.ts";
import { CliError, EXIT, type Output, type UpOptions } from "../cli/world.ts";
import { ManifestSync, type SyncReport } from "../engine/manifests.ts";
import type { Clock } from "../ports/clock.ts";
import type { ManifestSource } from "../ports/manifests.ts";
import { describeRef } from "../ports/object-store.ts";
import { dataDirOf, makePrivate } from "./data-dir.ts";
import { type Standalone, startStandalone } from "./engine.ts";
import { childEnvironment } from "./environment.ts";
import { gitManifests } from "./git-manifests.ts";
import { packageRoot } from "./package.ts";

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
  const dataDir = dataDirOf(options.dataDir, world.env);
  makePrivate(dataDir);
  const log = createLog({
    format: out.isTerminal || world.env.NIGARI_LOG_FORMAT !== "json" ? "human" : "json",
    level: world.env.NIGARI_LOG_LEVEL === "debug" ? "debug" : "info",
  });
  const child = childEnvironment(world.env, options.passEnv);
  const gitEnv = gitEnvironment(child.env, world.env);
  const tofu = await tofuFor(dataDir, world, child.env);
  const place = placeOf(options.from);
  const standalone = await startStandalone(
    {
      dataDir,
      runnerEnv: { ...child.env, NIGARI_TOFU: tofu.path },
      gitEnv,
      runtimeFolder: world.env.XDG_RUNTIME_DIR,
      maxRuns: options.concurrent,
      lostApply: options.lostApply,
      command: `nigari up ${options.from}`,
      clock,
      log,
    },
    interrupted,
  );
  const source: ManifestSource =
    place.is === "folder"
      ? manifestFolder(place.path)
      : gitManifests(options, { url: place.url, dataDir, gitEnv, env: world.env, clock });
  log.info("Ready", { dataDir, tofu: `${tofu.product} ${tofu.version} (${tofu.how})` });
  log.info(
    child.passed.length === 0
      ? "OpenTofu sees no variables of yours; --pass-env 'AWS_*,KUBECONFIG' hands some on"
      : `OpenTofu sees, besides PATH, HOME and proxies: ${child.passed.join(", ")}`,
  );
  const sync = new ManifestSync({
    source,
    store: standalone.kept.store,
    clock,
    log,
    owner: ownerOf(place.is === "folder" ? place.path : place.url),
    prune: options.prune,
    pollMs: place.is === "folder" ? FOLDER_POLL_MS : options.pollMs,
    onReport: (report) => tell(report, out, options.prune),
  });
  const syncing = sync.run(interrupted);
  await Promise.race([fired(interrupted), standalone.engine.ended]);
  await syncing;
  return goDown(standalone, options, world);
}

type Place = { readonly is: "folder"; readonly path: string } | { is: "git"; readonly url: string };

function placeOf(from: string): Place {
  if (/^(https?|ssh|git|file):\/\//.test(from) || /^[\w.-]+@[\w.-]+:/.test(from)) {
    return { is: "git", url: from };
  }
  const path = resolve(from);
  if (!existsSync(path)) {
    throw new CliError(EXIT.usage, `${path} is not there; name a folder or a Git URL`);
  }
  if (!statSync(path).isDirectory()) {
    throw new CliError(EXIT.usage, `${path} is a file; name the folder that holds the manifests`);
  }
  return { is: "folder", path };
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

function tell(report: SyncReport, out: Output, prune: boolean): void {
  for (const each of report.diagnostics) out.error(`${diagnosticText(each)}\n`);
  for (const { ref, applied } of report.changed) out.write(`${describeRef(ref)} ${applied}\n`);
  for (const ref of report.pruned) out.write(`${describeRef(ref)} deleted: manifest is gone\n`);
  if (report.vanished.length === 0 || prune) return;
  const names = report.vanished.map(describeRef).join(", ");
  out.error(`warning: manifests have vanished, nothing is deleted without --prune: ${names}\n`);
}

function fired(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener("abort", () => done(), { once: true });
  });
}

/** First Ctrl-C: nothing new is started; what runs goes on, and people are told how to return. */
async function goDown(
  standalone: Standalone,
  options: UpOptions,
  { out }: UpWorld,
): Promise<number> {
  const { engine, kept } = standalone;
  const forever = new AbortController().signal;
  if (options.wait) {
    out.error("Waiting for the runs under way; Ctrl-C again leaves them to themselves\n");
    await engine.drain(forever);
  }
  const { items } = await kept.store.list("Terraform", {}, { signal: forever });
  const runs = items.filter(({ status }) => status?.run !== undefined);
  const early = await Promise.race([engine.ended, Promise.resolve("going on")]);
  await standalone.close();
  if (runs.length > 0) {
    out.error("These runs go on without the engine; nothing of them is lost:\n");
    for (const { metadata, status } of runs) {
      const { run } = status ?? {};
      out.error(`  ${metadata.namespace}/${metadata.name}: ${run?.operation}, run ${run?.id}\n`);
    }
    const at = options.dataDir === undefined ? "" : ` --data-dir ${options.dataDir}`;
    out.error(`Come back with: nigari up ${options.from}${at}\n`);
  }
  if (early === "leadership lost") {
    out.error("nigari: the data directory was taken away from this engine; it has stopped\n");
    return EXIT.failed;
  }
  return EXIT.ok;
}
