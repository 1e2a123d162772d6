import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Log } from "../../ports/log.ts";
import { type StateAccess, StateDamaged, type StateId, StateRefused } from "../../ports/state.ts";
import { stateText } from "../../testing/contracts/state-storage.ts";
import { MemoryStates } from "../../testing/fakes/memory-states.ts";
import { createClock } from "../system/clock.ts";
import { systemRandom as random } from "../system/random.ts";
import { RETRY } from "./access.ts";
import { createApp } from "./app.ts";
import { PortTaken } from "./port.ts";
import { type OpenStateDoor, openStateDoor, type StateDoorOptions } from "./server.ts";

const scratch = mkdtempSync(join(tmpdir(), "nigari-door-"));
const clock = createClock();
const call = { signal: new AbortController().signal };
const home: StateId = { namespace: "team", name: "net", workspace: "default" };

let lines: string[];
const log: Log = { info: note, warn: note, error: note, debug: note };
function note(message: string, fields?: object): void {
  lines.push(`${message} ${JSON.stringify(fields)}`);
}

let storage: MemoryStates;
const doors: OpenStateDoor[] = [];
async function open(more: Partial<StateDoorOptions> = {}): Promise<OpenStateDoor> {
  const portFile = join(scratch, `${random.hex(4)}.json`);
  const parts = { storage, log, clock, random, portFile, runsMayWait: true, ...more };
  const opened = await openStateDoor(parts, call);
  doors.push(opened);
  return opened;
}
let opened: OpenStateDoor;
beforeEach(async () => {
  lines = [];
  storage = new MemoryStates(clock);
  opened = await open();
});
afterEach(async () => {
  await Promise.all(doors.splice(0).map((each) => each.close(call)));
});
afterAll(() => {
  rmSync(scratch, { recursive: true });
  clock.close();
});

