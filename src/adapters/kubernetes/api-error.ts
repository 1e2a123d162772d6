import { formatDuration } from "../../api/duration.ts";
import type { Gap } from "../../evidence/model.ts";

/** Why a request did not give what it asked for. */
export type ApiTrouble = Gap["why"] | "unreachable";

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly why: ApiTrouble;
  /** HTTP status, if there was an answer. */
  readonly status: number | undefined;
  /** Reason of the Status object, such as AlreadyExists, if the answer was one. */
  readonly reason: string | undefined;
  /** How long the server asks to be left alone. */
  readonly retryAfterMs: number | undefined;
  constructor(why: ApiTrouble, message: string, options: ErrorOptions & AnswerFacts = {}) {
    super(message, options);
    this.why = why;
    this.status = options.status;
    this.reason = options.reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}

interface AnswerFacts {
  readonly status?: number;
  readonly reason?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** What an answer that is no success means; its text may be a Status object. */
export function statusError(status: number, text: string, retryAfter?: string): ApiError {
  const told = statusObject(text);
  const message = told?.message ?? text.split("\n")[0]?.slice(0, 200) ?? "";
  const says = `${status}${message === "" ? "" : `: ${message}`}`;
  const seconds = Number(retryAfter);
  // A date instead of seconds is allowed there, and no API server sends one.
  const retryAfterMs = seconds >= 0 ? seconds * 1_000 : undefined;
  return new ApiError(troubleOf(status), says, { status, reason: told?.reason, retryAfterMs });
}

function troubleOf(status: number): ApiTrouble {
  if (status === 401 || status === 403) return "not-permitted";
  // 410: a list that goes on for longer than the server remembers.
  if (status === 404 || status === 405 || status === 410) return "absent";
  if (status === 408 || status === 429 || status === 504) return "timed-out";
  return "damaged";
}

function statusObject(text: string): { message?: string; reason?: string } | undefined {
  try {
    const { message, reason } = JSON.parse(text) as { message?: unknown; reason?: unknown };
    return {
      ...(typeof message === "string" ? { message: message.slice(0, 500) } : {}),
      ...(typeof reason === "string" ? { reason } : {}),
    };
  } catch {
    return undefined;
  }
}

/** An error of the way there; `limitMs` is given if the call's own bound had passed. */
export function networkError(error: unknown, limitMs: number | undefined, server: URL): ApiError {
  if (limitMs !== undefined) {
    const says = `No answer within ${formatDuration(limitMs)}`;
    return new ApiError("timed-out", says, { cause: error });
  }
  const { message } = error instanceof Error ? error : { message: String(error) };
  return new ApiError("unreachable", `${server.host}: ${message}`, { cause: error });
}

/** What an error of any kind says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
