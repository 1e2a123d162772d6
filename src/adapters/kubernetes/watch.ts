import type { Call } from "../../ports/call.ts";
import { ApiError, statusError } from "./api-error.ts";
import type { Connection, Request } from "./connection.ts";

export interface WatchedChange {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly resourceVersion: string;
  readonly object: unknown;
}

/** No object is larger: etcd takes 1.5 MiB, and JSON may write each byte as six. */
const LINE_MAX_BYTES = 16 * 1024 * 1024;

/**
 * The changes that one watch request tells, until the server ends it. Its error events are thrown
 * as ApiError: 410 where the version it was to start from is no longer kept.
 */
export async function* watchEvents(
  connection: Connection,
  request: Request,
  call: Call,
): AsyncGenerator<WatchedChange> {
  for await (const line of lines(connection.pieces(request, call))) yield change(line);
}

function change(line: string): WatchedChange {
  const { type, object } = parsed(line);
  if (type === "ERROR") {
    const { code } = object as { code?: unknown };
    throw statusError(typeof code === "number" ? code : 500, JSON.stringify(object));
  }
  const known = type === "ADDED" || type === "MODIFIED" || type === "DELETED";
  const { resourceVersion } =
    (object as { metadata?: { resourceVersion?: unknown } }).metadata ?? {};
  if ((!known && type !== "BOOKMARK") || typeof resourceVersion !== "string") {
    throw new ApiError("damaged", "The watch told something that is no change");
  }
  return { type, resourceVersion, object };
}

function parsed(line: string): { type?: unknown; object: object } {
  try {
    const { type, object } = JSON.parse(line) as { type?: unknown; object?: unknown };
    if (typeof object === "object" && object !== null) return { type, object };
  } catch {
    // Said below.
  }
  throw new ApiError("damaged", "The watch told something that is no JSON object");
}

/** Whole lines of a body, without empty ones and without what stands behind the last end. */
export async function* lines(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let pieces: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    let rest = chunk;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      pieces.push(rest.subarray(0, end));
      const line = Buffer.concat(pieces).toString("utf8");
      if (line.trim() !== "") yield line;
      pieces = [];
      size = 0;
      rest = rest.subarray(end + 1);
    }
    pieces.push(rest);
    size += rest.length;
    if (size > LINE_MAX_BYTES) throw new ApiError("too-large", "The watch told too long a change");
  }
}
