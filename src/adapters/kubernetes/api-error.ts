import { formatDuration } from "../../api/duration.ts";
import type { Gap } from "../../evidence/model.ts";

/** Why a request did not give what it asked for. */
export type ApiTrouble = Gap["why"] | "unreachable";

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly why: ApiTrouble;
  /** HTTP status, if there was an answer. */
  readonly status: number | undefined;
  constructor(why: ApiTrouble, message: string, options: ErrorOptions & { status?: number } = {}) {
    super(message, options);
    this.why = why;
    this.status = options.status;
  }
}

/** What an answer that is no success means; its text may be a Status object. */
export function statusError(status: number, text: string): ApiError {
  const message = statusMessage(text) ?? text.split("\n")[0]?.slice(0, 200) ?? "";
  const says = `${status}${message === "" ? "" : `: ${message}`}`;
  return new ApiError(troubleOf(status), says, { status });
}

function troubleOf(status: number): ApiTrouble {
  if (status === 401 || status === 403) return "not-permitted";
  // 410: a list that goes on for longer than the server remembers.
  if (status === 404 || status === 405 || status === 410) return "absent";
  if (status === 408 || status === 429 || status === 504) return "timed-out";
  return "damaged";
}

function statusMessage(text: string): string | undefined {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === "string" ? message.slice(0, 500) : undefined;
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
