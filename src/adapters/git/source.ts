import { createReadStream } from "node:fs";
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { GitRepository } from "../../api/core.ts";
import { parseDuration } from "../../api/duration.ts";
import { keyOf, keyText } from "../../api/kinds.ts";
import {
  ArtifactError,
  type ArtifactKeeper,
  type GitRequest,
  type GitResult,
  type GitSource,
  type KeptArtifact,
} from "../../ports/artifacts.ts";
import type { Call } from "../../ports/call.ts";
import type { Clock, Random } from "../../ports/clock.ts";
import { type Address, readAddress } from "./address.ts";
import { writeArchive } from "./archive.ts";
import { createGit } from "./command.ts";
import { createMirror } from "./mirror.ts";
import { describeWanted, resolveRef, revisionOf } from "./refs.ts";
import { openSession } from "./session.ts";

/**
 * Artifacts of Git repositories by the system's git: ask what spec.ref means now, fetch that commit
 * as shallow as can be into a mirror, archive its tree. An archive that is already kept is not made
 * again, and costs one question to the server.
 */
export interface GitSourceOptions {
  /** Folder for mirrors and, while git runs, credentials. One engine at a time uses it. */
  readonly folder: string;
  /** Where a relative path in spec.url begins. */
  readonly baseFolder: string;
  /** What git may know of the environment: PATH, HOME, proxies, SSH_AUTH_SOCK. */
  readonly env: Readonly<Record<string, string>>;
  readonly keeper: ArtifactKeeper;
  readonly clock: Clock;
  readonly random: Random;
  /** Largest single file git may write: a pack, or the archive before it is compressed. */
  readonly fileLimitBytes?: number;
}

const FILE_LIMIT_BYTES = 512 * 1024 * 1024;
const TIMEOUT_MS = 60_000;
/** A mirror that nobody used for so long is removed at the next start. */
const MIRROR_UNUSED_MS = 30 * 24 * 3_600_000;
/** Commits whose archive is remembered, so that it need not be made again. */
const REMEMBERED_MAX = 1_000;

export function createGitSource(options: GitSourceOptions): GitSource {
  const memory = createMemory(options.keeper);
  const inTurn = oneAtATime();
  let tidied: Promise<void> | undefined;

  return {
    async fetch(request, call) {
      const name = `GitRepository ${keyText(keyOf(request.repository))}`;
      const { spec } = request.repository;
      const timeoutMs = parseDuration(spec.timeout ?? "") ?? TIMEOUT_MS;
      const signal = options.clock.deadline(`Fetching ${name}`, timeoutMs, call.signal);
      try {
        tidied ??= tidy(options.folder, options.clock.now());
        await tidied;
        refuseUnsupported(request.repository);
        const address = readAddress(spec.url, options.baseFolder);
        // One look at an address at a time: its mirror has one writer.
        return await inTurn(address.url, signal, () =>
          look(options, memory, { ...request, address }, { signal }),
        );
      } catch (error) {
        throw named(name, error, signal);
      }
    },
  };
}

async function look(
  options: GitSourceOptions,
  memory: Memory,
  request: GitRequest & { readonly address: Address },
  call: Call,
): Promise<GitResult> {
  const { spec } = request.repository;
  const { address, credentials } = request;
  const ref = spec.ref ?? {};
  const fileLimitBytes = options.fileLimitBytes ?? FILE_LIMIT_BYTES;
  const folder = join(options.folder, "sessions", options.random.hex(8));
  const session = await openSession({ folder, address, env: options.env, credentials });
  try {
    const git = createGit(session, {
      address,
      secrets: session.secrets,
      hasSecret: spec.secretRef !== undefined,
      wanted: describeWanted(ref),
      fileLimitBytes,
    });
    const target = await resolveRef(git, address, ref, call);
    const known = await memory.recall(target.commit, spec.ignore, call);
    if (known !== undefined) {
      return { ...known, revision: revisionOf(target.label, target.commit) };
    }
    const mirror = createMirror(join(options.folder, "mirrors"), address, git, options.random);
    const commit = await mirror.fetch(target, call);
    const what = { gitDir: mirror.path, commit, ignore: spec.ignore, folder };
    const tar = await writeArchive(git, what, call);
    const kept = await options.keeper.keep(compressed(tar, call), call);
    memory.remember(commit, spec.ignore, kept);
    return { ...kept, revision: revisionOf(target.label, commit) };
  } finally {
    await session.close();
  }
}

