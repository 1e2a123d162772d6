import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";
import type { ConfigMap } from "../../api/core.ts";
import { StoreError, type StoreErrorCode, type WatchEvent } from "../../ports/object-store.ts";
import { createClock } from "../system/clock.ts";
import { Connection } from "./connection.ts";
import { ApiServerStore } from "./object-store.ts";

/** Answers that no healthy API server gives on demand; the contract suite has the healthy ones. */
const clock = createClock();
const call = (ms = 10_000) => ({ signal: AbortSignal.timeout(ms) });
const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;
interface Subject {
  readonly store: ApiServerStore;
  readonly requests: string[];
}

/** A server that answers each request by the next handler, and the rest by the last. */
async function serve(...handlers: Handler[]): Promise<Subject> {
  const requests: string[] = [];
  const server: Server = createServer(async (request, response) => {
    const handler = handlers[Math.min(requests.length, handlers.length - 1)];
    requests.push(`${request.method} ${request.url}`);
    handler?.(request, response, await text(request));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const { port } = server.address() as AddressInfo;
  const unset = { ca: undefined, certificate: undefined, key: undefined, serverName: undefined };
  const connection = new Connection(
    {
      ...{ name: "x", namespace: "default", server: new URL(`http://127.0.0.1:${port}`) },
      tls: { ...unset, insecure: false },
      ...{ credential: { kind: "none" }, proxy: undefined, impersonate: undefined },
    },
    { clock, env: {}, userAgent: "nigari/test" },
  );
  open.push(() => {
    connection.close();
    server.closeAllConnections();
    server.close();
  });
  return { store: new ApiServerStore({ connection, clock }), requests };
}

function answer(status: number, body: unknown, headers: Record<string, string> = {}): Handler {
  return (_, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

const failure = (reason: string, message = "no") => ({ kind: "Status", reason, message });
const map = (version: string, name = "a"): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "apps", resourceVersion: version, uid: "u" },
});
const fresh: ConfigMap = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", namespace: "apps" },
};
const refOf = { kind: "ConfigMap", namespace: "apps", name: "a" } as const;

const answers: Record<string, [status: number, body: unknown, code: StoreErrorCode]> = {
  "the object exists": [409, failure("AlreadyExists"), "AlreadyExists"],
  "somebody wrote first": [409, failure("Conflict"), "Conflict"],
  "the namespace is not there": [404, failure("NotFound"), "NotFound"],
  "the kind is not defined": [404, "404 page not found\n", "NoSuchKind"],
  "the object breaks a rule": [422, failure("Invalid"), "Invalid"],
  "the request cannot be read": [400, failure("BadRequest"), "Invalid"],
  "RBAC forbids it": [403, failure("Forbidden"), "Forbidden"],
  "the token is not known": [401, failure("Unauthorized"), "Forbidden"],
  "the version is no longer kept": [410, failure("Expired"), "Expired"],
  "etcd does not answer": [500, failure("", "etcdserver: request timed out"), "Unavailable"],
  "the server is shedding load and says nothing of when": [429, failure(""), "Unavailable"],
  "a proxy answers in HTML": [502, "<html>Bad gateway</html>", "Unavailable"],
};

test.each(Object.entries(answers))("%s: the error says so", async (_, [status, body, code]) => {
  const { store } = await serve(answer(status, body));
  const error = await store.create(fresh, call()).catch((each: unknown) => each);
  expect(error).toBeInstanceOf(StoreError);
  expect((error as StoreError).code).toBe(code);
});

describe("a server that asks for patience", () => {
  test("is asked again when it says, with the same request", async () => {
    const busy = answer(429, failure("TooManyRequests"), { "retry-after": "0" });
    const { store, requests } = await serve(busy, busy, answer(201, map("7")));
    expect((await store.create(fresh, call())).metadata.resourceVersion).toBe("7");
    expect(requests).toEqual(Array(3).fill("POST /api/v1/namespaces/apps/configmaps"));
  });

  test("is not asked for ever, nor after an error that may have done something", async () => {
    const busy = await serve(answer(503, failure(""), { "retry-after": "0" }));
    await expect(busy.store.get(refOf, call())).rejects.toThrow(StoreError);
    expect(busy.requests).toHaveLength(5);
    const broken = await serve(answer(500, failure(""), { "retry-after": "0" }));
    await expect(broken.store.get(refOf, call())).rejects.toThrow(StoreError);
    expect(broken.requests).toHaveLength(1);
  });

  test("does not hold a caller beyond its bound", async () => {
    const { store } = await serve(answer(429, failure(""), { "retry-after": "20" }));
    const begun = clock.monotonic();
    await expect(store.get(refOf, call(200))).rejects.toThrow("was cancelled");
    expect(clock.monotonic() - begun).toBeLessThan(5_000);
  });
});

test("a write whose answer is lost is not sent again: it may have been done", async () => {
  const { store, requests } = await serve((request) => request.socket.destroy());
  const error = await store.create(fresh, call()).catch((each: unknown) => each);
  expect((error as StoreError).code).toBe("Unavailable");
  expect(requests).toHaveLength(1);
});

test("a name that is a path stays a name", async () => {
  const { store, requests } = await serve(answer(404, failure("NotFound")));
  await store.get({ kind: "Secret", namespace: "apps", name: "../../a?b=c" }, call());
  expect(requests).toEqual(["GET /api/v1/namespaces/apps/secrets/..%2F..%2Fa%3Fb%3Dc"]);
  for (const name of ["", ".", ".."]) {
    await expect(store.delete({ ...refOf, name }, {}, call())).rejects.toThrow("is no name");
  }
});

