import { randomBytes } from "node:crypto";
import http, { type ClientRequest, type IncomingMessage } from "node:http";
import https from "node:https";
import type { Duplex } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";
import { ApiError, networkError, statusError } from "./api-error.ts";
import { Credentials, type Identity } from "./credentials.ts";
import { AccessError, type ClusterAccess } from "./kubeconfig.ts";

export interface ConnectionOptions {
  readonly clock: Pick<Clock, "deadline" | "now">;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Shown to the server, as `nigari/0.1.0`. */
  readonly userAgent: string;
  /** Requests that may be under way at once, each watch being one; 8 if left out. */
  readonly socketsMax?: number;
  /** Told of each answer; `code` "<error>" where there was none. */
  readonly answered?: (method: string, code: string) => void;
}

export interface Request {
  /** GET if left out. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, from the server's own path on. */
  readonly path: string;
  /** JSON to send. */
  readonly body?: string;
  /** What kind of JSON; application/json if left out. */
  readonly contentType?: string;
  /** Bound on the whole call, the body too. */
  readonly limitMs: number;
  readonly accept?: string;
}

/** An answer whose body is still to be read; reading it is bound by the call too. */
export interface Answer {
  readonly headers: http.IncomingHttpHeaders;
  readonly body: AsyncIterable<Buffer>;
}

const SOCKETS_MAX = 8;
/** A page of a list, or an error's text; no page of ours comes near. */
const BODY_MAX_BYTES = 256 * 1024 * 1024;

/**
 * Requests to one API server. Each has a bound, over its whole body; each counts. Whatever does
 * not come out well is an ApiError that says why.
 */
export class Connection {
  readonly #access: ClusterAccess;
  readonly #options: ConnectionOptions;
  readonly #credentials: Credentials;
  #agent: http.Agent | undefined;
  /** The plugin's certificate that the agent was made with. */
  #agentOf: string | undefined;
  #calls = 0;

