import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server as NetServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  credentials,
  Server,
  ServerCredentials,
  type ServerWritableStream,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import type { InputFile, RunEvent } from "../ports/runner.ts";
import { RunnerClient, type RunnerClientLimits } from "./client.ts";
import type { PutFileRequest, WatchRequest, WatchResponse } from "./generated/runner_pb.ts";
import { runnerService, socketAddress } from "./grpc.ts";
import { PROTOCOL_VERSION } from "./run-folder.ts";

const scratch = mkdtempSync(join(tmpdir(), "nrc-"));
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});
afterAll(() => rmSync(scratch, { recursive: true }));

let count = 0;
const newSocket = () => join(scratch, `${++count}.sock`);
const soon = (ms = 5_000) => ({ signal: AbortSignal.timeout(ms) });
const START = { fromSequence: 1, logOffset: 0 };

const hello = {
  protocolVersion: PROTOCOL_VERSION,
  runnerVersion: "0.0.0",
  runId: "run-1",
  bootId: "boot",
  pid: 42,
  started: true,
  finished: false,
};

/** Answers every unary method with {}, unless told otherwise. */
function unary(answer: object | { code: status; details: string } = {}) {
  return (_: unknown, done: sendUnaryData<object>) => {
    if ("code" in answer) done({ ...answer, name: "x", message: "" } as never);
    else done(null, answer);
  };
}