test("who owns which field is left out", async () => {
  const managedFields = [{ manager: "kubectl" }];
  const read = { ...map("3"), metadata: { ...map("3").metadata, managedFields } };
  const { store } = await serve(answer(200, read));
  expect(await store.get(refOf, call())).toEqual(map("3"));
});

describe("a list of many pages", () => {
  const page = (names: string[], next?: string) =>
    answer(200, {
      metadata: { resourceVersion: "90", ...(next === undefined ? {} : { continue: next }) },
      items: names.map((name) => ({ metadata: { name, namespace: "apps" } })),
    });

  test("is one, and each item tells its kind", async () => {
    const { store, requests } = await serve(page(["a", "b"], "x/y="), page(["c"]));
    const list = await store.list("ConfigMap", { labels: { team: "a", tier: "b" } }, call());
    expect(list.resourceVersion).toBe("90");
    expect(list.items.map(({ metadata }) => metadata.name)).toEqual(["a", "b", "c"]);
    expect(list.items.every(({ kind, apiVersion }) => kind + apiVersion === "ConfigMapv1")).toBe(
      true,
    );
    expect(requests[1]).toContain("labelSelector=team%3Da%2Ctier%3Db&continue=x%2Fy%3D");
  });

  test("that outlives what the server keeps is Expired", async () => {
    const { store } = await serve(page(["a"], "x"), answer(410, failure("Expired")));
    const error = await store.list("ConfigMap", {}, call()).catch((each: unknown) => each);
    expect((error as StoreError).code).toBe("Expired");
  });

  test("that has no items at all is empty", async () => {
    const { store } = await serve(answer(200, { metadata: { resourceVersion: "1" }, items: null }));
    expect((await store.list("Secret", {}, call())).items).toEqual([]);
  });
});

describe("a watch", () => {
  const line = (type: string, object: unknown) => `${JSON.stringify({ type, object })}\n`;
  const stream = (...chunks: string[]): Handler => {
    return async (_, response) => {
      for (const chunk of chunks) {
        response.write(chunk);
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    };
  };
  const forbidden = answer(403, failure("Forbidden"));

  async function follow({ store }: Subject): Promise<{ seen: string[]; error: unknown }> {
    const seen: string[] = [];
    const take = (event: WatchEvent<ConfigMap>) =>
      event.type === "BOOKMARK"
        ? `BOOKMARK ${event.resourceVersion}`
        : `${event.type} ${event.object.metadata.name}`;
    try {
      const from = { namespace: "apps", resourceVersion: "5" };
      for await (const event of store.watch("ConfigMap", from, call())) seen.push(take(event));
    } catch (error) {
      return { seen, error };
    }
    return { seen, error: undefined };
  }

  test("goes on from its last word when the server ends it, bookmarks counted", async () => {
    const subject = await serve(
      stream(
        line("ADDED", map("6", "ä")),
        line("BOOKMARK", { metadata: { resourceVersion: "9" } }),
      ),
      stream(line("MODIFIED", map("11", "b")), line("DELETED", map("12", "c"))),
      forbidden,
    );
    const { seen, error } = await follow(subject);
    expect(seen).toEqual(["ADDED ä", "BOOKMARK 9", "MODIFIED b", "DELETED c"]);
    expect((error as StoreError).code).toBe("Forbidden");
    const versions = subject.requests.map((each) => /resourceVersion=(\d+)/.exec(each)?.[1]);
    expect(versions).toEqual(["5", "9", "12"]);
  });

  test("takes changes however the wire cuts them", async () => {
    const whole = line("ADDED", map("6")) + line("ADDED", map("7", "b"));
    for (const size of [1, 7, 64, whole.length]) {
      const chunks = whole.match(new RegExp(`[\\s\\S]{1,${size}}`, "g")) ?? [];
      const { seen } = await follow(await serve(stream(...chunks), forbidden));
      expect(seen).toEqual(["ADDED a", "ADDED b"]);
    }
  });

  const troubles: Record<string, [text: string, code: StoreErrorCode]> = {
    "the version is no longer kept": [
      line("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old" }),
      "Expired",
    ],
    "the server cannot go on": [line("ERROR", { kind: "Status", code: 500 }), "Unavailable"],
    "a line is no JSON": ["{]\n", "Unavailable"],
    "a line is no change": [line("SUNDAY", map("6")), "Unavailable"],
    "a change has no version": [line("ADDED", { metadata: {} }), "Unavailable"],
  };
  test.each(Object.entries(troubles))("%s: it fails with that", async (_, [sent, code]) => {
    const { seen, error } = await follow(await serve(stream(sent)));
    expect(seen).toEqual([]);
    expect((error as StoreError).code).toBe(code);
  });

  test("that breaks off in the middle of a change tells no half of it", async () => {
    const subject = await serve((_, response) => {
      response.write(`${line("ADDED", map("6"))}{"type":"ADDED","obj`);
      setImmediate(() => response.destroy());
    });
    const { seen, error } = await follow(subject);
    expect(seen).toEqual(["ADDED a"]);
    expect((error as StoreError).code).toBe("Unavailable");
  });

  test("ends without an error when the caller has had enough", async () => {
    const { store } = await serve((_, response) => void response.write(line("ADDED", map("6"))));
    const controller = new AbortController();
    const from = { resourceVersion: "5" };
    for await (const event of store.watch("ConfigMap", from, controller)) {
      expect(event.type).toBe("ADDED");
      controller.abort();
    }
  });
});
