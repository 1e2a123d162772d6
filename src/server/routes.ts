import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { AnyObject } from "../api/kinds.ts";
import type { Clock } from "../ports/clock.ts";
import type { EngineInfo } from "../ports/engine.ts";
import type { Log } from "../ports/log.ts";
import { describeRef, type ObjectStore, StoreError } from "../ports/object-store.ts";
import type { LiveRuns, LogOptions, RunLogs } from "../ports/runs.ts";
import type { StateAdmin, StateId } from "../ports/state.ts";
import {
  BadRequest,
  callOf,
  errorAnswer,
  jsonBody,
  keyOfPath,
  kindOf,
  param,
  streamMessages,
} from "./answers.ts";
import { API, JSON_LIMIT_BYTES, STATE_LIMIT_BYTES, VERSION_HEADER } from "./wire.ts";

/** Everything the interface hands on to. */
export interface ServedEngine {
  readonly store: ObjectStore;
  readonly logs: RunLogs;
  /** Undefined where Nigari keeps no states. */
  readonly states: StateAdmin | undefined;
  readonly live: LiveRuns;
  readonly info: () => EngineInfo;
  readonly clock: Clock;
  readonly log: Log;
}

/** The interface of `wire.ts`. `ending` ends every request and stream. */
export function createRoutes(engine: ServedEngine, ending: AbortSignal): Hono {
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
    await next();
  });
  app.route(API, aboutRoutes(engine));
  app.route(API, objectRoutes(engine, ending));
  app.route(API, logRoutes(engine, ending));
  app.route(API, stateRoutes(engine, ending));
  return app;
}

const limited = (maxSize: number) =>
  bodyLimit({
    maxSize,
    onError() {
      throw new BadRequest(`Body is larger than ${maxSize} bytes`);
    },
  });

function aboutRoutes(engine: ServedEngine): Hono {
  const app = new Hono();
  app.get("/info", (context) => context.json(engine.info()));
  app.get("/live/:namespace/:name", (context) =>
    context.json({ run: engine.live.describe(keyOfPath(context)) }),
  );
  return app;
}

function objectRoutes({ store, clock }: ServedEngine, ending: AbortSignal): Hono {
  const app = new Hono();
  app.get("/objects/:kind", async (context) => {
    const labels = Object.fromEntries(
      (context.req.queries("label") ?? []).map((label) => {
        const at = label.indexOf("=");
        return [label.slice(0, at), label.slice(at + 1)];
      }),
    );
    const where = { ...within(context), labels };
    return context.json(await store.list(kindOf(context), where, callOf(context, clock, ending)));
  });
  app.post("/objects/:kind", limited(JSON_LIMIT_BYTES), async (context) => {
    const object = await objectBody(context);
    return context.json(await store.create(object, callOf(context, clock, ending)), 201);
  });
  app.get("/objects/:kind/:namespace/:name", async (context) => {
    const ref = { kind: kindOf(context), ...keyOfPath(context) };
    const object = await store.get(ref, callOf(context, clock, ending));
    if (object === undefined) throw new StoreError("NotFound", `${describeRef(ref)}: not found`);
    return context.json(object);
  });
  app.put("/objects/:kind/:namespace/:name", limited(JSON_LIMIT_BYTES), async (context) => {
    const object = await objectBody(context);
    const part = context.req.query("part") === "status" ? "status" : "main";
    return context.json(await store.update(object, part, callOf(context, clock, ending)));
  });
  app.delete("/objects/:kind/:namespace/:name", async (context) => {
    const { uid, resourceVersion } = context.req.query();
    const preconditions = {
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    const ref = { kind: kindOf(context), ...keyOfPath(context) };
    await store.delete(ref, preconditions, callOf(context, clock, ending));
    return context.json({});
  });
  app.get("/watch/:kind", (context) => {
    const from = {
      ...within(context),
      resourceVersion: context.req.query("resourceVersion") ?? "",
    };
    const kind = kindOf(context);
    return streamMessages(context, { clock, ending }, async function* (call) {
      for await (const data of store.watch(kind, from, call)) yield { event: "change", data };
    });
  });
  return app;
}

function within(context: Context): { namespace?: string } {
  const namespace = context.req.query("namespace");
  return namespace === undefined ? {} : { namespace };
}

/** The store itself judges what it is handed; here only that it is an object of the kind named. */
async function objectBody(context: Context): Promise<AnyObject> {
  const body = await jsonBody(context);
  const kind = kindOf(context);
  if (typeof body === "object" && body !== null && "kind" in body && body.kind === kind) {
    if ("metadata" in body && typeof body.metadata === "object" && body.metadata !== null) {
      return body as AnyObject;
    }
  }
  throw new BadRequest(`Body is no ${kind}`);
}

function logRoutes({ logs, clock }: ServedEngine, ending: AbortSignal): Hono {
  const app = new Hono();
  app.get("/logs/:namespace/:name", async (context) => {
    const call = callOf(context, clock, ending);
    return context.json({ lines: await logs.read(keyOfPath(context), logOptions(context), call) });
  });
  app.get("/follow/:namespace/:name", (context) => {
    const [key, options] = [keyOfPath(context), logOptions(context)];
    return streamMessages(context, { clock, ending }, async function* (call) {
      for await (const data of logs.follow(key, options, call)) yield { event: "line", data };
    });
  });
  return app;
}

function logOptions(context: Context): LogOptions {
  const { runId, tail } = context.req.query();
  if (tail !== undefined && !/^\d{1,9}$/.test(tail)) throw new BadRequest("tail is no number");
  return {
    ...(runId === undefined ? {} : { runId }),
    ...(tail === undefined ? {} : { tail: Number(tail) }),
  };
}

function stateRoutes(engine: ServedEngine, ending: AbortSignal): Hono {
  const app = new Hono();
  const call = (context: Context) => callOf(context, engine.clock, ending);
  function states(): StateAdmin {
    if (engine.states !== undefined) return engine.states;
    throw new BadRequest("This engine keeps no states of its own");
  }
  const one = "/states/:namespace/:name/:workspace";
  app.get("/states", async (context) =>
    context.json({ items: await states().list(call(context)) }),
  );
  app.get(one, async (context) => {
    const version = context.req.query("version");
    const content = await states().show(stateOf(context), version, call(context));
    if (content === undefined) return context.body(null, 204);
    return context.body(new Uint8Array(content), 200, {
      "content-type": "application/octet-stream",
    });
  });
  app.put(one, limited(STATE_LIMIT_BYTES), async (context) => {
    const content = new Uint8Array(await context.req.arrayBuffer());
    const push = { from: "content", content, force: isForced(context) } as const;
    return context.json(await states().push(stateOf(context), push, call(context)));
  });
  app.get(`${one}/versions`, async (context) =>
    context.json({ items: await states().versions(stateOf(context), call(context)) }),
  );
  app.post(`${one}/rescued/:id`, async (context) => {
    const push = { from: "rescued", id: param(context, "id"), force: isForced(context) } as const;
    return context.json(await states().push(stateOf(context), push, call(context)));
  });
  app.delete(`${one}/rescued/:id`, async (context) => {
    await states().drop(stateOf(context), param(context, "id"), call(context));
    return context.json({});
  });
  return app;
}

function stateOf(context: Context): StateId {
  return { ...keyOfPath(context), workspace: param(context, "workspace") };
}

function isForced(context: Context): boolean {
  return context.req.query("force") === "true";
}