async function serve(
  handlers: UntypedServiceImplementation,
  socket = newSocket(),
): Promise<{ socket: string; stop: () => void }> {
  const server = new Server();
  const answers = { hello: unary(hello), start: unary(), cancel: unary(), release: unary() };
  const put = (call: NodeJS.ReadableStream, done: sendUnaryData<object>) => {
    call.resume();
    call.on("end", () => done(null, {}));
  };
  const ended = (call: ServerWritableStream<unknown, unknown>) => call.end();
  const streams = { putFile: put, watch: ended, readFile: ended };
  server.addService(runnerService, { ...answers, ...streams, ...handlers } as never);
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(socketAddress(socket), ServerCredentials.createInsecure(), (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
  const stop = () => server.forceShutdown();
  closers.push(stop);
  return { socket, stop };
}

function clientOf(socket: string, limits: Partial<RunnerClientLimits> = {}): RunnerClient {
  const target = {
    runId: "run-1",
    address: socketAddress(socket),
    credentials: credentials.createInsecure(),
  };
  const client = new RunnerClient(target, limits);
  closers.push(() => client.close());
  return client;
}

/** Accepts connections and says nothing: a frozen process, whose kernel still answers. */
async function serveSilence(): Promise<{ socket: string; connections: () => number }> {
  const socket = newSocket();
  let connections = 0;
  const sockets: import("node:net").Socket[] = [];
  const server: NetServer = createServer((connection) => {
    connections += 1;
    sockets.push(connection);
    connection.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  closers.push(() => {
    for (const each of sockets) each.destroy();
    server.close();
  });
  return { socket, connections: () => connections };
}

async function failure(promise: Promise<unknown>) {
  return await promise.then(
    (value) => ({ value }),
    (error: unknown) => error,
  );
}

async function all(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const found: RunEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

function fileOf(content: Buffer, more: Partial<InputFile> = {}): InputFile {
  async function* chunks() {
    for (let at = 0; at < content.length; at += 1 << 20) yield content.subarray(at, at + (1 << 20));
  }
  const digest = createHash("sha256").update(content).digest("hex");
  const sizeBytes = content.length;
  return { name: "artifact.tar.gz", digest, sizeBytes, chunks: chunks(), ...more };
}

describe("nobody there", () => {
  test("is known at once, and the way is tried anew at the next call", async () => {
    const socket = newSocket();
    const client = clientOf(socket);
    const begun = performance.now();
    for (let time = 0; time < 5; time += 1) {
      expect(await failure(client.hello(soon()))).toMatchObject({ code: "Unavailable" });
    }
    // Waiting out a back-off would take a second or more.
    expect(performance.now() - begun).toBeLessThan(800);
    await serve({}, socket);
    expect(await client.hello(soon())).toEqual(hello);
  });
});

describe("silence", () => {
  test("each call ends at the limit, on its own connection, and no error escapes", async () => {
    const escaped = vi.fn();
    process.on("uncaughtException", escaped);
    process.on("unhandledRejection", escaped);
    const { socket, connections } = await serveSilence();
    const client = clientOf(socket, { callLimitMs: 150 });
    const from = { fromSequence: 1, logOffset: 0 };
    const calls = [
      () => client.hello(soon()),
      () => client.start({} as never, soon()),
      () => all(client.watch(from, soon())),
      () => client.release(soon()),
      () => client.readFile("plan.bin", soon()),
      () => client.putFile(fileOf(Buffer.alloc(3 << 20)), soon()),
    ];
    for (const each of calls) {
      const begun = performance.now();
      expect(await failure(each())).toMatchObject({
        name: "RunnerError",
        code: "DeadlineExceeded",
        message: expect.stringContaining("within 0.15 s"),
      });
      expect(performance.now() - begun).toBeLessThan(1_000);
    }
    await sleep(300);
    process.off("uncaughtException", escaped);
    process.off("unhandledRejection", escaped);
    expect(escaped).not.toHaveBeenCalled();
    expect(connections()).toBe(calls.length);
  });

  test("a server that greets and then falls silent is left in the same way", async () => {
    const { socket } = await serve({ cancel: () => undefined, watch: () => undefined });
    const client = clientOf(socket, { callLimitMs: 150 });
    for (let time = 0; time < 3; time += 1) {
      expect(await failure(client.cancel(1, soon()))).toMatchObject({ code: "DeadlineExceeded" });
      expect(await failure(all(client.watch(START, soon())))).toMatchObject({
        code: "DeadlineExceeded",
      });
    }
  });

  test("in a stream that has begun is not ours to judge", async () => {
    const { socket } = await serve({
      watch: (call: ServerWritableStream<WatchRequest, object>) => {
        call.write({ event: { case: "heartbeat", value: {} } });
        setTimeout(() => call.end(), 1_500);
      },
    });
    const client = clientOf(socket, { callLimitMs: 700 });
    expect(await all(client.watch(START, soon()))).toEqual([{ type: "heartbeat" }]);
  });
});

describe("the caller's signal", () => {
  test("ends a call, with its reason as the cause", async () => {
    const { socket } = await serve({ cancel: () => undefined });
    const client = clientOf(socket);
    await client.hello(soon());
    const stop = new AbortController();
    const reason = new Error("Enough");
    const cancelling = failure(client.cancel(1, stop));
    stop.abort(reason);
    expect(await cancelling).toMatchObject({ code: "DeadlineExceeded", cause: reason });
  });

  test("that has fired already lets nothing be sent", async () => {
    const heard = vi.fn(unary(hello));
    const { socket } = await serve({ hello: heard });
    const late = { signal: AbortSignal.abort(new Error("Late")) };
    expect(await failure(clientOf(socket).hello(late))).toMatchObject({
      code: "DeadlineExceeded",
    });
    await sleep(50);
    expect(heard).not.toHaveBeenCalled();
  });

  test("ends a watch", async () => {
    const { socket } = await serve({
      watch: (call: ServerWritableStream<WatchRequest, object>) => {
        call.write({ event: { case: "heartbeat", value: {} } });
      },
    });
    const watching = all(clientOf(socket).watch(START, soon(200)));
    expect(await failure(watching)).toMatchObject({ code: "DeadlineExceeded" });
  });
});

describe("what the server says", () => {
  test.each([
    [status.FAILED_PRECONDITION, "Refused"],
    [status.INVALID_ARGUMENT, "Refused"],
    [status.DATA_LOSS, "DataLoss"],
    [status.UNIMPLEMENTED, "Incompatible"],
    [status.UNAVAILABLE, "Unavailable"],
    [status.INTERNAL, "Internal"],
    [status.RESOURCE_EXHAUSTED, "Internal"],
  ])("status %s is %s", async (code, expected) => {
    const { socket } = await serve({ cancel: unary({ code, details: "Because" }) });
    expect(await failure(clientOf(socket).cancel(1, soon()))).toMatchObject({
      code: expected,
      message: "Cancel failed at the runner of run run-1: Because",
    });
  });

  test("that a newer epoch has the run is told from every other refusal", async () => {
    const answer = { code: status.FAILED_PRECONDITION, details: "Epoch 3 is over: epoch 4 has it" };
    const { socket } = await serve({ cancel: unary(answer) });
    expect(await failure(clientOf(socket).cancel(1, soon()))).toMatchObject({ code: "Superseded" });
  });

  test("another run than expected is refused", async () => {
    const { socket } = await serve({ hello: unary({ ...hello, runId: "run-2" }) });
    const client = clientOf(socket);
    expect(await failure(client.hello(soon()))).toMatchObject({ code: "Refused" });
    expect(await failure(client.release(soon()))).toMatchObject({ code: "Refused" });
  });

  test("a connection that goes away in a stream is told as such", async () => {
    const { socket, stop } = await serve({
      watch: (call: ServerWritableStream<WatchRequest, object>) => {
        call.write({ event: { case: "heartbeat", value: {} } });
      },
    });
    const client = clientOf(socket);
    const watching = failure(all(client.watch(START, soon())));
    await sleep(100);
    stop();
    expect(await watching).toMatchObject({ code: "Unavailable" });
  });

  test("who stops listening ends the stream at its source", async () => {
    let cancelled = false;
    const { socket } = await serve({
      watch: (call: ServerWritableStream<WatchRequest, object>) => {
        call.on("cancelled", () => {
          cancelled = true;
        });
        call.write({ event: { case: "heartbeat", value: {} } });
      },
    });
    const client = clientOf(socket);
    for await (const _ of client.watch(START, soon())) break;
    await vi.waitFor(() => expect(cancelled).toBe(true));
    expect(await client.hello(soon())).toEqual(hello);
  });

  test("an event that this version has no word for is passed over", async () => {
    const { socket } = await serve({
      watch: (call: ServerWritableStream<WatchRequest, WatchResponse>) => {
        call.write({ event: { case: undefined } } as WatchResponse);
        call.end();
      },
    });
    expect(await all(clientOf(socket).watch(START, soon()))).toEqual([]);
  });
});

describe("versions", () => {
  const ours = 5;
  const verdicts: Record<string, { theirs: number; start: boolean; collect: boolean }> = {
    "the same does everything": { theirs: 5, start: true, collect: true },
    "the one before is only collected": { theirs: 4, start: false, collect: true },
    "an older one is not understood": { theirs: 3, start: false, collect: false },
    "a newer one is not understood": { theirs: 6, start: false, collect: false },
  };
  test.each(Object.entries(verdicts))("%s", async (_, { theirs, start, collect }) => {
    const answer = unary({ ...hello, protocolVersion: theirs });
    const { socket } = await serve({ hello: answer });
    const client = clientOf(socket, { protocolVersion: ours });
    expect(await client.hello(soon())).toMatchObject({ protocolVersion: theirs });
    const tried = async (call: () => Promise<unknown>) => {
      const error = await failure(call());
      return error instanceof Error ? (error as Error & { code?: string }).code : "done";
    };
    const starts = [() => client.putFile(fileOf(Buffer.from("x")), soon())];
    for (const each of starts) expect(await tried(each)).toBe(start ? "done" : "Incompatible");
    const collects = [
      () => all(client.watch(START, soon())),
      () => client.cancel(1, soon()),
      () => client.release(soon()),
    ];
    for (const each of collects) expect(await tried(each)).toBe(collect ? "done" : "Incompatible");
  });
});

describe("files", () => {
  test("go in chunks and arrive as they are", async () => {
    const parts: Buffer[] = [];
    const { socket } = await serve({
      putFile: (call: AsyncIterable<PutFileRequest>, done: sendUnaryData<object>) => {
        void (async () => {
          for await (const { part } of call) {
            if (part.case === "chunk") parts.push(Buffer.from(part.value));
          }
          done(null, {});
        })();
      },
    });
    const content = Buffer.alloc(5 << 20, "nigari");
    await clientOf(socket).putFile(fileOf(content), soon());
    expect(parts.length).toBe(5);
    expect(Buffer.concat(parts).equals(content)).toBe(true);
  });

  test("a refusal in the middle ends the sending", async () => {
    let sent = 0;
    async function* endless() {
      for (;;) {
        sent += 1;
        yield Buffer.alloc(1 << 20);
        await sleep(1);
      }
    }
    const { socket } = await serve({
      putFile: (_: unknown, done: sendUnaryData<object>) => {
        done({ code: status.FAILED_PRECONDITION, details: "Too large" } as never);
      },
    });
    const file = fileOf(Buffer.alloc(1), { chunks: endless() });
    expect(await failure(clientOf(socket).putFile(file, soon()))).toMatchObject({
      code: "Refused",
    });
    const before = sent;
    await sleep(100);
    expect(sent - before).toBeLessThan(3);
  });

  test("that cannot be read here fail the call, and the connection is good again", async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.alloc(10);
      throw new Error("The disk is gone");
    }
    const { socket } = await serve({});
    const client = clientOf(socket);
    const file = fileOf(Buffer.alloc(1), { chunks: broken() });
    expect(await failure(client.putFile(file, soon()))).toMatchObject({
      code: "Internal",
      message: expect.stringContaining("The disk is gone"),
    });
    expect(await client.hello(soon())).toEqual(hello);
  });

  function sending(content: string, digest: string) {
    return (call: ServerWritableStream<unknown, object>) => {
      const header = { name: "plan.bin", digest, sizeBytes: BigInt(content.length) };
      call.write({ part: { case: "header", value: header } });
      call.write({ part: { case: "chunk", value: Buffer.from(content) } });
      call.end();
    };
  }

  test("come back checked", async () => {
    const digest = createHash("sha256").update("abc").digest("hex");
    const { socket } = await serve({ readFile: sending("abc", digest) });
    const read = await clientOf(socket).readFile("plan.bin", soon());
    expect(String(read)).toBe("abc");
  });

  test("that stop coming in the middle are not waited for", async () => {
    const { socket } = await serve({
      readFile: (call: ServerWritableStream<unknown, object>) => {
        const header = { name: "plan.bin", digest: "", sizeBytes: 10n };
        call.write({ part: { case: "header", value: header } });
      },
    });
    const client = clientOf(socket, { callLimitMs: 200 });
    expect(await failure(client.readFile("plan.bin", soon()))).toMatchObject({
      code: "DeadlineExceeded",
    });
  });

  test("that were damaged on the way are not taken", async () => {
    const { socket } = await serve({ readFile: sending("abc", "0".repeat(64)) });
    expect(await failure(clientOf(socket).readFile("plan.bin", soon()))).toMatchObject({
      code: "DataLoss",
    });
  });

  test("that the run has not made are undefined", async () => {
    const { socket } = await serve({
      readFile: (call: ServerWritableStream<unknown, object>) => {
        call.emit("error", { code: status.NOT_FOUND, details: "None" });
      },
    });
    expect(await clientOf(socket).readFile("plan.bin", soon())).toBeUndefined();
  });
});
