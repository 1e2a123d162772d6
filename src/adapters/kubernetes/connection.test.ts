import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type FakeApiServer,
  type FakeCluster,
  type FakeFault,
  startFakeApiServer,
} from "../../testing/fakes/api-server.ts";
import { createClock } from "../system/clock.ts";
import { ApiError } from "./api-error.ts";
import { Connection } from "./connection.ts";
import type { ClusterAccess } from "./kubeconfig.ts";
import { listAll } from "./list.ts";
import { getThroughPortForward } from "./port-forward.ts";
import { resources } from "./resources.ts";

const clock = createClock();
const call = { signal: new AbortController().signal };
const open: { close(): void | Promise<void> }[] = [];
beforeEach(() => {
  open.length = 0;
});
afterEach(async () => {
  for (const each of open.reverse()) await each.close();
});

function connect(url: string, more: Partial<ClusterAccess> = {}): Connection {
  const access: ClusterAccess = {
    ...{ name: "x", server: new URL(url), namespace: "default", proxy: undefined },
    tls: {
      ...{ ca: undefined, certificate: undefined, key: undefined },
      ...{ serverName: undefined, insecure: false },
    },
    ...{ credential: { kind: "none" }, impersonate: undefined },
    ...more,
  };
  const connection = new Connection(access, { clock, env: {}, userAgent: "nigari/9" });
  open.push(connection);
  return connection;
}

async function serve(
  cluster: Partial<FakeCluster>,
  faults: readonly FakeFault[] = [],
): Promise<FakeApiServer> {
  const whole = { objects: [], logs: [], inPods: [], nowMs: 1_800_000_000_000, ...cluster };
  const server = await startFakeApiServer(whole, faults);
  open.push(server);
  return server;
}

const pods = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    ...{ apiVersion: "v1", kind: "Pod" },
    metadata: { name: `p${index}`, namespace: index % 2 === 0 ? "even" : "odd" },
  }));
const podResource = resources.find(({ kind }) => kind === "Pod");
if (podResource === undefined) throw new Error("Pods are not read");
const allPods = { resource: podResource, version: "v1", namespace: undefined };
const troubleOf = async (promise: Promise<unknown>) => {
  const error: unknown = await promise.catch((each: unknown) => each);
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
};

describe("a list", () => {
  test("is read page by page, with the server's time", async () => {
    const server = await serve({ objects: pods(2_345) });
    const { items, dateMs, origin } = await listAll(connect(server.url), allPods, call);
    expect(items).toHaveLength(2_345);
    expect(new Set(items.map((each) => JSON.stringify(each))).size).toBe(2_345);
    expect(dateMs).toBe(1_800_000_000_000);
    expect(origin).toBe("GET /api/v1/pods");
    expect(server.requests).toEqual([
      "GET /api/v1/pods?limit=1000",
      "GET /api/v1/pods?limit=1000&continue=1000",
      "GET /api/v1/pods?limit=1000&continue=2000",
    ]);
  });

  test("that the server forgot is begun once more, and given up if it forgets again", async () => {
    const fits = /continue=1000/;
    const once = await serve({ objects: pods(1_500) }, [{ fits, does: "gone", times: 1 }]);
    expect((await listAll(connect(once.url), allPods, call)).items).toHaveLength(1_500);
    const twice = await serve({ objects: pods(1_500) }, [{ fits, does: "gone" }]);
    const error = await troubleOf(listAll(connect(twice.url), allPods, call));
    expect(error.status).toBe(410);
  });

  const troubles: readonly (readonly [FakeFault["does"], ApiError["why"], RegExp])[] = [
    ["forbid", "not-permitted", /^403: is forbidden/],
    ["fail", "damaged", /^500: etcdserver: request timed out/],
    ["cut", "unreachable", /aborted|broke off/],
    ["reset", "unreachable", /socket hang up|ECONNRESET/],
  ];
  test.each(troubles)("that meets %s is an error of kind %s", async (does, why, says) => {
    const server = await serve({ objects: pods(3) }, [{ fits: /pods/, does }]);
    const error = await troubleOf(listAll(connect(server.url), allPods, call));
    expect(error.why).toBe(why);
    expect(error.message).toMatch(says);
  });

  test("that a closed connection cut short at its start is asked for again", async () => {
    const server = await serve({ objects: pods(3) }, [{ fits: /pods/, does: "reset", times: 1 }]);
    expect((await listAll(connect(server.url), allPods, call)).items).toHaveLength(3);
    expect(server.requests).toHaveLength(2);
  });
});

