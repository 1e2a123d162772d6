import { type IncomingMessage, request } from "node:http";
import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";
import { EngineUnavailable } from "../../ports/engine.ts";
import { StoreError } from "../../ports/object-store.ts";
import { StateDamaged, StateRefused } from "../../ports/state.ts";
import { completed, faultIn, writeQuery } from "../../server/check.ts";
import {
  type Input,
  type Operation,
  type OperationName,
  type Output,
  operations,
  type Streams,
  type Unary,
} from "../../server/operations.ts";
import { ErrorSchema, type WireError } from "../../server/schemas.ts";
import { refuseForeignFolder } from "../../server/socket.ts";
import {
  isError,
  SILENCE_MS,
  UNARY_MS,
  VERSION_HEADER,
  type WireMessage,
} from "../../server/wire.ts";

/** What is given with a question; what the operation has none of is left out. */
export type Given<N extends OperationName> = {
  readonly [K in keyof Input<N> as Input<N>[K] extends undefined ? never : K]: Input<N>[K];
};

interface Ask {
  readonly operation: Operation;
  readonly given: {
    readonly params?: Readonly<Record<string, unknown>>;
    readonly query?: Readonly<Record<string, unknown>>;
    readonly body?: unknown;
  };
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

  async ask<N extends Unary>(name: N, given: Given<N>, call: Call): Promise<Output<N>> {
    const operation: Operation = operations[name];
    const signal = this.#clock.deadline("Waiting for the engine", UNARY_MS, call.signal);
    const response = await this.#open({ operation, given }, signal);
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of response) chunks.push(chunk as Buffer);
    } catch (error) {
      throw this.#broken(error, signal);
    }
    const body = Buffer.concat(chunks);
    if ((response.statusCode ?? 500) >= 300) throw this.#refusal(body, response);
    if (operation.answer.is === "bytes") {
      return (response.statusCode === 204 ? undefined : body) as Output<N>;
    }
    return this.#read(operation, body.toString("utf8")) as Output<N>;
  }

  #read({ answer, path }: Operation, text: string): unknown {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw new EngineUnavailable(`Engine at ${this.#socket} gave an answer that is no JSON`, {
        cause: error,
      });
    }
    if (!("schema" in answer)) return value;
    const whole = completed(answer.schema, value);
    const fault = faultIn(answer.schema, whole);
    if (fault === undefined) return whole;
    throw new EngineUnavailable(
      `Engine at ${this.#socket} gave an answer to ${path} that is not as it should be${fault}; ` +
        "see that nigari here is of the same version",
    );
  }

  /** Messages until the call's signal fires; the end of the engine is an error. */
  async *stream<N extends Streams>(name: N, given: Given<N>, call: Call): AsyncIterable<Output<N>> {
    const operation = operations[name];
    const silence = new AbortController();
    const signal = AbortSignal.any([call.signal, silence.signal]);
    const late = () =>
      silence.abort(new Error(`It said nothing for ${SILENCE_MS / 1_000} seconds`));
    let timer = setTimeout(late, SILENCE_MS);
    try {
      const response = await this.#open({ operation, given }, signal);
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
          if (message === undefined) continue;
          if (isError(message)) throw errorOf(message.data);
          if (message.event === operation.answer.event) yield message.data as Output<N>;
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
    const { operation, given } = ask;
    const content =
      given.body === undefined || given.body instanceof Uint8Array
        ? given.body
        : JSON.stringify(given.body);
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
        method: operation.method,
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
      const wire: unknown = JSON.parse(body.toString("utf8"));
      if (!isWireError(wire)) throw new Error("It is no error of ours");
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

function pathOf({ operation, given }: Ask): string {
  const { params = {}, query = {} } = given;
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(params[name])),
  );
  const pairs = writeQuery(query).map((pair) => pair.map(encodeURIComponent).join("="));
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}

/** Kinds of errors may be added, so that one is not looked at closely. */
function isWireError(value: unknown): value is WireError {
  return faultIn(ErrorSchema, value) === undefined;
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
