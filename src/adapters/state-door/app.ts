import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { STATE_BYTES_MAX } from "../../domain/state-file.ts";
import type { Call } from "../../ports/call.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import {
  describeState,
  StateDamaged,
  type StateGrant,
  type StateId,
  type StateStorage,
} from "../../ports/state.ts";
import { hashPassword, STATE_PATH } from "./access.ts";
import { BadBody, describeLock, readBody, readLock } from "./body.ts";

export interface AppParts {
  readonly storage: StateStorage;
  readonly log: Log;
  readonly clock: Pick<Clock, "deadline">;
  /** Fires when the server is torn down: whatever still runs ends. */
  readonly closing: AbortSignal;
  /** Every request ends by then. */
  readonly requestMs: number;
  /** Less than `STATE_BYTES_MAX` for tests. */
  readonly stateBytesMax?: number;
}

interface Env {
  Bindings: HttpBindings;
  Variables: { runId: string; state: StateId; call: Call };
}
type At = Context<Env, typeof STATE_PATH>;

/**
 * OpenTofu's http backend, seen from the other side. What tofu makes of the answers:
 *
 * - 5xx it repeats for as long as it waits for the door at all, so it is for trouble that passes.
 *   No Retry-After: it would replace the schedule, and with it the fifteen minutes.
 * - 4xx ends the operation. After a write tofu leaves errored.tfstate behind and returns the lock.
 * - 204 on reading means that there is no state yet, and a new one would be begun. Nothing else
 *   may look like it.
 */
export function createApp(parts: AppParts): Hono<Env> {
  const { storage, log, clock, closing, requestMs } = parts;
  const app = new Hono<Env>();

  app.use(async (c, next) => {
    c.set("call", { signal: clock.deadline("The request to the state door", requestMs, closing) });
    await next();
  });
  app.use(STATE_PATH, async (c, next) => {
    const { call } = c.var;
    const known = await authenticate(c.req.header("authorization"), storage, call);
    const asked = c.req.param();
    if (known === undefined || !isSame(known.grant.state, asked)) return denied();
    c.set("runId", known.runId);
    c.set("state", known.grant.state);
    return await next();
  });
  app.get(STATE_PATH, (c) => read(c, storage));
  app.post(STATE_PATH, (c) => write(c, parts));
  app.delete(STATE_PATH, async (c) => {
    const { state, runId, call } = c.var;
    const answer = await storage.remove(state, runId, call);
    log.info("Asked to remove a state", { state: describeState(state), run: runId, answer });
    return answer === "removed" ? c.body(null, 200) : c.text("The run does not hold the lock", 409);
  });
  app.on("LOCK", STATE_PATH, (c) => lock(c, storage));
  app.on("UNLOCK", STATE_PATH, (c) => unlock(c, storage));
  app.all(STATE_PATH, (c) => c.text("No such method", 405));
  app.notFound(denied);
  app.onError((error, c) => failed(error, c, log));
  return app;
}

async function read(c: At, storage: StateStorage): Promise<Response> {
  const content = await storage.read(c.var.state, c.var.call);
  if (content === undefined) return c.body(null, 204);
  const headers = { "content-type": "application/json", "content-length": `${content.sizeBytes}` };
  const stream = Readable.toWeb(Readable.from(content.chunks, { objectMode: false }));
  return new Response(stream, { headers });
}

async function write(c: At, { storage, log, stateBytesMax }: AppParts): Promise<Response> {
  const { state, runId, call } = c.var;
  const bounds = {
    bytesMax: stateBytesMax ?? STATE_BYTES_MAX,
    md5: c.req.header("content-md5"),
  };
  const target = { state, runId, lockId: c.req.query("ID") };
  const answer = await storage.write(target, readBody(c.env.incoming, bounds, call), call);
  const fields = { state: describeState(state), run: runId };
  if (answer.became === "nothing") {
    log.warn("Refused a write that is no state", { ...fields, why: answer.why });
    return c.text(`What was sent is no state: ${answer.why}`, 400);
  }
  if (answer.became === "current") {
    log.debug("Wrote a state", { ...fields, version: answer.id, repeated: answer.repeated });
    return c.body(null, 200);
  }
  log.warn("Kept a write aside", { ...fields, version: answer.id, why: answer.why });
  return c.text(`Kept aside as ${answer.id}, not current: ${answer.why}`, 409);
}

async function lock(c: At, storage: StateStorage): Promise<Response> {
  const { state, runId, call } = c.var;
  const wanted = await readLock(c.env.incoming, { state, runId }, call);
  const answer = await storage.takeLock(wanted, call);
  if (answer.taken) return c.body(null, 200);
  if (answer.holder === undefined) return c.text("The run was revoked", 403);
  return c.json(describeLock(answer.holder), 423);
}

async function unlock(c: At, storage: StateStorage): Promise<Response> {
  const { state, runId, call } = c.var;
  const { id } = await readLock(c.env.incoming, { state, runId }, call);
  const answer = await storage.returnLock(state, runId, id, call);
  return answer.returned ? c.body(null, 200) : c.json(describeLock(answer.holder), 409);
}

/** One answer for all: which runs and states exist is nobody's business. */
function denied(): Response {
  const headers = { "www-authenticate": 'Basic realm="state"' };
  return new Response("No access", { status: 401, headers });
}

function failed(error: Error, c: Context<Env>, log: Log): Response {
  if (error instanceof BadBody) return c.text(error.message, error.status);
  const fields = { method: c.req.method, run: c.var.runId, error: error.message };
  if (senderLeft(c.env.incoming)) {
    log.warn("A request to the state door broke off", fields);
    return c.text("The request broke off", 408);
  }
  log.error("A request to the state door failed", fields);
  return c.text("The state door is in trouble", error instanceof StateDamaged ? 422 : 503);
}

function senderLeft(incoming: IncomingMessage): boolean {
  return incoming.destroyed && !incoming.complete;
}

const NO_HASH = new Uint8Array(32);

/** The run whose password this is. Takes the same time for a wrong password and a wrong run. */
async function authenticate(
  header: string | undefined,
  storage: StateStorage,
  call: Call,
): Promise<{ runId: string; grant: StateGrant } | undefined> {
  const [, encoded = ""] = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(header ?? "") ?? [];
  const [runId = "", ...rest] = Buffer.from(encoded, "base64").toString().split(":");
  const grant = await storage.granted(runId, call);
  const hash = hashPassword(rest.join(":"));
  const matches = [NO_HASH, ...(grant?.passwordHashes ?? [])].map((each) => {
    return each.length === hash.length && timingSafeEqual(each, hash);
  });
  return grant !== undefined && matches.includes(true) ? { runId, grant } : undefined;
}

function isSame(a: StateId, b: StateId): boolean {
  return a.namespace === b.namespace && a.name === b.name && a.workspace === b.workspace;
}
