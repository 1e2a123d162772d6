import { createHash } from "node:crypto";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import type { ArtifactFact } from "../../domain/facts.ts";
import { ArtifactError, type ArtifactKeeper, type ArtifactStore } from "../../ports/artifacts.ts";
import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";

export interface HttpArtifactOptions {
  /** Where archives are kept once they have been fetched and verified. */
  readonly kept: ArtifactStore & ArtifactKeeper;
  readonly clock: Pick<Clock, "deadline">;
  /** Shown to the server, as `nigari/0.1.0`. */
  readonly userAgent: string;
  readonly limits?: Partial<FetchLimits>;
}

export interface FetchLimits {
  /** No answer, or no further byte, for so long: the server is not there. */
  readonly silenceMs: number;
  /** The whole archive. */
  readonly wholeMs: number;
}
const LIMITS: FetchLimits = { silenceMs: 10_000, wholeMs: 300_000 };

/**
 * Archives as a source-controller serves them: fetched once per digest, however many ask, verified
 * and kept on this machine. One fetch goes on while anybody waits for it.
 */
export function createHttpArtifacts(options: HttpArtifactOptions): ArtifactStore {
  const fetches = new Map<string, SharedFetch>();
  return {
    async open(artifact, call) {
      const { kept } = options;
      const fetch = (shared: Call) => fetched(artifact, options, shared);
      const found =
        (await kept.find(artifact.digest, call)) ?? (await join(fetches, artifact, fetch, call));
      return await kept.open({ ...artifact, url: found.url }, call);
    },
    async isKept({ digest }, call) {
      return (await options.kept.find(digest, call)) !== undefined;
    },
  };
}

type Kept = Awaited<ReturnType<ArtifactKeeper["keep"]>>;

interface SharedFetch {
  readonly done: Promise<Kept>;
  readonly stop: AbortController;
  waiting: number;
}

/** Waits for the fetch of this digest, or begins it; the last one to leave ends it. */
async function join(
  fetches: Map<string, SharedFetch>,
  { digest }: ArtifactFact,
  begin: (call: Call) => Promise<Kept>,
  call: Call,
): Promise<Kept> {
  if (call.signal.aborted) throw stopped(call);
  const joined = fetches.get(digest) ?? started(fetches, digest, begin);
  joined.waiting += 1;
  const { promise: left, reject } = Promise.withResolvers<never>();
  const leave = () => reject(stopped(call));
  call.signal.addEventListener("abort", leave);
  try {
    return await Promise.race([joined.done, left]);
  } finally {
    call.signal.removeEventListener("abort", leave);
    joined.waiting -= 1;
    if (joined.waiting === 0) {
      // Who comes later must not join a fetch that is being ended.
      if (fetches.get(digest) === joined) fetches.delete(digest);
      joined.stop.abort();
    }
  }
}

function started(
  fetches: Map<string, SharedFetch>,
  digest: string,
  begin: (call: Call) => Promise<Kept>,
): SharedFetch {
  const stop = new AbortController();
  const done = begin({ signal: stop.signal });
  done.catch(() => {});
  const fetch: SharedFetch = { done, stop, waiting: 0 };
  fetches.set(digest, fetch);
  return fetch;
}

function stopped({ signal }: Call): ArtifactError {
  const why = signal.reason instanceof Error ? signal.reason.message : "cancelled";
  return new ArtifactError(`Fetching the artifact was stopped: ${why}`, true, {
    cause: signal.reason,
  });
}

async function fetched(
  artifact: ArtifactFact,
  { kept, clock, userAgent, limits }: HttpArtifactOptions,
  call: Call,
): Promise<Kept> {
  const { silenceMs, wholeMs } = { ...LIMITS, ...limits };
  const url = urlOf(artifact);
  const signal = clock.deadline(`Fetching artifact ${url.href}`, wholeMs, call.signal);
  const fetch: Fetch = { url, signal, silenceMs, userAgent };
  try {
    const answer = await answerOf(fetch);
    return await kept.keep(verified(pieces(answer, fetch), artifact), { signal });
  } catch (error) {
    if (error instanceof ArtifactError && !signal.aborted) throw error;
    throw signal.aborted ? stopped({ signal }) : unreachable(url, error);
  }
}

function urlOf({ url }: ArtifactFact): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === "http:" || parsed?.protocol === "https:") return parsed;
  const text = `Artifact address "${url}" is no http or https address; reconcile its source`;
  throw new ArtifactError(text, false);
}

interface Fetch {
  readonly url: URL;
  readonly signal: AbortSignal;
  readonly silenceMs: number;
  readonly userAgent: string;
}

async function answerOf({ url, signal, silenceMs, userAgent }: Fetch): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { get } = url.protocol === "https:" ? https : http;
  const sent = get(url, { signal, timeout: silenceMs, headers: { "user-agent": userAgent } });
  sent.once("response", resolve);
  sent.once("error", reject);
  sent.once("timeout", () => sent.destroy(new Error(`no answer for ${silenceMs} ms`)));
  const answer = await promise;
  const { statusCode = 0 } = answer;
  if (statusCode === 200) return answer;
  answer.destroy();
  throw refused(url, statusCode);
}

function refused(url: URL, status: number): ArtifactError {
  if (status === 404 || status === 410) {
    const text =
      `Artifact ${url.href} is no longer served (${status}); ` +
      "its source has moved on, or source-controller has lost its storage and makes it again";
    return new ArtifactError(text, true);
  }
  if (status >= 300 && status < 400) {
    // An artifact server never redirects; following one would fetch from where anybody likes.
    const text = `Artifact ${url.href} is redirected (${status}), which is not followed`;
    return new ArtifactError(text, true);
  }
  return new ArtifactError(`Artifact ${url.href}: the server answered ${status}`, true);
}

/** The body, left as soon as it breaks off. */
async function* pieces(answer: IncomingMessage, { url }: Fetch): AsyncGenerator<Uint8Array> {
  try {
    yield* answer as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw unreachable(url, error);
  }
  if (!answer.complete) throw unreachable(url, new Error("the answer broke off"));
}

/** Fails at the end of an archive that is another one, before it is kept. */
async function* verified(
  content: AsyncIterable<Uint8Array>,
  { url, digest }: ArtifactFact,
): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  for await (const piece of content) {
    hash.update(piece);
    yield piece;
  }
  const found = `sha256:${hash.digest("hex")}`;
  if (found === digest) return;
  throw new ArtifactError(
    `Artifact ${url} has digest ${found}, and its source says ${digest}; ` +
      "it may have been replaced just now, else look at who serves that address",
    true,
  );
}

function unreachable(url: URL, error: unknown): ArtifactError {
  const why = error instanceof Error ? error.message || error.name : String(error);
  const text = `Artifact server ${url.host} cannot be reached: ${why}`;
  return new ArtifactError(text, true, { cause: error });
}
