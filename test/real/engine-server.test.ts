import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { get as httpGet, type IncomingMessage } from "node:http";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectEngine, type EngineClient } from "../../src/adapters/engine-client/client.ts";
import { memoryObjectStore } from "../../src/adapters/memory/object-store.ts";
import { createClock } from "../../src/adapters/system/clock.ts";
import { systemRandom } from "../../src/adapters/system/random.ts";
import { createRunLogs } from "../../src/adapters/system/run-logs.ts";
import type { ConfigMap } from "../../src/api/core.ts";
import { noLog } from "../../src/ports/log.ts";
import type { LogLine } from "../../src/ports/runs.ts";
import type { ServedEngine } from "../../src/server/handlers.ts";
import { type EngineServer, serveEngine } from "../../src/server/server.ts";
import { engineSocketPath } from "../../src/server/socket.ts";
import { objectStoreContract } from "../../src/testing/contracts/object-store.ts";
import { MemoryStates } from "../../src/testing/fakes/memory-states.ts";

const clock = createClock();
afterAll(() => clock.close());
const call = (ms = 10_000) => ({ signal: AbortSignal.timeout(ms) });

function newEngine(dataDir: string, more: Partial<ServedEngine> = {}): ServedEngine {
  return {
    store: memoryObjectStore({ clock, random: systemRandom }),
    logs: createRunLogs(join(dataDir, "logs")),
    states: new MemoryStates(clock),
    live: { describe: () => undefined },
    info: () => ({
      pid: process.pid,
      version: "1.2.3",
      since: "2026-01-01T00:00:00Z",
      command: "nigari up .",
      dataDir,
      lagMs: 0,
      epoch: 3,
      runs: [{ namespace: "default", name: "web", runId: "r1" }],
      slots: { taken: 1, all: 4 },
    }),
    clock,
    log: noLog,
    ...more,
  };
}

describe("the contract of a store, through the socket", () => {
  objectStoreContract(async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "nigari-server-"));
    const server = await serveEngine(newEngine(dataDir), engineSocketPath(dataDir));
    return {
      store: connectEngine(server.socket, clock).store,
      async close() {
        await server.close();
        rmSync(dataDir, { recursive: true });
      },
    };
  });
});

