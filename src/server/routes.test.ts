import { describe, expect, test } from "vitest";
import { memoryObjectStore } from "../adapters/memory/object-store.ts";
import { noLog } from "../ports/log.ts";
import { StoreError } from "../ports/object-store.ts";
import { seededRandom, VirtualClock } from "../testing/fakes/clock.ts";
import { MemoryStates } from "../testing/fakes/memory-states.ts";
import { createGate } from "./access.ts";
import type { ServedEngine } from "./handlers.ts";
import { createRoutes } from "./routes.ts";
import type { WireError } from "./schemas.ts";
import { UNARY_MS } from "./wire.ts";

function serve(more: Partial<ServedEngine> = {}) {
  return createRoutes(engineOf(more), new AbortController().signal);
}

function engineOf(more: Partial<ServedEngine>): ServedEngine {
  const clock = new VirtualClock("2026-01-01T00:00:00Z");
  const store = memoryObjectStore({ clock, random: seededRandom(1) });
  const info = {
    pid: 7,
    version: "1.2.3",
    since: "2026-01-01T00:00:00Z",
    command: "nigari up",
    dataDir: "/data",
    epoch: 3,
    lagMs: 0,
    runs: [],
    slots: { taken: 0, all: 4 },
  };
  return {
    store,
    logs: {
      append: async () => {},
      read: async () => [],
      async *follow() {},
    },
    states: new MemoryStates(clock),
    live: { describe: () => undefined },
    info: () => info,
    clock,
    log: noLog,
    ...more,
  };
}
const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" } };
const post = (body: unknown) => ({ method: "POST", body: JSON.stringify(body) });

/** The message of a refusal, which in a stream is its last event. */
function messageIn(text: string): string {
  const json = text.startsWith("{") ? text : (/^event: error\ndata: (.*)$/m.exec(text)?.[1] ?? "");
  return (JSON.parse(json) as WireError).error.message;
}

test("every answer names the engine's version, refusals too", async () => {
  for (const path of ["/v1/info", "/v1/objects/Nonsense", "/elsewhere"]) {
    const answer = await serve().request(path);
    expect(answer.headers.get("nigari-version"), path).toBe("1.2.3");
  }
});

const refusals: Record<string, { path: string; init?: RequestInit; status: number; says: string }> =
  {
    "a path of another version": {
      path: "/v2/info",
      status: 400,
      says: "Path /v2/info is not known",
    },
    "a kind that is none": {
      path: "/v1/objects/Pod",
      status: 400,
      says: "Path.kind: must be one of Terraform, GitRepository",
    },
    "an object that is not there": {
      path: "/v1/objects/ConfigMap/default/none",
      status: 404,
      says: "ConfigMap/default/none: not found",
    },
    "a body that is no JSON": {
      path: "/v1/objects/ConfigMap",
      init: { method: "POST", body: "{" },
      status: 400,
      says: "Body is not JSON",
    },
    "a body of another kind": {
      path: "/v1/objects/Secret",
      init: post(map),
      status: 400,
      says: "Body.kind: must be Secret",
    },
    "an object the store refuses": {
      path: "/v1/objects/ConfigMap",
      init: post({ ...map, metadata: { name: "A" } }),
      status: 422,
      says: "metadata.name",
    },
    "a body beyond the limit": {
      path: "/v1/objects/ConfigMap",
      init: post({ ...map, data: { a: "x".repeat(17 * 1024 * 1024) } }),
      status: 413,
      says: "Body is larger than",
    },
    "a tail that is no number": {
      path: "/v1/logs/default/a?tail=x",
      status: 400,
      says: "Query.tail: must be integer",
    },
    "a parameter that is none": {
      path: "/v1/objects/ConfigMap?namspace=a",
      status: 400,
      says: 'Query has no parameter "namspace"; known here: namespace, label',
    },
    "a parameter given twice": {
      path: "/v1/objects/ConfigMap?namespace=a&namespace=b",
      status: 400,
      says: "Query names namespace more than once",
    },
    "a flag that is neither true nor false": {
      path: "/v1/states/default/a/default/rescued/1?force=yes",
      init: { method: "POST" },
      status: 400,
      says: "Query.force: must be boolean",
    },
    "a label without a value": {
      path: "/v1/objects/ConfigMap?label=a",
      status: 400,
      says: "Query.label.0",
    },
    "a body whose metadata is none": {
      path: "/v1/objects/ConfigMap",
      init: post({ ...map, metadata: 5 }),
      status: 400,
      says: "Body.metadata: must be object",
    },
    "a body that the path does not name": {
      path: "/v1/objects/ConfigMap/default/b",
      init: { ...post(map), method: "PUT" },
      status: 400,
      says: "Body.metadata.name: must be b, as in the path",
    },
    "a body that is no text": {
      path: "/v1/objects/ConfigMap",
      init: { method: "POST", body: new Uint8Array([123, 34, 255, 34, 125]) },
      status: 400,
      says: "Body is not JSON",
    },
    "a watch from nowhere": {
      path: "/v1/watch/ConfigMap",
      status: 200,
      says: "Query lacks resourceVersion",
    },
  };