describe("a request", () => {
  test("that nobody answers ends at its bound, and at the caller's word", async () => {
    const server = await serve({}, [{ fits: /./, does: "hang" }]);
    const connection = connect(server.url);
    const error = await troubleOf(connection.json({ path: "/x", limitMs: 100 }, call));
    expect(error).toMatchObject({ why: "timed-out", message: "No answer within 100ms" });
    const stop = new AbortController();
    const stopped = connection.json({ path: "/x", limitMs: 60_000 }, { signal: stop.signal });
    stop.abort(new Error("Interrupted"));
    await expect(stopped).rejects.toThrow("Interrupted");
  });

  test("whose body trickles for ever ends at its bound too", async () => {
    const server = createServer((_, response) => {
      const timer = setInterval(() => response.write(" "), 10);
      response.on("close", () => clearInterval(timer));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push({ close: () => server.closeAllConnections() });
    const { port } = server.address() as AddressInfo;
    const connection = connect(`http://127.0.0.1:${port}`);
    const error = await troubleOf(connection.json({ path: "/x", limitMs: 150 }, call));
    expect(error.why).toBe("timed-out");
  });

  test("to a server that is not there says which", async () => {
    const connection = connect("http://127.0.0.1:1");
    const error = await troubleOf(connection.json({ path: "/x", limitMs: 5_000 }, call));
    expect(error).toMatchObject({
      why: "unreachable",
      message: expect.stringMatching(/127.0.0.1:1/),
    });
  });

  test("carries who asks, keeps the server's own path, and unpacks", async () => {
    let seen: { url?: string | undefined; headers?: object } = {};
    const server = createServer(({ url, headers }, response) => {
      seen = { url, headers };
      response.setHeader("content-encoding", "gzip");
      response.end(gzipSync('{"a":1}'));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push({ close: () => void server.close() });
    const { port } = server.address() as AddressInfo;
    const connection = connect(`http://127.0.0.1:${port}/k8s/one/`, {
      credential: { kind: "token", token: "t" },
      impersonate: { user: "eve", groups: ["a", "b"], uid: "7" },
    });
    const { value } = await connection.json({ path: "/api/v1/pods?limit=1", limitMs: 5_000 }, call);
    expect(value).toEqual({ a: 1 });
    expect(seen.url).toBe("/k8s/one/api/v1/pods?limit=1");
    expect(seen.headers).toMatchObject({
      authorization: "Bearer t",
      "impersonate-user": "eve",
      "impersonate-group": "a, b",
      "impersonate-uid": "7",
      "user-agent": "nigari/9",
    });
    expect(connection.calls).toBe(1);
  });
});

describe("a port-forward", () => {
  const at = { namespace: "ops", pod: "tc", port: 8080 };

  test("reads what the program in the pod says, however long", async () => {
    const text = `up 1\n${"x".repeat(300_000)}\n`;
    const server = await serve({ inPods: [{ ...at, path: "/metrics", text }] });
    const connection = connect(server.url);
    const body = await getThroughPortForward(connection, at, "/metrics", call);
    expect(body.toString()).toBe(text);
    const error = await troubleOf(getThroughPortForward(connection, at, "/debug", call));
    expect(error).toMatchObject({ why: "absent", message: "The pod answered 404" });
  });

  test("that is forbidden says so", async () => {
    const server = await serve({}, [{ fits: /portforward/, does: "forbid" }]);
    const error = await troubleOf(getThroughPortForward(connect(server.url), at, "/metrics", call));
    expect(error.why).toBe("not-permitted");
  });
});