describe("an engine that runs", () => {
  let dataDir: string;
  let server: EngineServer | undefined;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), "nigari-server-"));
    server = undefined;
  });
  afterEach(async () => {
    await server?.close();
    rmSync(dataDir, { recursive: true });
  });
  async function open(more: Partial<ServedEngine> = {}): Promise<EngineClient> {
    server = await serveEngine(newEngine(dataDir, more), engineSocketPath(dataDir));
    return connectEngine(server.socket, clock);
  }

  test("only its user can open the socket", async () => {
    await open();
    expect(statSync(join(dataDir, "engine")).mode & 0o777).toBe(0o700);
    expect(statSync(join(dataDir, "engine/socket")).mode & 0o777).toBe(0o600);
  });

  test("a socket that a dead engine left is replaced", async () => {
    await open();
    const { socket } = server as EngineServer;
    await server?.close();
    prepareStale(socket);
    const client = await open();
    expect((await client.engine.info(call())).pid).toBe(process.pid);
  });
  const prepareStale = (socket: string) => writeFileSync(socket, "");

  test("says who it is and what it knows of a run", async () => {
    const run = {
      runId: "r1",
      stage: "apply",
      verdict: "suspect",
      silentMs: 5_200,
      progress: { done: 1, total: 3 },
      inFlight: ["time_sleep.slow"],
    } as const;
    const describe = ({ name }: { name: string }) => (name === "web" ? run : undefined);
    const { engine } = await open({ live: { describe } });
    const info = await engine.info(call());
    expect(info.runs).toEqual([{ namespace: "default", name: "web", runId: "r1" }]);
    expect(await engine.liveRun({ namespace: "default", name: "web" }, call())).toEqual(run);
    expect(await engine.liveRun({ namespace: "default", name: "db" }, call())).toBeUndefined();
  });

  test("logs are read and followed, each line once, in any language", async () => {
    const { logs } = await open();
    const key = { namespace: "default", name: "web" };
    const written = createRunLogs(join(dataDir, "logs"));
    const line = (text: string): LogLine => ({ at: "t", runId: "r1", stage: "plan", text });
    // The engine's own writer is the one a follower hears; here the served one.
    await written.append(key, "r1", [line("größer 日本")], call());
    expect(await logs.read(key, { tail: 5 }, call())).toEqual([line("größer 日本")]);
    expect(await logs.read(key, { runId: "r2" }, call())).toEqual([]);
  });

  test("a follower hears what is appended while it listens, and ends with its call", async () => {
    const engine = newEngine(dataDir);
    const { logs } = await open({ logs: engine.logs });
    const key = { namespace: "default", name: "web" };
    const heard: string[] = [];
    const stop = new AbortController();
    const listening = (async () => {
      for await (const { text } of logs.follow(key, {}, { signal: stop.signal })) {
        heard.push(text);
        if (text === "49") stop.abort();
      }
    })();
    for (let n = 0; n < 50; n++) {
      const line: LogLine = { at: "t", runId: "r1", stage: "plan", text: String(n) };
      await engine.logs.append(key, "r1", [line], call());
    }
    await listening;
    expect(heard).toEqual(Array.from({ length: 50 }, (_, n) => String(n)));
  });

  test("states go in and out byte by byte, and refusals keep their class and words", async () => {
    const { states } = await open();
    const id = { namespace: "default", name: "web", workspace: "default" };
    expect(await states.show(id, undefined, call())).toBeUndefined();
    const content = (serial: number, lineage = "L1") =>
      Buffer.from(JSON.stringify({ version: 4, serial, lineage, resources: [], outputs: {} }));
    const push = (serial: number, lineage?: string, force = false) =>
      states.push(id, { from: "content", content: content(serial, lineage), force }, call());
    expect(await push(1)).toMatchObject({ ...id, serial: 1, lineage: "L1" });
    expect(await states.show(id, undefined, call())).toEqual(content(1));
    await push(2);
    await expect(push(3, "other")).rejects.toMatchObject({ name: "StateRefused" });
    expect(await push(3, "other", true)).toMatchObject({ lineage: "other" });
    const versions = await states.versions(id, call());
    expect(versions.map(({ kept }) => kept)).toContain("history");
    expect((await states.list(call())).map(({ name }) => name)).toEqual(["web"]);
    await expect(states.drop(id, "none", call())).rejects.toMatchObject({ name: "StateRefused" });
  });

  test("an answer that takes too long is not waited for beyond the caller's patience", async () => {
    const { logs } = await open({
      logs: { ...newEngine(dataDir).logs, read: () => new Promise<LogLine[]>(() => {}) },
    });
    const start = clock.monotonic();
    const reading = logs.read({ namespace: "default", name: "web" }, {}, call(300));
    await expect(reading).rejects.toMatchObject({ name: "EngineUnavailable" });
    expect(clock.monotonic() - start).toBeLessThan(2_000);
  });

  test("a client that goes away ends the engine's work for it", async () => {
    const ended = Promise.withResolvers<void>();
    const { logs } = await open({
      logs: {
        ...newEngine(dataDir).logs,
        async *follow(_key, _options, { signal }) {
          yield { at: "t", runId: "r1", stage: "plan", text: "first" };
          await once(signal, "abort");
          ended.resolve();
        },
      },
    });
    for await (const _ of logs.follow({ namespace: "default", name: "web" }, {}, call())) break;
    await ended.promise;
  });

  test("a stream in which nothing happens stays open", async () => {
    const { store } = await open();
    const { resourceVersion } = await store.list("ConfigMap", {}, call());
    const stop = new AbortController();
    const watching = (async () => {
      for await (const each of store.watch("ConfigMap", { resourceVersion }, stop)) {
        return each.type;
      }
      return "ended";
    })();
    await clock.sleep(16_000, call(20_000).signal);
    const map: ConfigMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
    await store.create(map, call());
    expect(await watching).toBe("ADDED");
  }, 40_000);

  test("when it stops, who watches is told at once", async () => {
    const { store } = await open();
    const { resourceVersion } = await store.list("ConfigMap", {}, call());
    const watching = (async () => {
      for await (const _ of store.watch("ConfigMap", { resourceVersion }, call(30_000))) break;
    })();
    const failure = expect(watching).rejects.toMatchObject({ code: "Unavailable" });
    await clock.sleep(200, call().signal);
    await server?.close();
    server = undefined;
    await failure;
  });
});

describe("an engine that listens on TCP", () => {
  let dataDir: string;
  let server: EngineServer;
  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "nigari-server-"));
    const address = { host: "127.0.0.1", port: 0 } as const;
    server = await serveEngine(newEngine(dataDir), engineSocketPath(dataDir), address);
  });
  afterEach(async () => {
    await server.close();
    rmSync(dataDir, { recursive: true });
  });
  const token = () => readFileSync(join(dataDir, "engine/token"), "utf8").trim();
  const bearer = (text: string) => ({ headers: { authorization: `Bearer ${text}` } });

  test("answers who has the token, and nobody else", async () => {
    const url = `${server.url}/v1/info`;
    expect((await fetch(url)).status).toBe(401);
    expect((await fetch(url, bearer("wrong"))).status).toBe(401);
    const answer = await fetch(url, bearer(token()));
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ pid: process.pid });
  });

  test("answers nobody who calls it by another name", async () => {
    const { port } = new URL(server.url ?? "");
    const asked = httpGet({
      host: "127.0.0.1",
      port,
      path: "/v1/info",
      headers: { host: `rebound.example:${port}`, authorization: `Bearer ${token()}` },
    });
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    expect(answer.statusCode).toBe(403);
    answer.resume();
  });

  test("says which port is taken", async () => {
    const other = mkdtempSync(join(tmpdir(), "nigari-server-"));
    const address = { host: "127.0.0.1", port: Number(new URL(server.url ?? "").port) } as const;
    await expect(serveEngine(newEngine(other), engineSocketPath(other), address)).rejects.toThrow(
      `Cannot listen on 127.0.0.1:${address.port}`,
    );
    rmSync(other, { recursive: true });
  });

  test("a watch goes on from the last event that a reader had", async () => {
    const map = (name: string): ConfigMap => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name },
    });
    const { store } = connectEngine(server.socket, clock);
    await store.create(map("a"), call());
    await store.create(map("b"), call());
    const first = await firstEvent(`${server.url}/v1/watch/ConfigMap?resourceVersion=0`, token());
    expect(first).toContain('"name":"a"');
    const id = /^id: (.*)$/m.exec(first)?.[1] ?? "";
    const url = `${server.url}/v1/watch/ConfigMap?resourceVersion=0`;
    expect(await firstEvent(url, token(), id)).toContain('"name":"b"');
  });
});

