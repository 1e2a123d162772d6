import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  type ChannelCredentials,
  Client,
  type ClientOptions,
  type ClientReadableStream,
  type MethodDefinition,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import type { Call } from "../ports/call.ts";
import {
  type InputFile,
  type RunEvent,
  type RunFile,
  type RunnerConnection,
  RunnerError,
  type RunnerErrorCode,
  type RunnerHello,
  type StartOrder,
} from "../ports/runner.ts";
import { bearing, saysSuperseded } from "./epoch.ts";
import {
  type FileHeader,
  PutFileRequestSchema,
  type WatchResponse,
} from "./generated/runner_pb.ts";
import { runnerMethods } from "./grpc.ts";
import { entryFromMessage, orderToMessage } from "./messages.ts";
import { PROTOCOL_VERSION } from "./run-folder.ts";

/** Where a runner is reached; the transport (socket, mTLS) is the caller's choice. */
export interface RunnerTarget {
  /** The run it is expected to serve. */
  readonly runId: string;
  /** As grpc-js takes it: `unix:/path` or `host:port`. */
  readonly address: string;
  readonly credentials: ChannelCredentials;
  /** Of the engine that speaks; left out by whoever only looks. */
  readonly epoch?: number | undefined;
  readonly options?: ClientOptions;
}

export interface RunnerClientLimits {
  /** Version this side speaks. */
  readonly protocolVersion: number;
  /** A unary call ends after this; a stream, if it brings nothing for this long at its start. */
  readonly callLimitMs: number;
}

const CHANNEL_OPTIONS: ClientOptions = {
  // A channel of one's own, so that throwing it away really closes the connection.
  "grpc.use_local_subchannel_pool": 1,
  // What is sent again is decided by who knows whether that is safe, never by the transport.
  "grpc.enable_retries": 0,
  "grpc.enable_http_proxy": 0,
  "grpc.service_config_disable_resolution": 1,
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
  "grpc.max_receive_message_length": 8 << 20,
};

/**
 * Speaks to one runner. No call waits for readiness; each ends within the limit, or when its
 * signal fires. The transport is thrown away at the first call that got no answer, because what is
 * queued behind a dead connection would wait with it; the next call makes a new one.
 *
 * A runner of the version before this one is watched, cancelled, read and released like any other,
 * so that an upgrade loses no run; only `putFile` and `start` insist on the same version.
 */
export class RunnerClient implements RunnerConnection {
  readonly #target: RunnerTarget;
  readonly #limits: RunnerClientLimits;
  #transport: Transport | undefined;

  constructor(target: RunnerTarget, limits: Partial<RunnerClientLimits> = {}) {
    this.#target = target;
    this.#limits = { protocolVersion: PROTOCOL_VERSION, callLimitMs: 10_000, ...limits };
  }

  async hello(call: Call): Promise<RunnerHello> {
    const { protocolVersion } = this.#limits;
    const answer = await this.#unary(runnerMethods.hello, { protocolVersion }, call);
    if (answer.runId !== this.#target.runId) {
      const message = `The runner at ${this.#target.address} serves run ${answer.runId}`;
      throw new RunnerError("Refused", `${message}, not ${this.#target.runId}`);
    }
    const { $typeName: _, $unknown: __, ...hello } = answer;
    return hello;
  }

