import { type IncomingMessage, request } from "node:http";
import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";
import { EngineUnavailable } from "../../ports/engine.ts";
import { StoreError } from "../../ports/object-store.ts";
import { StateDamaged, StateRefused } from "../../ports/state.ts";
import { refuseForeignFolder } from "../../server/socket.ts";
import {
  API,
  SILENCE_MS,
  UNARY_MS,
  VERSION_HEADER,
  type WireError,
  type WireMessage,
} from "../../server/wire.ts";

export interface Ask {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Segments below the API's root, each taken as it is. */
  readonly path: readonly string[];
  readonly query?: readonly (readonly [string, string | undefined])[];
  /** JSON, or the bytes of a state. */
  readonly body?: { readonly json: unknown } | { readonly bytes: Uint8Array };
}

/**
 * Speaks with an engine over its socket, one connection a request. Nothing hangs: a dead engine
 * is known at once, a frozen one by silence. Errors are those of the ports, or EngineUnavailable.
 */
export class EngineConnection {
  readonly #socket: string;
  readonly #clock: Clock;
  constructor(socket: string, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
  }

  /** The answer's body; undefined for "no content". */
  async ask(ask: Ask, call: Call): Promise<Buffer | undefined> {
    const signal = this.#clock.deadline("Waiting for the engine", UNARY_MS, call.signal);
    const response = await this.#open(ask, signal);
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of response) chunks.push(chunk as Buffer);
    } catch (error) {
      throw this.#broken(error, signal);
    }
    const body = Buffer.concat(chunks);
    if (response.statusCode === 204) return undefined;
    if ((response.statusCode ?? 500) < 300) return body;
    throw this.#refusal(body, response);
  }

  async askJson<T>(ask: Ask, call: Call): Promise<T> {
    const body = await this.ask(ask, call);
    try {
      return JSON.parse(body?.toString("utf8") ?? "") as T;
    } catch (error) {
      throw new EngineUnavailable(`Engine at ${this.#socket} gave an answer that is no JSON`, {
        cause: error,
      });
    }
  }

  /** Messages until the call's signal fires; the end of the engine is an error. */
  async *stream(ask: Ask, call: Call): AsyncIterable<WireMessage> {
    const silence = new AbortController();
    const signal = AbortSignal.any([call.signal, silence.signal]);
    const late = () =>
      silence.abort(new Error(`It said nothing for ${SILENCE_MS / 1_000} seconds`));
    let timer = setTimeout(late, SILENCE_MS);
    try {
      const response = await this.#open(ask, signal);
      if (response.statusCode !== 200) throw await this.#refusedStream(response, signal);
      response.setEncoding("utf8");
      let rest = "";
      for await (const chunk of response) {
        clearTimeout(timer);
        rest += chunk as string;
        const blocks = rest.split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
          const message = parseMessage(block);
          if (message?.event === "error") throw errorOf(message.data);
          if (message !== undefined) yield message;
          if (call.signal.aborted) return;
        }
        timer = setTimeout(late, SILENCE_MS);
      }
      throw new EngineUnavailable(`Engine at ${this.#socket} has stopped`);
    } catch (error) {
      if (call.signal.aborted) return;
      throw isKnown(error) ? error : this.#broken(error, signal);
    } finally {
      clearTimeout(timer);
      silence.abort();
    }
  }

  /** Sends the request; resolves with the head of the answer. The signal ends both. */
  #open(ask: Ask, signal: AbortSignal): Promise<IncomingMessage> {
    const { body } = ask;
    const content =
      body === undefined ? undefined : "json" in body ? JSON.stringify(body.json) : body.bytes;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(this.#broken(undefined, signal));
      try {
        refuseForeignFolder(this.#socket);
      } catch (error) {
        return reject(new EngineUnavailable((error as Error).message, { cause: error }));
      }
      const sent = request({
        socketPath: this.#socket,
        path: pathOf(ask),
        method: ask.method,
        agent: false,
        signal,
        headers: content === undefined ? {} : { "content-length": Buffer.byteLength(content) },
      });
      sent.on("response", resolve);
      sent.on("error", (error) => reject(this.#broken(error, signal)));
      sent.end(content);
    });
  }

  async #refusedStream(response: IncomingMessage, signal: AbortSignal): Promise<unknown> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of response) chunks.push(chunk as Buffer);
    } catch (error) {
      return this.#broken(error, signal);
    }
    return this.#refusal(Buffer.concat(chunks), response);
  }

  #refusal(body: Buffer, response: IncomingMessage): unknown {
    try {
      const wire = JSON.parse(body.toString("utf8")) as WireError;
      if (wire.error.kind !== "request") return errorOf(wire);
      const version = String(response.headers[VERSION_HEADER] ?? "unknown");
      return new EngineUnavailable(
        `Engine (version ${version}) does not take this request: ${wire.error.message}; ` +
          "see that nigari here is of the same version",
      );
    } catch (error) {
      return new EngineUnavailable(
        `Engine at ${this.#socket} answered with status ${response.statusCode}`,
        { cause: error },
      );
    }
  }

  #broken(error: unknown, signal: AbortSignal): EngineUnavailable {
    const at = `Engine at ${this.#socket}`;
    if (signal.aborted) {
      const reason: unknown = signal.reason;
      const why = reason instanceof Error ? reason.message : String(reason);
      const mend = "see whether its process is stopped or overloaded, then try again";
      return new EngineUnavailable(`${at} gives no answer: ${why}; ${mend}`, { cause: reason });
    }
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ECONNREFUSED") {
      return new EngineUnavailable(
        `No engine listens at ${this.#socket}; start one with "nigari up"`,
        { cause: error },
      );
    }
    if (code === "EACCES") {
      return new EngineUnavailable(`${at} belongs to another user; work as that one`, {
        cause: error,
      });
    }
    return new EngineUnavailable(
      `${at} went away in the middle (${message}); what was asked may or may not be done, ` +
        "so look, and start it again if it has ended",
      { cause: error },
    );
  }
}

function pathOf({ path, query = [] }: Ask): string {
  const given = query.flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  );
  const tail = given.length === 0 ? "" : `?${given.join("&")}`;
  return `${API}/${path.map(encodeURIComponent).join("/")}${tail}`;
}

function errorOf({ error }: WireError): Error {
  if (error.kind === "store") return new StoreError(error.code ?? "Unavailable", error.message);
  if (error.kind === "state-refused") return new StateRefused(error.message);
  if (error.kind === "state-damaged") return new StateDamaged(error.message);
  return new EngineUnavailable(error.message);
}

function isKnown(error: unknown): boolean {
  return [EngineUnavailable, StoreError, StateRefused, StateDamaged].some(
    (known) => error instanceof known,
  );
}

/** One server-sent event; undefined for a comment. */
function parseMessage(block: string): WireMessage | undefined {
  let event = "";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) event = line.slice("event: ".length);
    if (line.startsWith("data: ")) data += line.slice("data: ".length);
  }
  return event === "" ? undefined : ({ event, data: JSON.parse(data) } as WireMessage);
}