async function firstEvent(url: string, token: string, lastEventId?: string): Promise<string> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
  };
  const answer = await fetch(url, { headers });
  let text = "";
  for await (const chunk of answer.body ?? []) {
    text += new TextDecoder().decode(chunk);
    const event = text.split("\n\n").find((block) => block.startsWith("event: "));
    if (event !== undefined && text.includes(`${event}\n\n`)) return event;
  }
  throw new Error("The stream ended without an event");
}

describe("an engine that does not answer", () => {
  let dataDir: string;
  let child: ChildProcess | undefined;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), "nigari-server-"));
    child = undefined;
  });
  afterEach(() => {
    child?.kill("SIGKILL");
    rmSync(dataDir, { recursive: true });
  });

  /** An engine in a process of its own, so that it can be killed and frozen. */
  async function start(): Promise<{ client: EngineClient; process: ChildProcess }> {
    const here = join(import.meta.dirname, "../..");
    const program = `
      const load = (path) => import(${JSON.stringify(`${here}/src/`)} + path);
      const { serveEngine } = await load("server/server.ts");
      const { memoryObjectStore } = await load("adapters/memory/object-store.ts");
      const { createClock } = await load("adapters/system/clock.ts");
      const { systemRandom } = await load("adapters/system/random.ts");
      const clock = createClock();
      const store = memoryObjectStore({ clock, random: systemRandom });
      const info = () => ({ version: "1", pid: process.pid });
      const log = { error: console.error, warn: console.error };
      await serveEngine({ store, clock, info, log }, process.argv[1]);
      console.log("serving");
    `;
    const socket = engineSocketPath(dataDir);
    const node = ["--disable-warning=ExperimentalWarning", "--input-type=module"];
    child = spawn(process.execPath, [...node, "-e", program, socket], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    await once(lines, "line");
    return { client: connectEngine(socket, clock), process: child };
  }
  const map: ConfigMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };

  test("because none was ever there", async () => {
    const { store, engine } = connectEngine(engineSocketPath(dataDir), clock);
    await expect(engine.info(call())).rejects.toThrow(
      `No engine listens at ${engineSocketPath(dataDir)}; start one with "nigari up"`,
    );
    await expect(store.create(map, call())).rejects.toMatchObject({ code: "Unavailable" });
  });

  test("because it was killed: known at once, by who asks and by who listens", async () => {
    const { client, process } = await start();
    await client.store.create(map, call());
    const watching = (async () => {
      for await (const _ of client.store.watch("ConfigMap", { resourceVersion: "1" }, call()))
        break;
    })();
    const failure = expect(watching).rejects.toMatchObject({ code: "Unavailable" });
    await clock.sleep(300, call().signal);
    const start_ = clock.monotonic();
    process.kill("SIGKILL");
    await failure;
    await once(process, "exit");
    await expect(client.engine.info(call())).rejects.toThrow("No engine listens at");
    expect(clock.monotonic() - start_).toBeLessThan(2_000);
  });

  test("because it is frozen: a question ends in its time, a stream by its silence", async () => {
    const { client, process } = await start();
    const events = client.store.watch("ConfigMap", { resourceVersion: "0" }, call(60_000));
    const watching = events[Symbol.asyncIterator]().next();
    const failure = expect(watching).rejects.toThrow("It said nothing for 15 seconds");
    await clock.sleep(300, call().signal);
    process.kill("SIGSTOP");
    await expect(client.engine.info(call(1_000))).rejects.toThrow("gives no answer");
    await failure;
  }, 40_000);

  test("because something else took its socket", async () => {
    const sockets: Socket[] = [];
    const other = createServer((socket) => {
      sockets.push(socket);
      socket.end("SSH-2.0-OpenSSH\r\n");
    });
    const socket = join(dataDir, "s");
    other.listen(socket);
    await once(other, "listening");
    const { engine } = connectEngine(socket, clock);
    await expect(engine.info(call())).rejects.toThrow("went away in the middle");
    for (const each of sockets) each.destroy();
    other.close();
  });
});