  async putFile(file: InputFile, call: Call): Promise<void> {
    await this.#greeted("start", call);
    await this.#bounded("PutFile", call, async (ongoing) => {
      const { promise: answered, resolve, reject } = Promise.withResolvers<void>();
      answered.catch(ignore);
      const { path, requestSerialize, responseDeserialize } = runnerMethods.putFile;
      const stream = ongoing.transport.client.makeClientStreamRequest(
        path,
        requestSerialize,
        responseDeserialize,
        (error) => (error === null ? resolve() : reject(error)),
      );
      stream.on("error", ignore);
      ongoing.cancelBy(() => stream.cancel());
      const { name, digest } = file;
      const header = { name, digest, sizeBytes: BigInt(file.sizeBytes) };
      stream.write(create(PutFileRequestSchema, { part: { case: "header", value: header } }));
      for await (const value of file.chunks) {
        ongoing.touch();
        const chunk = create(PutFileRequestSchema, { part: { case: "chunk", value } });
        const written = new Promise<void>((done) => stream.write(chunk, () => done()));
        await Promise.race([written, answered]);
      }
      stream.end();
      await answered;
    });
  }

  async start(order: StartOrder, call: Call): Promise<void> {
    await this.#greeted("start", call);
    await this.#unary(runnerMethods.start, orderToMessage(order), call);
  }

  async *watch(
    from: { fromSequence: number; logOffset: number },
    call: Call,
  ): AsyncGenerator<RunEvent> {
    await this.#greeted("collect", call);
    const request = {
      fromSequence: BigInt(from.fromSequence),
      logOffset: BigInt(from.logOffset),
    };
    const messages = this.#stream(runnerMethods.watch, request, call, "first message");
    for await (const message of messages) {
      const event = eventFrom(message);
      if (event !== undefined) yield event;
    }
  }

  async cancel(graceMs: number, call: Call): Promise<void> {
    await this.#greeted("collect", call);
    await this.#unary(runnerMethods.cancel, { graceMs: BigInt(graceMs) }, call);
  }

  /** A result file; undefined if the run made none. Checked against its digest. */
  async readFile(name: RunFile, call: Call): Promise<Uint8Array | undefined> {
    await this.#greeted("collect", call);
    const chunks: Uint8Array[] = [];
    let header: FileHeader | undefined;
    try {
      const parts = this.#stream(runnerMethods.readFile, { name }, call, "every message");
      for await (const { part } of parts) {
        if (part.case === "header") header = part.value;
        else if (part.case === "chunk") chunks.push(part.value);
      }
    } catch (error) {
      if (error instanceof RunnerError && error.code === "NotFound") return undefined;
      throw error;
    }
    const content = Buffer.concat(chunks);
    if (header?.digest !== createHash("sha256").update(content).digest("hex")) {
      throw new RunnerError("DataLoss", `File ${name} of ${this.#name()} did not arrive whole`);
    }
    return content;
  }

  async release(call: Call): Promise<void> {
    await this.#greeted("collect", call);
    await this.#unary(runnerMethods.release, {}, call);
  }

  close(): void {
    if (this.#transport !== undefined) this.#drop(this.#transport);
  }

  #name(): string {
    return `the runner of run ${this.#target.runId}`;
  }

  /** Asks for the version once per transport; refuses what must not be asked of that version. */
  async #greeted(use: "start" | "collect", call: Call): Promise<void> {
    const transport = this.#connected();
    transport.version ??= (await this.hello(call)).protocolVersion;
    const ours = this.#limits.protocolVersion;
    const theirs = transport.version;
    if (theirs === ours || (use === "collect" && theirs === ours - 1)) return;
    const what = use === "start" ? "it is not given anything to start" : "it cannot be collected";
    const message = `Version ${theirs} of the protocol is spoken by ${this.#name()}`;
    throw new RunnerError("Incompatible", `${message}; version ${ours} is spoken here: ${what}`);
  }

  #connected(): Transport {
    this.#transport ??= new Transport(this.#target);
    return this.#transport;
  }

  #drop(transport: Transport): void {
    if (this.#transport === transport) this.#transport = undefined;
    transport.close();
  }

  async #unary<Request extends object, Response>(
    method: MethodDefinition<Request, Response>,
    request: Omit<Request, "$typeName">,
    call: Call,
  ): Promise<Response> {
    const name = method.path.split("/").at(-1) ?? method.path;
    return await this.#bounded(name, call, async (ongoing) => {
      const { promise, resolve, reject } = Promise.withResolvers<Response>();
      const answered = (error: ServiceError | null, response?: Response) => {
        if (response !== undefined && error === null) resolve(response);
        else reject(error ?? new Error("The answer was empty"));
      };
      const { path, requestSerialize, responseDeserialize } = method;
      // The serializer completes a bare object.
      const message = request as Request;
      const sent = ongoing.transport.client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        message,
        answered,
      );
      ongoing.cancelBy(() => sent.cancel());
      return await promise;
    });
  }

  /** The time limit holds for the first message alone, or anew for every one. */
  async *#stream<Request extends object, Response>(
    method: MethodDefinition<Request, Response>,
    request: Omit<Request, "$typeName">,
    call: Call,
    limited: "first message" | "every message",
  ): AsyncGenerator<Response> {
    const transport = this.#connected();
    const name = method.path.split("/").at(-1) ?? method.path;
    const bound = new Bound(call.signal, this.#limits.callLimitMs);
    const { path, requestSerialize, responseDeserialize } = method;
    const stream: ClientReadableStream<Response> = transport.client.makeServerStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request as Request,
    );
    // Also errors that come after the last look at the stream must find somebody.
    stream.on("error", ignore);
    const cancel = () => stream.cancel();
    transport.cancels.add(cancel);
    bound.signal.addEventListener("abort", cancel, { once: true });
    try {
      bound.signal.throwIfAborted();
      for await (const message of stream) {
        bound.stopTimer();
        yield message;
        if (limited === "every message") bound.startTimer();
      }
      bound.signal.throwIfAborted();
    } catch (error) {
      throw this.#translated(name, error, { bound, transport });
    } finally {
      bound.end();
      stream.cancel();
      transport.cancels.delete(cancel);
    }
  }

  /** Runs one call with a time limit that `touch` starts anew; translates its error. */
  async #bounded<T>(name: string, call: Call, work: (ongoing: Ongoing) => Promise<T>): Promise<T> {
    const transport = this.#connected();
    const bound = new Bound(call.signal, this.#limits.callLimitMs);
    let cancel = ignore;
    const cancelBy = (how: () => void) => {
      cancel = how;
      transport.cancels.add(how);
    };
    try {
      bound.signal.throwIfAborted();
      const working = work({ transport, touch: () => bound.startTimer(), cancelBy });
      working.catch(ignore);
      return await Promise.race([working, bound.fired]);
    } catch (error) {
      throw this.#translated(name, error, { bound, transport });
    } finally {
      bound.end();
      transport.cancels.delete(cancel);
      cancel();
    }
  }

  #translated(
    name: string,
    error: unknown,
    { bound, transport }: { bound: Bound; transport: Transport },
  ): RunnerError {
    if (error instanceof RunnerError) return error;
    if (bound.signal.aborted) {
      // The caller's own cancel says nothing about the transport; silence does.
      if (bound.timedOut) this.#drop(transport);
      const within = bound.timedOut ? ` within ${this.#limits.callLimitMs / 1000} s` : " in time";
      return new RunnerError(
        "DeadlineExceeded",
        `No answer to ${name} from ${this.#name()}${within}`,
        {
          cause: bound.signal.reason,
        },
      );
    }
    const { code, details } = error as Partial<ServiceError>;
    const superseded = code === status.FAILED_PRECONDITION && saysSuperseded(details ?? "");
    const known = superseded ? "Superseded" : (codes.get(code ?? status.UNKNOWN) ?? "Internal");
    if (known === "Unavailable" || known === "DeadlineExceeded") this.#drop(transport);
    const why = details || (error instanceof Error ? error.message : String(error));
    return new RunnerError(known, `${name} failed at ${this.#name()}: ${why}`, { cause: error });
  }
}

