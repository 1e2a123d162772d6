import type { ErrorKind, WireError } from "./schemas.ts";

/** What server and client both hold to, beside the operations themselves. */

/** Every answer bears the engine's version here. */
export const VERSION_HEADER = "nigari-version";

/** A stream says something at least this often, if only a comment. */
export const HEARTBEAT_MS = 5_000;
/** A stream that says nothing for so long is dead: three heartbeats. */
export const SILENCE_MS = 15_000;
/** What is asked and answered at once ends within this time on both sides. */
export const UNARY_MS = 30_000;
/** A reader of a stream that takes nothing for so long is cut off. */
export const STALL_MS = 30_000;
/** Largest object in a request. */
export const JSON_LIMIT_BYTES = 16 * 1024 * 1024;
export const STATE_LIMIT_BYTES = 256 * 1024 * 1024;

/** One server-sent event. `id` is where a reader goes on. */
export interface WireMessage {
  readonly event: string;
  readonly id?: string | undefined;
  readonly data: unknown;
}

/** The last message of a stream that failed. */
export function isError(message: WireMessage): message is WireMessage & { data: WireError } {
  return message.event === "error";
}

export function wireError(kind: ErrorKind, message: string): WireError {
  return { error: { kind, message } };
}
