import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { credentials } from "@grpc/grpc-js";
import fc from "fast-check";
import { RunnerError } from "../../ports/runner.ts";
import { RunnerClient } from "../../protocol/client.ts";
import { runnerMethods, socketAddress } from "../../protocol/grpc.ts";
import { runFolder } from "../../protocol/run-folder.ts";
import { Run } from "../../runner/run.ts";
import { serveRun } from "../../runner/server.ts";
import { areaOf, wrong } from "./area.ts";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const SETTINGS = frame(4, 0, Buffer.alloc(0));
const CALL_MS = 5_000;

/** One frame of HTTP/2. */
function frame(type: number, flags: number, payload: Buffer, stream = 0): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const bytes = fc.uint8Array({ maxLength: 300 }).map((each) => Buffer.from(each));
const frames = fc.array(
  fc
    .tuple(fc.nat({ max: 12 }), fc.nat({ max: 255 }), bytes, fc.constantFrom(0, 1, 2, 3, 7))
    .map(([type, flags, payload, stream]) => frame(type, flags, payload, stream)),
  { maxLength: 8 },
);

const methods = fc.constantFrom(
  ...(["hello", "putFile", "start", "watch", "cancel", "readFile", "release"] as const),
);
const text = fc.oneof(fc.string({ maxLength: 30 }), fc.constantFrom("", "../x", "x".repeat(5_000)));
const order = fc.record(
  {
    protocolVersion: fc.oneof(fc.constantFrom(0, 1, 2, 999), fc.nat()),
    runId: fc.oneof(fc.constant("run-1"), text),
    epoch: fc.bigInt({ min: 0n, max: 9n }),
    artifactDigest: text,
    path: text,
    workspace: text,
    backend: text,
  },
  { requiredKeys: [] },
);

type Attack =
  | { readonly is: "bytes"; readonly parts: readonly Buffer[] }
  | { readonly is: "call"; readonly method: keyof typeof runnerMethods; readonly body: Buffer }
  | { readonly is: "order"; readonly fields: object };

const attack: fc.Arbitrary<Attack> = fc.oneof(
  bytes.map((each): Attack => ({ is: "bytes", parts: [each] })),
  frames.map((parts): Attack => ({ is: "bytes", parts: [PREFACE, SETTINGS, ...parts] })),
  fc
    .tuple(methods, fc.oneof(bytes, fc.constant(Buffer.alloc(40 << 20))))
    .map(([method, body]): Attack => ({ is: "call", method, body })),
  order.map((fields): Attack => ({ is: "order", fields })),
);

/**
 * Whatever is said to a runner, in frames, calls or orders: it refuses or hangs up, begins nothing,
 * and answers the next greeting as ever.
 */
export const runnerArea = areaOf("runner", 60, async () => {
  const scratch = mkdtempSync(join(tmpdir(), "nfr-"));
  const folder = runFolder(join(scratch, "run"));
  mkdirSync(folder.root, { mode: 0o700 });
  const socket = join(scratch, "s");
  const identity = {
    runId: "run-1",
    namespace: "team",
    name: "demo",
    epoch: 5,
    token: "token",
    socket,
    createdAt: "2026-01-01T00:00:00Z",
  };
  const run = new Run(identity, folder, { PATH: "/nowhere" });
  let server = await serveRun(run, { version: "1.2.3", bootId: "boot", pid: 42 });
  const clientOf = () =>
    new RunnerClient({
      runId: "run-1",
      address: socketAddress(socket),
      credentials: credentials.createInsecure(),
    });

  async function greet(): Promise<void> {
    const client = clientOf();
    try {
      const hello = await client.hello({ signal: AbortSignal.timeout(CALL_MS) });
      if (hello.runId !== "run-1") wrong("It serves another run");
      if (hello.started) wrong("Something was begun");
    } finally {
      client.close();
    }
  }

  return {
    input: attack,
    async check(made) {
      if (made.is === "bytes") await sendRaw(socket, Buffer.concat(made.parts));
      else {
        const method = made.is === "order" ? "start" : made.method;
        const body =
          made.is === "order"
            ? runnerMethods.start.requestSerialize(made.fields as never)
            : made.body;
        await rawCall(socket, runnerMethods[method].path, body);
        // A release that is obeyed is the end of a runner: the next one takes its place.
        if (method === "release") {
          await server.close();
          server = await serveRun(run, { version: "1.2.3", bootId: "boot", pid: 42 });
        }
      }
      await greet();
    },
    async close() {
      await server.close();
      rmSync(scratch, { recursive: true, force: true });
    },
  };
});

/** Sends bytes and waits for a moment: an answer, the end, or nothing. */
function sendRaw(path: string, content: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = () => {
      socket.destroy();
      resolve();
    };
    socket.setTimeout(30, end);
    socket.on("error", end).on("close", end).on("data", end);
    socket.end(content);
  });
}

/** A call whose body is not what the method takes. */
async function rawCall(path: string, method: string, body: Buffer): Promise<void> {
  const { Client } = await import("@grpc/grpc-js");
  const client = new Client(socketAddress(path), credentials.createInsecure());
  const deadline = Date.now() + CALL_MS;
  const same = (content: Buffer) => content;
  await new Promise<void>((resolve) => {
    const call = client.makeServerStreamRequest(method, same, same, body, { deadline });
    call.on("data", () => {});
    call.on("error", () => resolve());
    call.on("end", () => resolve());
    // A watch of a run that was never begun goes on: it is left.
    setTimeout(() => call.cancel(), 100).unref();
  });
  client.close();
}

/** Engine side: bytes in place of a runner's answers are an error of ours, or a message. */
export const answerArea = areaOf("answers", 300, async () => ({
  input: fc.tuple(methods, bytes),
  check([method, content]) {
    try {
      runnerMethods[method].responseDeserialize(content);
    } catch (error) {
      if (!(error instanceof Error) || error instanceof RunnerError) wrong(String(error));
      if (error instanceof TypeError) throw error;
    }
  },
}));