const codes = new Map<status, RunnerErrorCode>([
  [status.UNAVAILABLE, "Unavailable"],
  // Nobody here cancelled: the connection went away under the call.
  [status.CANCELLED, "Unavailable"],
  [status.DEADLINE_EXCEEDED, "DeadlineExceeded"],
  [status.FAILED_PRECONDITION, "Refused"],
  [status.PERMISSION_DENIED, "Refused"],
  [status.INVALID_ARGUMENT, "Refused"],
  [status.UNIMPLEMENTED, "Incompatible"],
  [status.DATA_LOSS, "DataLoss"],
  [status.NOT_FOUND, "NotFound"],
]);

/** One call under way. */
interface Ongoing {
  readonly transport: Transport;
  /** It moves: the time limit starts anew. */
  touch(): void;
  /** How to end it, whatever happens. */
  cancelBy(cancel: () => void): void;
}

class Transport {
  readonly client: Client;
  /** Ends each call that is under way. */
  readonly cancels = new Set<() => void>();
  /** Protocol version of the runner at its other end. */
  version: number | undefined;

  constructor({ address, credentials, epoch, options }: RunnerTarget) {
    const interceptors = epoch === undefined ? [] : [bearing(epoch)];
    const all = { ...CHANNEL_OPTIONS, interceptors, ...options };
    this.client = new Client(address, credentials, all);
  }

  close(): void {
    for (const cancel of this.cancels) cancel();
    this.cancels.clear();
    this.client.close();
  }
}

/** A time limit together with the caller's signal. */
class Bound {
  readonly signal: AbortSignal;
  /** Rejects when either has fired. */
  readonly fired: Promise<never>;
  timedOut = false;
  readonly #control = new AbortController();
  readonly #outer: AbortSignal;
  readonly #limitMs: number;
  readonly #fire = () => this.#control.abort(this.#outer.reason);
  #timer: NodeJS.Timeout | undefined;

  constructor(outer: AbortSignal, limitMs: number) {
    this.#outer = outer;
    this.#limitMs = limitMs;
    this.signal = this.#control.signal;
    this.fired = new Promise((_, reject) => {
      this.signal.addEventListener("abort", () => reject(this.signal.reason), { once: true });
    });
    this.fired.catch(ignore);
    if (outer.aborted) this.#fire();
    else outer.addEventListener("abort", this.#fire, { once: true });
    this.startTimer();
  }

  /** Starts the time limit anew. */
  startTimer(): void {
    this.stopTimer();
    this.#timer = setTimeout(() => {
      this.timedOut = true;
      this.#control.abort(new Error(`The limit of ${this.#limitMs} ms passed`));
    }, this.#limitMs);
  }

  stopTimer(): void {
    clearTimeout(this.#timer);
  }

  end(): void {
    this.stopTimer();
    this.#outer.removeEventListener("abort", this.#fire);
  }
}

/** Undefined for a kind of event that a newer runner may know and this version does not. */
function eventFrom({ event }: WatchResponse): RunEvent | undefined {
  switch (event.case) {
    case "heartbeat":
      return { type: "heartbeat" };
    case "log":
      return { type: "log", offset: Number(event.value.offset), line: event.value.line };
    case "entry":
      return entryFromMessage(event.value);
    default:
      return undefined;
  }
}

function ignore(): void {}
