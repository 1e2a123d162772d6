import type { Context } from "hono";
import { streamSSE } from "hono/streaming";
import { type KindName, kindNames, type ObjectKey } from "../api/kinds.ts";
import type { Call } from "../ports/call.ts";
import type { Clock } from "../ports/clock.ts";
import { StoreError, type StoreErrorCode } from "../ports/object-store.ts";
import { StateDamaged, StateRefused } from "../ports/state.ts";
import { HEARTBEAT_MS, UNARY_MS, type WireError, type WireMessage } from "./wire.ts";

/** A request that cannot be understood. */
export class BadRequest extends Error {
  override readonly name = "BadRequest";
}

const STATUS = {
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Invalid: 422,
  Expired: 410,
  Forbidden: 403,
  Unavailable: 503,
} as const satisfies Record<StoreErrorCode, number>;

export type ErrorStatus = (typeof STATUS)[StoreErrorCode] | 400 | 500;

/** An error as it travels. The text of an unforeseen one stays here. */
export function errorAnswer(error: unknown): { readonly status: ErrorStatus; body: WireError } {
  if (error instanceof StoreError) {
    const { code, message } = error;
    return { status: STATUS[code], body: { error: { kind: "store", code, message } } };
  }
  const answer = (status: ErrorStatus, kind: WireError["error"]["kind"], message: string) => ({
    status,
    body: { error: { kind, message } },
  });
  if (error instanceof StateRefused) return answer(409, "state-refused", error.message);
  if (error instanceof StateDamaged) return answer(500, "state-damaged", error.message);
  if (error instanceof BadRequest) return answer(400, "request", error.message);
  return answer(500, "internal", "Engine failed at this request; its log says why");
}

/** The bounds of one request: its client's patience, our own, and the server's end. */
export function callOf(context: Context, clock: Clock, ending: AbortSignal): Call {
  const signal = AbortSignal.any([context.req.raw.signal, ending]);
  return { signal: clock.deadline(`Answering ${context.req.path}`, UNARY_MS, signal) };
}

export function kindOf(context: Context): KindName {
  const text = context.req.param("kind");
  const kind = kindNames.find((name) => name === text);
  if (kind === undefined) throw new BadRequest(`Kind "${text}" is not known`);
  return kind;
}

export function keyOfPath(context: Context): ObjectKey {
  return { namespace: param(context, "namespace"), name: param(context, "name") };
}

export function param(context: Context, name: string): string {
  const value = context.req.param(name);
  if (value === undefined || value === "") throw new BadRequest(`Path has no ${name}`);
  return value;
}

export async function jsonBody(context: Context): Promise<unknown> {
  try {
    return await context.req.json();
  } catch (error) {
    throw new BadRequest("Body is not JSON", { cause: error });
  }
}

/**
 * Answers with server-sent events for as long as there are any, with comments in between so that
 * the client knows that we live. A failure is the last event; the connection then ends.
 */
export function streamMessages(
  context: Context,
  { clock, ending }: { readonly clock: Clock; readonly ending: AbortSignal },
  messages: (call: Call) => AsyncIterable<WireMessage>,
): Response {
  return streamSSE(context, async (stream) => {
    const gone = new AbortController();
    stream.onAbort(() => gone.abort());
    const signal = AbortSignal.any([gone.signal, context.req.raw.signal, ending]);
    void (async () => {
      while (!signal.aborted) {
        await stream.write(":\n\n");
        await clock.sleep(HEARTBEAT_MS, signal);
      }
    })();
    try {
      for await (const { event, data } of messages({ signal })) {
        await stream.writeSSE({ event, data: JSON.stringify(data) });
      }
    } catch (error) {
      if (signal.aborted) return;
      const { body } = errorAnswer(error);
      await stream.writeSSE({ event: "error", data: JSON.stringify(body) });
    } finally {
      gone.abort();
    }
  });
}