describe("refuses", () => {
  test.each(Object.entries(refusals))("%s", async (_, { path, init, status, says }) => {
    const answer = await serve().request(path, init);
    expect(answer.status).toBe(status);
    expect(messageIn(await answer.text())).toContain(says);
  });

  test("states where there are none", async () => {
    const answer = await serve({ states: undefined }).request("/v1/states");
    expect(messageIn(await answer.text())).toBe("This engine keeps no states of its own");
  });

  test("a failure that nobody foresaw, without telling its text", async () => {
    const logged: string[] = [];
    const log = {
      ...noLog,
      error: (_: string, fields = {}) => logged.push(JSON.stringify(fields)),
    };
    const info = () => ({ version: "1" }) as ReturnType<ServedEngine["info"]>;
    const live = {
      describe() {
        throw new TypeError("password is hunter2");
      },
    };
    const answer = await serve({ live, log, info }).request("/v1/live/default/a");
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain("hunter2");
    expect(logged.join()).toContain("hunter2");
  });
});

test("a watch that cannot begin says so in its stream", async () => {
  const store = {
    // biome-ignore lint/correctness/useYield: it fails before it has anything to yield
    async *watch() {
      throw new StoreError("Expired", "Version 1 is no longer kept; list again");
    },
  } as unknown as ServedEngine["store"];
  const answer = await serve({ store }).request("/v1/watch/ConfigMap?resourceVersion=1");
  expect(answer.headers.get("content-type")).toContain("text/event-stream");
  const text = await answer.text();
  expect(text).toContain("event: error");
  expect(text).toContain('"code":"Expired"');
});

describe("monitoring", () => {
  const causes = [{ cause: "queue", text: "Object default/secret-name waits" } as const];
  const probes = {
    metrics: () => "nigari_run_slots 4\n",
    health: (): readonly (typeof causes)[number][] => [],
    unready: (): string | undefined => undefined,
  };

  test("hears that all is well", async () => {
    const routes = serve({ probes });
    for (const path of ["/healthz", "/readyz"]) {
      const answer = await routes.request(path);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toEqual({ status: "ok", causes: [] });
    }
    const answer = await routes.request("/metrics");
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(await answer.text()).toBe("nigari_run_slots 4\n");
  });

  test("hears why it is not", async () => {
    const ill = { ...probes, health: () => causes, unready: () => "The engine is stopping" };
    const routes = serve({ probes: ill });
    const health = await routes.request("/healthz");
    expect(health.status).toBe(503);
    expect(await health.json()).toEqual({ status: "stuck", causes });
    const ready = await routes.request("/readyz");
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ status: "not ready" });
  });

  test("over TCP needs no token for the two, and sees no names without it", async () => {
    const served = engineOf({ probes: { ...probes, health: () => causes } });
    const routes = createRoutes(served, new AbortController().signal, createGate("token"));
    const headers = { host: "127.0.0.1:1" };
    const health = await routes.request("/healthz", { headers });
    expect(health.status).toBe(503);
    expect(await health.json()).toEqual({ status: "stuck", causes: [{ cause: "queue" }] });
    const known = { ...headers, authorization: "Bearer token" };
    expect(await (await routes.request("/healthz", { headers: known })).text()).toContain(
      "secret-name",
    );
    expect((await routes.request("/metrics", { headers })).status).toBe(401);
    expect((await routes.request("/metrics", { headers: known })).status).toBe(200);
    const foreign = { host: "evil.example", authorization: "Bearer token" };
    expect((await routes.request("/healthz", { headers: foreign })).status).toBe(403);
  });
});

test("whatever waits inside, the one who asks has an answer in half a minute", async () => {
  const engine = engineOf({});
  const clock = engine.clock as VirtualClock;
  const logs = { ...engine.logs, read: () => new Promise<never>(() => {}) };
  const asked = createRoutes({ ...engine, logs }, new AbortController().signal).request(
    "/v1/logs/default/a",
  );
  await clock.advance(UNARY_MS);
  const answer = await asked;
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ error: { kind: "late" } });
});

test("an answer that is not as promised is a bug, which is logged and not told", async () => {
  const logged: string[] = [];
  const log = { ...noLog, error: (_: string, fields = {}) => logged.push(JSON.stringify(fields)) };
  const info = () =>
    ({ version: "1", pid: "seven" }) as unknown as ReturnType<ServedEngine["info"]>;
  const answer = await serve({ log, info }).request("/v1/info");
  expect(answer.status).toBe(500);
  expect(await answer.text()).not.toContain("seven");
  expect(logged.join()).toContain("Answer to info does not fit its schema");
});