  constructor(access: ClusterAccess, options: ConnectionOptions) {
    this.#access = access;
    this.#options = options;
    this.#credentials = new Credentials(access, {
      env: options.env,
      now: () => options.clock.now(),
    });
  }

  /** Requests that were sent so far. */
  get calls(): number {
    return this.#calls;
  }

  close(): void {
    this.#agent?.destroy();
  }

  /** Reads a JSON document. */
  async json(
    request: Request,
    call: Call,
  ): Promise<{ value: unknown; dateMs: number | undefined }> {
    return this.#bound(request, call, async (signal) => {
      const answer = await this.#send(request, signal);
      const pieces: Buffer[] = [];
      let size = 0;
      for await (const piece of answer.body) {
        size += piece.length;
        if (size > BODY_MAX_BYTES) throw new ApiError("too-large", "The answer is too large");
        pieces.push(piece);
      }
      const dateMs = Date.parse(answer.headers.date ?? "");
      return {
        value: parsed(Buffer.concat(pieces)),
        dateMs: Number.isNaN(dateMs) ? undefined : dateMs,
      };
    });
  }

  /** Reads a body as it comes; `take` gets it, and the bound holds until it is done. */
  async stream<T>(
    request: Request,
    take: (body: AsyncIterable<Buffer>) => Promise<T>,
    call: Call,
  ): Promise<T> {
    return this.#bound(request, call, async (signal) => {
      const { body } = await this.#send(request, signal);
      return take(body);
    });
  }

  /** Yields a body's pieces as they come; leaving it early closes the connection. */
  async *pieces(request: Request, call: Call): AsyncGenerator<Buffer> {
    const signal = this.#deadline(request, call);
    try {
      const { body } = await this.#send(request, signal);
      yield* body;
    } catch (error) {
      throw this.#trouble(error, { request, signal, call });
    }
  }

  /** A WebSocket's raw connection; `use` gets it, and it is closed when that is done. */
  async upgrade<T>(
    request: Request & { readonly protocol: string },
    use: (socket: Duplex, head: Buffer) => Promise<T>,
    call: Call,
  ): Promise<T> {
    return this.#bound(request, call, async (signal) => {
      const identity = await this.#credentials.identity({ signal });
      const sent = this.#request(request, identity, signal, {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": randomBytes(16).toString("base64"),
        "sec-websocket-protocol": request.protocol,
      });
      const { promise, resolve, reject } = Promise.withResolvers<{
        socket: Duplex;
        head: Buffer;
      }>();
      sent.once("upgrade", (_answer, socket, head) => resolve({ socket, head }));
      sent.once("response", (answer) => {
        textOf(answer).then((text) => reject(statusError(answer.statusCode ?? 0, text)), reject);
      });
      sent.once("error", reject);
      sent.end();
      const { socket, head } = await promise;
      const end = () => socket.destroy();
      signal.addEventListener("abort", end);
      try {
        return await use(socket, head);
      } finally {
        signal.removeEventListener("abort", end);
        socket.destroy();
      }
    });
  }

  async #bound<T>(
    request: Request,
    call: Call,
    act: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const signal = this.#deadline(request, call);
    try {
      return await act(signal);
    } catch (error) {
      throw this.#trouble(error, { request, signal, call });
    }
  }

  #deadline({ method = "GET", path, limitMs }: Request, call: Call): AbortSignal {
    return this.#options.clock.deadline(`${method} ${path.split("?")[0]}`, limitMs, call.signal);
  }

  /** What went wrong, in a form that says so; the end of the whole call stays what it is. */
  #trouble(
    error: unknown,
    at: { readonly request: Request; readonly signal: AbortSignal; readonly call: Call },
  ): unknown {
    if (at.call.signal.aborted) return at.call.signal.reason;
    if (error instanceof ApiError || error instanceof AccessError) return error;
    const limitMs = at.signal.aborted ? at.request.limitMs : undefined;
    return networkError(error, limitMs, this.#access.server);
  }

  async #send(request: Request, signal: AbortSignal): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      const identity = await this.#credentials.identity({ signal });
      const method = request.method ?? "GET";
      const answer = await this.#answer(request, identity, signal).catch((error: unknown) => {
        this.#options.answered?.(method, "<error>");
        // A kept-alive connection that the server closed meanwhile: once more on a fresh one,
        // but a write may have been done.
        const code = (error as NodeJS.ErrnoException).code;
        const again = attempt === 1 && request.method === undefined && code === "ECONNRESET";
        if (!again || signal.aborted) throw error;
        return undefined;
      });
      if (answer === undefined) continue;
      const status = answer.statusCode ?? 0;
      this.#options.answered?.(method, String(status));
      if (status >= 200 && status < 300) return { headers: answer.headers, body: bodyOf(answer) };
      const text = await textOf(answer);
      if (status === 401 && attempt === 1 && this.#credentials.refused()) continue;
      throw statusError(status, text, answer.headers["retry-after"]);
    }
  }

  #answer(request: Request, identity: Identity, signal: AbortSignal): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const sent = this.#request(request, identity, signal, {});
    sent.once("response", resolve);
    sent.once("error", reject);
    sent.end(request.body);
    return promise;
  }

  #request(
    request: Request,
    identity: Identity,
    signal: AbortSignal,
    more: Readonly<Record<string, string>>,
  ): ClientRequest {
    this.#calls += 1;
    const { server, tls, impersonate } = this.#access;
    const url = new URL(server);
    const [path = "", query] = request.path.split("?");
    url.pathname = `${server.pathname.replace(/\/$/, "")}${path}`;
    url.search = query === undefined ? "" : `?${query}`;
    const options: https.RequestOptions = {
      method: request.method ?? "GET",
      headers: {
        accept: request.accept ?? "application/json",
        ...bodyHeaders(request),
        "accept-encoding": "gzip",
        "user-agent": this.#options.userAgent,
        ...identity.headers,
        ...impersonation(impersonate),
        ...more,
      },
      agent: this.#agentFor(identity),
      signal,
    };
    if (url.protocol === "http:") return http.request(url, options);
    return https.request(url, {
      ...options,
      ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    });
  }

  #agentFor(identity: Identity): http.Agent {
    if (this.#agent !== undefined && this.#agentOf === identity.certificate) return this.#agent;
    this.#agent?.destroy();
    this.#agentOf = identity.certificate;
    const { server, tls, proxy } = this.#access;
    const env = this.#options.env;
    const proxyEnv =
      proxy === undefined
        ? {
            HTTPS_PROXY: env.HTTPS_PROXY ?? env.https_proxy,
            NO_PROXY: env.NO_PROXY ?? env.no_proxy,
          }
        : { HTTP_PROXY: proxy, HTTPS_PROXY: proxy };
    const maxSockets = this.#options.socketsMax ?? SOCKETS_MAX;
    const shared = { keepAlive: true, maxSockets, proxyEnv: known(proxyEnv) };
    this.#agent =
      server.protocol === "http:"
        ? new http.Agent(shared)
        : new https.Agent({
            ...shared,
            ...known({
              ca: tls.ca,
              cert: tls.certificate ?? identity.certificate,
              key: tls.key ?? identity.key,
            }),
            rejectUnauthorized: !tls.insecure,
          });
    return this.#agent;
  }
}

/** The length is told, since Node.js would send the body of a DELETE without any. */
function bodyHeaders({ body, contentType }: Request): http.OutgoingHttpHeaders {
  if (body === undefined) return {};
  const type = contentType ?? "application/json";
  return { "content-type": type, "content-length": Buffer.byteLength(body) };
}

function impersonation(as: ClusterAccess["impersonate"]): http.OutgoingHttpHeaders {
  if (as === undefined) return {};
  return {
    "impersonate-user": as.user,
    ...(as.groups.length === 0 ? {} : { "impersonate-group": [...as.groups] }),
    ...(as.uid === undefined ? {} : { "impersonate-uid": as.uid }),
  };
}

function known<T extends Record<string, string | undefined>>(values: T): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

function bodyOf(answer: IncomingMessage): AsyncIterable<Buffer> {
  if (answer.headers["content-encoding"] !== "gzip") return answer;
  const gunzip = createGunzip();
  answer.once("error", (error) => gunzip.destroy(error));
  answer.once("aborted", () => gunzip.destroy(new Error("The answer broke off")));
  return answer.pipe(gunzip);
}

/** The text of an answer that is an error, as far as anybody reads it. */
async function textOf(answer: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of bodyOf(answer)) {
    if (text.length < 16_384) text += chunk.toString("utf8");
  }
  return text;
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new ApiError("damaged", "The answer is no whole JSON");
  }
}
