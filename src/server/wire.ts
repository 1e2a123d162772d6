import type { AnyObject } from "../api/kinds.ts";
import type { StoreErrorCode, WatchEvent } from "../ports/object-store.ts";
import type { LogLine } from "../ports/runs.ts";

/**
 * The engine's private HTTP interface over its Unix socket, as server and client both know it.
 * JSON in and out, states as they are; what goes on comes as server-sent events.
 *
 *     GET    /v1/info
 *     GET    /v1/live/<namespace>/<name>
 *     GET    /v1/objects/<kind>?namespace=&label=<name>=<value>…
 *     POST   /v1/objects/<kind>
 *     GET    /v1/objects/<kind>/<namespace>/<name>
 *     PUT    /v1/objects/<kind>/<namespace>/<name>?part=main|status
 *     DELETE /v1/objects/<kind>/<namespace>/<name>?uid=&resourceVersion=
 *     GET    /v1/watch/<kind>?namespace=&resourceVersion=           events
 *     GET    /v1/logs/<namespace>/<name>?runId=&tail=
 *     GET    /v1/follow/<namespace>/<name>?runId=&tail=             events
 *     GET    /v1/states
 *     GET    /v1/states/<namespace>/<name>/<workspace>?version=
 *     PUT    /v1/states/<namespace>/<name>/<workspace>?force=       the state itself
 *     GET    /v1/states/<namespace>/<name>/<workspace>/versions
 *     POST   /v1/states/<namespace>/<name>/<workspace>/rescued/<id>?force=
 *     DELETE /v1/states/<namespace>/<name>/<workspace>/rescued/<id>
 *
 * A version is a promise: what /v1 answers stays. Another way of saying something is /v2.
 */
export const API = "/v1";

/** Every answer bears the engine's version here. */
export const VERSION_HEADER = "nigari-version";

/** A stream says something at least this often, if only a comment. */
export const HEARTBEAT_MS = 5_000;
/** A stream that says nothing for so long is dead: three heartbeats. */
export const SILENCE_MS = 15_000;
/** What is asked and answered at once ends within this time on both sides. */
export const UNARY_MS = 30_000;
/** Largest object in a request. */
export const JSON_LIMIT_BYTES = 16 * 1024 * 1024;
export const STATE_LIMIT_BYTES = 256 * 1024 * 1024;

export interface WireError {
  readonly error: {
    readonly kind: "store" | "state-refused" | "state-damaged" | "request" | "internal";
    /** For kind "store". */
    readonly code?: StoreErrorCode;
    readonly message: string;
  };
}

/** Data of one server-sent event, by its name. */
export type WireMessage =
  | { readonly event: "change"; readonly data: WatchEvent<AnyObject> }
  | { readonly event: "line"; readonly data: LogLine }
  /** The last one of a stream that failed. */
  | { readonly event: "error"; readonly data: WireError };
