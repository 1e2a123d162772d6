import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { Gate, Refusal } from "./access.ts";
import { errorAnswer, TooLarge, TooLate } from "./answers.ts";
import { BadRequest, faultIn, mustFit, readQuery } from "./check.ts";
import { type Asked, type Handlers, handlersOf, type ServedEngine } from "./handlers.ts";
import {
  type Operation,
  type OperationName,
  operations,
  type Streams,
  type Unary,
} from "./operations.ts";
import { isOpenPath, probeRoutes } from "./probes.ts";
import { eventStream } from "./stream.ts";
import {
  JSON_LIMIT_BYTES,
  STATE_LIMIT_BYTES,
  UNARY_MS,
  VERSION_HEADER,
  wireError,
} from "./wire.ts";

/**
 * The interface of `operations.ts`. `ending` ends every request and stream; `gate` says who may
 * ask, where not everybody may.
 */
export function createRoutes(engine: ServedEngine, ending: AbortSignal, gate?: Gate): Hono {
  const app = new Hono();
  app.onError((error, context) => {
    const { status, body } = errorAnswer(error);
    if (body.error.kind === "internal") {
      engine.log.error("Request failed", { path: context.req.path, error: error.message });
    }
    return context.json(body, status);
  });
  app.notFound((context) => {
    throw new BadRequest(`Path ${context.req.path} is not known to this version of the engine`);
  });
  app.use(async (context, next) => {
    context.header(VERSION_HEADER, engine.info().version);
    const refusal = refusalOf(context, gate);
    // Whoever only asks whether the engine is well needs no token, but the right name for it.
    const isOpen = refusal?.status === 401 && isOpenPath(context.req.path);
    if (refusal !== undefined && !isOpen) {
      return context.json(wireError("denied", refusal.message), refusal.status);
    }
    return await next();
  });
  const { probes } = engine;
  const isKnown = (context: Context) => refusalOf(context, gate) === undefined;
  if (probes !== undefined) app.route("/", probeRoutes(probes, isKnown));
  const served: Served = { engine, handlers: handlersOf(engine), ending };
  for (const [name, operation] of Object.entries(operations) as [OperationName, Operation][]) {
    const path = operation.path.replaceAll(/\{(\w+)\}/g, ":$1");
    const answer = (context: Context) => answerTo(context, { name, operation }, served);
    if (operation.body !== undefined) app.on(operation.method, path, limitOf(operation.body));
    app.on(operation.method, path, answer);
  }
  return app;
}

function refusalOf(context: Context, gate: Gate | undefined): Refusal | undefined {
  return gate?.refuse({
    host: context.req.header("host"),
    authorization: context.req.header("authorization"),
  });
}

interface Served {
  readonly engine: ServedEngine;
  readonly handlers: Handlers;
  readonly ending: AbortSignal;
}
interface Question {
  readonly name: OperationName;
  readonly operation: Operation;
}

function limitOf(body: Exclude<Operation["body"], undefined>) {
  const maxSize = body === "bytes" ? STATE_LIMIT_BYTES : JSON_LIMIT_BYTES;
  return bodyLimit({
    maxSize,
    onError() {
      throw new TooLarge(`Body is larger than ${maxSize} bytes`);
    },
  });
}

async function answerTo(
  context: Context,
  { name, operation }: Question,
  { engine, handlers, ending }: Served,
): Promise<Response> {
  const { clock } = engine;
  const gone = AbortSignal.any([context.req.raw.signal, ending]);
  if (operation.answer.is === "events") {
    const asked = await readRequest(context, operation);
    const streaming = { clock, ending: gone, cut: () => cut(context) };
    // The table says which operations are streams, and with that which handler this is.
    return eventStream(streaming, (call) => handlers[name as Streams](asked as never, call));
  }
  const signal = clock.deadline(`Answering ${context.req.path}`, UNARY_MS, gone);
  return await orLate(signal, async () => {
    const asked = await readRequest(context, operation);
    const answer: unknown = await handlers[name as Unary](asked as never, { signal });
    return writeAnswer(context, { name, operation }, answer);
  });
}

/** Whatever waits inside does not make the client wait. */
async function orLate<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const onAbort = () => {
    const why = signal.reason instanceof Error ? signal.reason.message : String(signal.reason);
    late.reject(new TooLate(`Engine gave no answer in time (${why}); see whether it is done`));
  };
  signal.addEventListener("abort", onAbort);
  try {
    return await Promise.race([work(), late.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

type AnyAsked = Omit<Asked<OperationName>, "params" | "query" | "body"> &
  Readonly<Record<"params" | "query" | "body", unknown>>;

async function readRequest(context: Context, operation: Operation): Promise<AnyAsked> {
  const params = context.req.param();
  mustFit("Path", operation.params, params);
  const query = readQuery(operation.query, new URL(context.req.url).searchParams);
  const lastEventId = context.req.header("last-event-id");
  return { params, query, lastEventId, body: await readBody(context, operation.body) };
}

async function readBody(context: Context, body: Operation["body"]): Promise<unknown> {
  if (body === undefined) return undefined;
  const bytes = new Uint8Array(await context.req.arrayBuffer());
  if (body === "bytes") return bytes;
  const value = parseJson(bytes);
  mustFit("Body", body, value);
  return value;
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new BadRequest("Body is not JSON", { cause: error });
  }
}

/** An answer that is not as the table promises is our bug: it is told here and goes nowhere. */
function writeAnswer(context: Context, { name, operation }: Question, answer: unknown): Response {
  const promised = operation.answer;
  if (promised.is === "bytes") {
    if (answer === undefined) return context.body(null, 204);
    const headers = { "content-type": "application/octet-stream" };
    return context.body(new Uint8Array(answer as Uint8Array), 200, headers);
  }
  if (promised.is === "events") throw new Error(`Operation ${name} is a stream`);
  const fault = faultIn(promised.schema, answer);
  if (fault !== undefined) throw new Error(`Answer to ${name} does not fit its schema${fault}`);
  return context.json(answer, promised.status);
}

/** Where there is a socket below (in tests there is none), it is ended. */
function cut(context: Context): void {
  const { outgoing } = (context.env ?? {}) as { outgoing?: { destroy(): void } };
  outgoing?.destroy();
}