interface Reply {
  readonly status: number;
  readonly text: string;
}
interface Send {
  readonly body?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
async function send(access: StateAccess, method: string, more: Send = {}): Promise<Reply> {
  const { TF_HTTP_ADDRESS: url, TF_HTTP_USERNAME: user, TF_HTTP_PASSWORD: password } = access.env;
  const basic = Buffer.from(`${user}:${password}`).toString("base64");
  const answer = await fetch(`${url}${more.query ?? ""}`, {
    method,
    headers: { authorization: `Basic ${basic}`, ...more.headers },
    ...(more.body === undefined ? {} : { body: more.body }),
  });
  return { status: answer.status, text: await answer.text() };
}
function lockBody(id: string, more: object = {}): string {
  const time = "2026-01-01T00:00:00.123456789Z";
  const info = { ID: id, Operation: "OperationTypeApply", Info: "", Who: "me@here" };
  return JSON.stringify({ ...info, Version: "1.12.6", Created: time, Path: "", ...more });
}
const access = (runId: string, state = home) => opened.door.access(state, runId, call);
async function locked(runId: string): Promise<StateAccess> {
  const given = await access(runId);
  expect(await send(given, "LOCK", { body: lockBody(`l-${runId}`) })).toMatchObject({
    status: 200,
  });
  return given;
}
const md5 = (text: string) => createHash("md5").update(text).digest("base64");

describe("the protocol", () => {
  test("a run locks, reads nothing, writes, reads, unlocks", async () => {
    const run = await locked("r1");
    expect(await send(run, "GET")).toEqual({ status: 204, text: "" });
    const body = stateText(1);
    const headers = { "content-md5": md5(body), "content-type": "application/json" };
    const query = "?ID=l-r1";
    expect(await send(run, "POST", { body, query, headers })).toMatchObject({ status: 200 });
    expect(await send(run, "GET")).toEqual({ status: 200, text: body });
    expect(await send(run, "UNLOCK", { body: lockBody("l-r1") })).toMatchObject({ status: 200 });
    expect(await storage.lock(home, call)).toBeUndefined();
  });

  test("the second run is told who holds the lock, in a form that Go reads", async () => {
    await locked("r1");
    const answer = await send(await access("r2"), "LOCK", { body: lockBody("l-r2") });
    expect(answer.status).toBe(423);
    expect(JSON.parse(answer.text)).toEqual({
      ID: "l-r1",
      Operation: "OperationTypeApply",
      Info: "run r1",
      Who: "me@here",
      Version: "1.12.6",
      Created: "2026-01-01T00:00:00.123456789Z",
      Path: "team/net (workspace default)",
    });
  });

  test("a lock is returned by its holder alone", async () => {
    await locked("r1");
    const answer = await send(await access("r2"), "UNLOCK", { body: lockBody("l-r1") });
    expect(answer.status).toBe(409);
    expect(JSON.parse(answer.text)).toMatchObject({ ID: "l-r1" });
    expect(await storage.lock(home, call)).toBeDefined();
  });

  test("a write without the lock is kept aside, and answered so that tofu gives up", async () => {
    const run = await access("r1");
    const answer = await send(run, "POST", { body: stateText(1), query: "?ID=x" });
    expect(answer.status).toBe(409);
    expect(answer.text).toBe("Kept aside as v1, not current: the run does not hold the lock");
    expect(await send(run, "GET")).toMatchObject({ status: 204 });
    expect(await opened.door.rescued(home, call)).toMatchObject([{ id: "v1", serial: 1 }]);
  });

  test("a revoked run may read and return its lock, and its write is kept aside", async () => {
    const run = await locked("r1");
    await send(run, "POST", { body: stateText(1), query: "?ID=l-r1" });
    await opened.door.revoke("r1", "killed by signal 9", call);
    expect(await send(run, "GET")).toEqual({ status: 200, text: stateText(1) });
    const late = await send(run, "POST", { body: stateText(2), query: "?ID=l-r1" });
    expect(late.status).toBe(409);
    expect(await send(run, "GET")).toEqual({ status: 200, text: stateText(1) });
    expect(await send(run, "UNLOCK", { body: lockBody("l-r1") })).toMatchObject({ status: 200 });
    expect(await send(run, "LOCK", { body: lockBody("again") })).toMatchObject({ status: 403 });
  });

  test("the state is removed by the holder of the lock alone", async () => {
    const run = await locked("r1");
    await send(run, "POST", { body: stateText(1), query: "?ID=l-r1" });
    expect(await send(await access("r2"), "DELETE")).toMatchObject({ status: 409 });
    expect(await send(run, "DELETE")).toMatchObject({ status: 200 });
    expect(await send(run, "GET")).toMatchObject({ status: 204 });
  });

  test("what has a workspace of its own has a state of its own", async () => {
    const odd = { ...home, workspace: "größe/a b?c" };
    const given = await access("r1", odd);
    expect(await send(given, "LOCK", { body: lockBody("l") })).toMatchObject({ status: 200 });
    expect(await storage.lock(odd, call)).toMatchObject({ id: "l" });
    expect(await storage.lock(home, call)).toBeUndefined();
  });

  test("other methods are refused", async () => {
    expect(await send(await access("r1"), "PATCH")).toMatchObject({ status: 405 });
  });
});

describe("access", () => {
  test("nothing secret stands in the HCL, and the password is in one variable alone", async () => {
    const { backend, env } = await access("r1");
    expect(backend).toBe('terraform {\n  backend "http" {}\n}\n');
    const address = `http://127.0.0.1:${opened.port}/states/team/net/default`;
    const { TF_HTTP_PASSWORD: password, ...rest } = env;
    expect(password).toMatch(/^[0-9a-f]{64}$/);
    expect(rest).toEqual({
      TF_HTTP_ADDRESS: address,
      TF_HTTP_UPDATE_METHOD: "POST",
      TF_HTTP_LOCK_ADDRESS: address,
      TF_HTTP_LOCK_METHOD: "LOCK",
      TF_HTTP_UNLOCK_ADDRESS: address,
      TF_HTTP_UNLOCK_METHOD: "UNLOCK",
      TF_HTTP_USERNAME: "r1",
      TF_HTTP_RETRY_MAX: "200",
      TF_HTTP_RETRY_WAIT_MIN: "1",
      TF_HTTP_RETRY_WAIT_MAX: "5",
    });
  });

  test("tofu waits for at least fifteen minutes, and comes back within five seconds", () => {
    // go-retryablehttp: before retry i (from 0) it waits min(waitMin × 2^i, waitMax).
    let seconds = 0;
    for (let i = 0; i < RETRY.max; i++) {
      seconds += Math.min(RETRY.waitMinSeconds * 2 ** i, RETRY.waitMaxSeconds);
    }
    expect(seconds).toBeGreaterThanOrEqual(15 * 60);
    expect(RETRY.waitMaxSeconds).toBeLessThanOrEqual(5);
  });

  test("a launch that is repeated gets a new password, and the first stays good", async () => {
    const [first, second] = [await access("r1"), await access("r1")];
    expect(first.env.TF_HTTP_PASSWORD).not.toBe(second.env.TF_HTTP_PASSWORD);
    for (const each of [first, second]) {
      expect(await send(each, "GET")).toMatchObject({ status: 204 });
    }
  });

  test.each(["", ".", ".."])("a workspace named %j has no address", async (workspace) => {
    await expect(access("r1", { ...home, workspace })).rejects.toThrow(StateRefused);
  });

  describe("is denied with one and the same answer", () => {
    const attempts: Record<string, (good: Record<string, string>) => Record<string, string>> = {
      "to an unknown run": (good) => ({ ...good, TF_HTTP_USERNAME: "r9" }),
      "to another run's password": (good) => ({ ...good, TF_HTTP_USERNAME: "r2" }),
      "to a wrong password": (good) => ({ ...good, TF_HTTP_PASSWORD: "x" }),
      "to an empty password": (good) => ({ ...good, TF_HTTP_PASSWORD: "" }),
      "to another object's state": ({ TF_HTTP_ADDRESS = "", ...good }) => ({
        ...good,
        TF_HTTP_ADDRESS: TF_HTTP_ADDRESS.replace("/net/", "/other/"),
      }),
      "to another workspace": ({ TF_HTTP_ADDRESS = "", ...good }) => ({
        ...good,
        TF_HTTP_ADDRESS: `${TF_HTTP_ADDRESS}2`,
      }),
      "to a path that climbs": ({ TF_HTTP_ADDRESS = "", ...good }) => ({
        ...good,
        TF_HTTP_ADDRESS: `${TF_HTTP_ADDRESS}/%2e%2e/%2e%2e/other/default`,
      }),
      "to a path that hides a slash": ({ TF_HTTP_ADDRESS = "", ...good }) => ({
        ...good,
        TF_HTTP_ADDRESS: TF_HTTP_ADDRESS.replace("/net/default", "/net%2fdefault"),
      }),
      "to a path that is nothing": ({ TF_HTTP_ADDRESS = "", ...good }) => ({
        ...good,
        TF_HTTP_ADDRESS: new URL("/", TF_HTTP_ADDRESS).href,
      }),
    };
    test.each(Object.entries(attempts))("%s", async (_why, change) => {
      const good = await locked("r1");
      await access("r2");
      await send(good, "POST", { body: stateText(1), query: "?ID=l-r1" });
      const bad = { ...good, env: change({ ...good.env }) };
      for (const method of ["GET", "POST", "DELETE", "LOCK", "UNLOCK", "PATCH"]) {
        const body = method === "GET" ? {} : { body: "{}" };
        expect(await send(bad, method, body), method).toEqual({ status: 401, text: "No access" });
      }
      expect(await send(good, "GET")).toEqual({ status: 200, text: stateText(1) });
    });

    test.each(["", "Basic", "Basic %%%", "Basic cjE=", "Bearer cjE6eA=="])(
      "to a header like %j",
      async (authorization) => {
        const { env } = await access("r1");
        const answer = await fetch(env.TF_HTTP_ADDRESS ?? "", { headers: { authorization } });
        expect(answer.status).toBe(401);
        expect(answer.headers.get("www-authenticate")).toBe('Basic realm="state"');
      },
    );
  });
});

describe("what does not fit is refused and changes nothing", () => {
  const locks: Record<string, string> = {
    "no JSON": "{",
    "no object": '"x"',
    nothing: "",
    "no ID": lockBody(""),
    "an ID of control characters": lockBody("a\nb"),
    "an ID without end": lockBody("x".repeat(257)),
    "an ID that is a number": lockBody("x", { ID: 7 }),
    "a time that Go could not read back": lockBody("x", { Created: "1 January 2026" }),
    "no time": lockBody("x", { Created: undefined }),
    "an operation that is an object": lockBody("x", { Operation: {} }),
  };
  test.each(Object.entries(locks))("a lock with %s", async (_why, body) => {
    expect(await send(await access("r1"), "LOCK", { body })).toMatchObject({ status: 400 });
    expect(await storage.lock(home, call)).toBeUndefined();
  });

  test("a lock that is too large", async () => {
    const body = lockBody("x", { Info: "x".repeat(65_536) });
    expect(await send(await access("r1"), "LOCK", { body })).toMatchObject({ status: 413 });
  });

  test("a body that is not what its sender hashed", async () => {
    const run = await locked("r1");
    const headers = { "content-md5": md5("something else") };
    const query = "?ID=l-r1";
    const answer = await send(run, "POST", { body: stateText(1), query, headers });
    expect(answer.status).toBe(400);
    expect(await storage.versions(home, call)).toEqual([]);
  });

  test("a body that is no state", async () => {
    const run = await locked("r1");
    expect(await send(run, "POST", { body: "{}", query: "?ID=l-r1" })).toEqual({
      status: 400,
      text: "What was sent is no state: it has neither version nor encrypted_data",
    });
    expect(await send(run, "POST", { query: "?ID=l-r1" })).toMatchObject({ status: 400 });
    expect(await storage.versions(home, call)).toEqual([]);
  });

  describe("a state that is too large", () => {
    const closing = new AbortController().signal;
    const small = () =>
      createApp({ storage, log, clock, closing, requestMs: 5_000, stateBytesMax: 100 });
    const post = async (headers: Record<string, string>, pieces: string[]) => {
      const run = await locked("r1");
      const basic = `r1:${run.env.TF_HTTP_PASSWORD}`;
      const { createAdaptorServer } = await import("@hono/node-server");
      const server = createAdaptorServer({ fetch: small().fetch });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const address = server.address();
      const port = typeof address === "object" ? address?.port : undefined;
      const answer = await fetch(`http://127.0.0.1:${port}/states/team/net/default?ID=l-r1`, {
        method: "POST",
        headers: {
          authorization: `Basic ${Buffer.from(basic).toString("base64")}`,
          ...headers,
        },
        body: ReadableStream.from(pieces.map((piece) => Buffer.from(piece))),
        duplex: "half",
      });
      const { status } = answer;
      await answer.text();
      await new Promise((resolve) => server.close(resolve));
      return status;
    };

    test("found while it comes in, with no length said before", async () => {
      expect(await post({}, [stateText(1), " ".repeat(60)])).toBe(413);
      expect(await storage.versions(home, call)).toEqual([]);
    });
    test("one that just fits is taken", async () => {
      expect(await post({}, [stateText(1), " ".repeat(100 - stateText(1).length)])).toBe(200);
    });
  });
});

describe("a storage in trouble", () => {
  test("is answered so that tofu tries again, and says so in the log alone", async () => {
    const run = await locked("r1");
    storage.write = () => Promise.reject(new Error("No space left on device"));
    const answer = await send(run, "POST", { body: stateText(1), query: "?ID=l-r1" });
    expect(answer).toEqual({ status: 503, text: "The state door is in trouble" });
    expect(lines.join("\n")).toContain("No space left on device");
  });

  test("never passes a damaged state for an absent one", async () => {
    const run = await locked("r1");
    storage.read = () => Promise.reject(new StateDamaged("State file x is not what was written"));
    expect(await send(run, "GET")).toEqual({ status: 422, text: "The state door is in trouble" });
    expect(lines.join("\n")).toContain("State file x is not what was written");
  });

  test("never says how long to wait: that would shorten the fifteen minutes", async () => {
    const { env } = await locked("r1");
    storage.read = () => Promise.reject(new Error("Disk error"));
    const basic = Buffer.from(`r1:${env.TF_HTTP_PASSWORD}`).toString("base64");
    const headers = { authorization: `Basic ${basic}` };
    const answer = await fetch(env.TF_HTTP_ADDRESS ?? "", { headers });
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBeNull();
  });
});

test("no log line holds a password or a state", async () => {
  const run = await locked("r1");
  const body = stateText(1, "a-secret-in-the-state");
  await send(run, "POST", { body, query: "?ID=l-r1" });
  await send(run, "POST", { body: stateText(1, "a-secret-once-more"), query: "?ID=l-r1" });
  await send(run, "POST", { body: '{"a-secret-that-is-no-json', query: "?ID=l-r1" });
  await send(run, "LOCK", { body: "a-secret-that-is-no-json" });
  await send(run, "GET");
  await opened.door.rescue(home, "r1", Buffer.from(stateText(7, "a-secret")), call);
  await opened.door.revoke("r1", "a test", call);
  await opened.door.release(home, "l-r1", "A test", call);
  expect(lines.length).toBeGreaterThan(5);
  expect(lines.join("\n")).not.toContain("secret");
  expect(lines.join("\n")).not.toContain(run.env.TF_HTTP_PASSWORD);
});

describe("clients that hang", () => {
  const ends = new WeakMap<Socket, Promise<void>>();
  const gone = (socket: Socket) => ends.get(socket);
  async function half(request: string, reads = true): Promise<Socket> {
    const socket = connect(opened.port, "127.0.0.1");
    socket.on("error", () => undefined);
    if (reads) socket.resume();
    ends.set(socket, new Promise<void>((resolve) => socket.once("close", () => resolve())));
    await new Promise<void>((resolve) => socket.once("connect", resolve));
    await new Promise((resolve) => socket.write(request, resolve));
    return socket;
  }
  test("are cut off in time, whether they stop sending or reading", async () => {
    await opened.close(call);
    opened = await open({ requestMs: 300 });
    const run = await locked("r1");
    const content = Buffer.from(stateText(1, "x".repeat(32 * 1024 * 1024)));
    await storage.rescue(home, "r1", content, call);
    const basic = Buffer.from(`r1:${run.env.TF_HTTP_PASSWORD}`).toString("base64");
    const line = `/states/team/net/default HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${basic}`;
    const sender = await half(`POST ${line}\r\nContent-Length: 900\r\n\r\n{"version`);
    const dawdler = await half("GET / HT");
    const reader = await half(`GET ${line}\r\n\r\n`, false);
    await clock.sleep(800, call.signal);
    let readBytes = 0;
    reader.on("data", (chunk) => {
      readBytes += chunk.length;
    });
    await Promise.all([sender, dawdler, reader].map(gone));
    expect(readBytes).toBeLessThan(content.length);
    expect(await send(run, "LOCK", { body: lockBody("l-r1") })).toMatchObject({ status: 200 });
  });

  test("closing cuts them off at its deadline", async () => {
    const run = await locked("r1");
    const basic = Buffer.from(`r1:${run.env.TF_HTTP_PASSWORD}`).toString("base64");
    const head = `POST /states/team/net/default?ID=l-r1 HTTP/1.1\r\nHost: x\r\n`;
    const sockets = [
      await half(`${head}Authorization: Basic ${basic}\r\nContent-Length: 900\r\n\r\n{"version`),
      await half(`${head}Content-Length: 900\r\n\r\n`),
      await half("GET / HT"),
      await half(""),
    ];
    const start = clock.monotonic();
    await opened.close({ signal: clock.deadline("A test", 200) });
    expect(clock.monotonic() - start).toBeLessThan(1_500);
    await Promise.all(sockets.map(gone));
    expect(await storage.versions(home, call)).toEqual([]);
  });

  test("closing waits for what is under way", async () => {
    const run = await locked("r1");
    const real = storage.write.bind(storage);
    let begun = () => {};
    const under = new Promise<void>((resolve) => {
      begun = resolve;
    });
    storage.write = async (...of) => {
      begun();
      await clock.sleep(150, call.signal);
      return real(...of);
    };
    const answer = send(run, "POST", { body: stateText(1), query: "?ID=l-r1" });
    await under;
    await opened.close(call);
    expect(await answer).toMatchObject({ status: 200 });
    expect(await storage.versions(home, call)).toHaveLength(1);
    await expect(send(run, "GET")).rejects.toThrow();
  });

  test("a sender that goes away in the middle leaves nothing behind", async () => {
    const run = await locked("r1");
    const basic = Buffer.from(`r1:${run.env.TF_HTTP_PASSWORD}`).toString("base64");
    const text = stateText(1);
    const socket = await half(
      `POST /states/team/net/default?ID=l-r1 HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${basic}` +
        `\r\nContent-Length: ${text.length + 1}\r\n\r\n${text}`,
    );
    socket.destroy();
    await expect.poll(() => lines.join("\n")).toContain("broke off");
    expect(await storage.versions(home, call)).toEqual([]);
    expect(await send(run, "GET")).toMatchObject({ status: 204 });
  });
});

describe("the port", () => {
  const squatters: Server[] = [];
  afterEach(() => {
    for (const each of squatters.splice(0)) each.close();
  });
  async function squat(port: number): Promise<void> {
    const server = createServer();
    squatters.push(server);
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  }
  const fresh = () => join(scratch, `${random.hex(4)}.json`);

  test("is chosen once, out of reach of outgoing connections, kept, and bound again", async () => {
    const portFile = fresh();
    const first = await open({ portFile });
    expect(first.port).toBeGreaterThanOrEqual(20_000);
    expect(first.port).toBeLessThan(32_768);
    expect(JSON.parse(readFileSync(portFile, "utf8"))).toEqual({ port: first.port });
    expect(statSync(portFile).mode & 0o777).toBe(0o600);
    await first.close(call);
    const second = await open({ portFile });
    expect(second.port).toBe(first.port);
  });

  test("one that is taken is passed over at the first start", async () => {
    const taken = await open();
    const chances = [(taken.port - 20_000 + 0.5) / 12_768, 0.5, 0.6, 0.7];
    const rigged = { ...random, next: () => chances.shift() ?? 0.9 };
    const other = await open({ random: rigged });
    expect(other.port).not.toBe(taken.port);
    expect(chances.length).toBeLessThan(4);
  });

  test("that somebody else holds is not given up: a run may wait for it", async () => {
    const portFile = fresh();
    const first = await open({ portFile });
    await first.close(call);
    await squat(first.port);
    const text = `State door ${portFile}: port ${first.port} is taken by process ${process.pid} (`;
    let passedMs = 0;
    const hasty = { ...clock, monotonic: () => (passedMs += 1_000) };
    const failing = open({ portFile, clock: hasty });
    await expect(failing).rejects.toThrow(PortTaken);
    await expect(failing).rejects.toThrow(text);
    await expect(failing).rejects.toThrow("end that program and start again");
    expect(JSON.parse(readFileSync(portFile, "utf8"))).toEqual({ port: first.port });
  });

  test("of an engine that is just going down is waited for", async () => {
    const portFile = fresh();
    const first = await open({ portFile });
    const second = open({ portFile });
    await clock.sleep(300, call.signal);
    await first.close(call);
    expect((await second).port).toBe(first.port);
  });

  test("another is chosen if no run can know it", async () => {
    const portFile = fresh();
    const first = await open({ portFile });
    const second = await open({ portFile, runsMayWait: false });
    expect(second.port).not.toBe(first.port);
    expect(JSON.parse(readFileSync(portFile, "utf8"))).toEqual({ port: second.port });
  });

  test.each(["", "{", "{}", '{"port":"1"}', '{"port":0}', '{"port":70000}', "null"])(
    "a file that holds %j is not overwritten",
    async (text) => {
      const portFile = fresh();
      writeFileSync(portFile, text);
      await expect(open({ portFile })).rejects.toThrow(
        `State door ${portFile}: holds no port; restore it, or remove it if no run is under way`,
      );
      expect(readFileSync(portFile, "utf8")).toBe(text);
    },
  );
});