function refuseUnsupported(repository: GitRepository): void {
  if (repository.spec.recurseSubmodules !== true) return;
  throw new ArtifactError(
    "Field spec.recurseSubmodules is not obeyed yet; set it to false, " +
      "and bring modules of other repositories in by their source address",
    false,
  );
}

async function* compressed(tar: string, call: Call): AsyncIterable<Uint8Array> {
  const gzip = createGzip({ level: 6 });
  // The pipeline's own promise fails with the iteration below; nobody else waits for it.
  const piped = pipeline(createReadStream(tar), gzip, { signal: call.signal }).catch(() => {});
  yield* gzip;
  await piped;
}

/** Which archive a commit became, for as long as this process lives; it can be made again. */
interface Memory {
  recall(commit: string, ignore: string | undefined, call: Call): Promise<KeptArtifact | undefined>;
  remember(commit: string, ignore: string | undefined, kept: KeptArtifact): void;
}

function createMemory(keeper: ArtifactKeeper): Memory {
  const digests = new Map<string, string>();
  return {
    async recall(commit, ignore = "", call) {
      const digest = digests.get(`${commit} ${ignore}`);
      return digest === undefined ? undefined : await keeper.find(digest, call);
    },
    remember(commit, ignore = "", kept) {
      digests.set(`${commit} ${ignore}`, kept.digest);
      const [oldest] = digests.keys();
      if (digests.size > REMEMBERED_MAX && oldest !== undefined) digests.delete(oldest);
    },
  };
}

/** Removes what a killed engine left (its credentials first) and mirrors nobody uses. */
async function tidy(folder: string, nowMs: number): Promise<void> {
  await rm(join(folder, "sessions"), { recursive: true, force: true });
  const mirrors = join(folder, "mirrors");
  await mkdir(mirrors, { recursive: true, mode: 0o700 });
  for (const name of await readdir(mirrors)) {
    const used = await stat(join(mirrors, name, "whole")).catch(() => undefined);
    if (used !== undefined && nowMs - used.mtimeMs < MIRROR_UNUSED_MS) continue;
    await rm(join(mirrors, name), { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Names the object; trouble of the machine (a full disk) becomes an ArtifactError too. */
function named(name: string, error: unknown, signal: AbortSignal): unknown {
  if (error instanceof ArtifactError) {
    return new ArtifactError(`${name}: ${error.message}`, error.transient, { cause: error });
  }
  if (!(error instanceof Error) || (!("code" in error) && !signal.aborted)) return error;
  const reason: unknown = signal.aborted ? signal.reason : error;
  const why = reason instanceof Error ? reason.message : String(reason);
  return new ArtifactError(`${name}: Fetching failed: ${why}`, true, { cause: error });
}

/** Runs tasks of one key one after the other; who waits too long for its turn gives up. */
function oneAtATime() {
  const last = new Map<string, Promise<unknown>>();
  return async <T>(key: string, signal: AbortSignal, task: () => Promise<T>): Promise<T> => {
    const turn = last.get(key) ?? Promise.resolve();
    const mine = turn.then(() => {
      signal.throwIfAborted();
      return task();
    });
    // Whoever comes next waits for the end of this one, however it ends.
    const settled = mine.catch(() => {});
    last.set(key, settled);
    void settled.then(() => {
      if (last.get(key) === settled) last.delete(key);
    });
    await Promise.race([turn, aborted(signal)]);
    signal.throwIfAborted();
    return await mine;
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
