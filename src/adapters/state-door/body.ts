import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Call } from "../../ports/call.ts";
import type { StateLock } from "../../ports/state.ts";

/** A request whose body cannot be taken as it is; sent again it would fare no better. */
export class BadBody extends Error {
  override readonly name = "BadBody";
  readonly status: 400 | 413;
  constructor(status: 400 | 413, message: string) {
    super(message);
    this.status = status;
  }
}

export interface BodyBounds {
  readonly bytesMax: number;
  /** Content-MD5 as sent: base64. */
  readonly md5: string | undefined;
}

/**
 * The body as it comes in. Throws `BadBody` at the first byte too many, or at the end if it is not
 * what its sender hashed; throws when the call ends, or the sender goes away.
 */
export async function* readBody(
  incoming: IncomingMessage,
  { bytesMax, md5 }: BodyBounds,
  call: Call,
): AsyncGenerator<Uint8Array> {
  const tooLarge = () => new BadBody(413, `Body is larger than ${bytesMax} bytes`);
  if (Number(incoming.headers["content-length"] ?? 0) > bytesMax) throw tooLarge();
  const hash = createHash("md5");
  const cancel = () => incoming.destroy(asError(call.signal.reason));
  call.signal.addEventListener("abort", cancel);
  try {
    let sizeBytes = 0;
    for await (const chunk of incoming) {
      sizeBytes += chunk.length;
      if (sizeBytes > bytesMax) throw tooLarge();
      hash.update(chunk);
      yield chunk;
    }
  } finally {
    call.signal.removeEventListener("abort", cancel);
  }
  if (md5 !== undefined && hash.digest("base64") !== md5) {
    throw new BadBody(400, "Body does not match its Content-MD5");
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

const LOCK_BYTES_MAX = 64 * 1024;

/** The lock that the body describes (statemgr.LockInfo). Fails with `BadBody`. */
export async function readLock(
  incoming: IncomingMessage,
  owner: Pick<StateLock, "state" | "runId">,
  call: Call,
): Promise<StateLock> {
  const chunks: Uint8Array[] = [];
  const bounds = { bytesMax: LOCK_BYTES_MAX, md5: undefined };
  for await (const chunk of readBody(incoming, bounds, call)) chunks.push(chunk);
  const info = parseObject(Buffer.concat(chunks).toString());
  const id = textIn(info, "ID");
  if (!/^[\x21-\x7e]{1,256}$/.test(id)) throw new BadBody(400, "Lock has no usable ID");
  const created = textIn(info, "Created");
  // Go reads the time back as part of the holder's description; it must not stumble over it.
  if (Number.isNaN(Date.parse(created)) || !RFC3339.test(created)) {
    throw new BadBody(400, "Lock has no time Created as of RFC 3339");
  }
  return {
    ...owner,
    id,
    created,
    operation: textIn(info, "Operation"),
    info: textIn(info, "Info"),
    who: textIn(info, "Who"),
    version: textIn(info, "Version"),
    path: textIn(info, "Path"),
  };
}

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[-+]\d\d:\d\d)$/;

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return { ...value };
  } catch {
    // Said below, without the parser's message, which quotes the body.
  }
  throw new BadBody(400, "Lock is no JSON object");
}

function textIn(object: Readonly<Record<string, unknown>>, field: string): string {
  const value = object[field] ?? "";
  if (typeof value !== "string") throw new BadBody(400, `Lock's ${field} is no text`);
  return value;
}

/** The lock as tofu reads it; where tofu left a blank, people learn more. */
export function describeLock({ state, runId, ...lock }: StateLock): Record<string, string> {
  return {
    ID: lock.id,
    Operation: lock.operation,
    Info: lock.info || `run ${runId}`,
    Who: lock.who,
    Version: lock.version,
    Created: lock.created,
    Path: lock.path || `${state.namespace}/${state.name} (workspace ${state.workspace})`,
  };
}
