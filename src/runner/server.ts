import { createReadStream } from "node:fs";
import { chmod, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  Server,
  ServerCredentials,
  type ServerInterceptor,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { refusingOlder } from "../protocol/epoch.ts";
import type {
  CancelRequest,
  HelloResponse,
  PutFileRequest,
  ReadFileRequest,
  ReadFileResponse,
  StartRequest,
  WatchRequest,
  WatchResponse,
} from "../protocol/generated/runner_pb.ts";
import { runnerService, socketAddress } from "../protocol/grpc.ts";
import { MessageError, orderFromMessage, runFiles } from "../protocol/messages.ts";
import { PROTOCOL_VERSION } from "../protocol/run-folder.ts";
import { NotWhole, receiveFile } from "./receive-file.ts";
import { digestOf } from "./results.ts";
import { Refusal, type Run } from "./run.ts";
import { sender } from "./sender.ts";
import { watchRun } from "./watch.ts";

/** What a server says of itself, besides the run. */
export interface ServerFacts {
  readonly version: string;
  readonly bootId: string;
  readonly pid: number;
  /** The version of the protocol; another than the real one in tests only. */
  readonly protocolVersion?: number;
}

export interface RunnerServer {
  /** Resolves when the run has been released and the answer is out. */
  readonly released: Promise<void>;
  /** Lets what is under way be sent, for a moment, and closes. */
  close(): Promise<void>;
}

const CLOSE_MS = 2_000;
const CHUNK_BYTES = 256 << 10;

/** Where and to whom a runner listens. */
export interface Listening {
  /** As grpc-js takes it: `unix:/path` or `host:port`. */
  readonly address: string;
  readonly credentials: ServerCredentials;
  /** Who is let in. */
  readonly admission: readonly ServerInterceptor[];
}

/** Serves the run on its socket, which nobody but our own user can reach, or as told. */
export async function serveRun(
  run: Run,
  facts: ServerFacts,
  listening?: Listening,
): Promise<RunnerServer> {
  const interceptors = [...(listening?.admission ?? []), refusingOlder(run.identity.epoch)];
  const server = new Server({ "grpc.max_receive_message_length": 32 << 20, interceptors });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const version = facts.protocolVersion ?? PROTOCOL_VERSION;
  server.addService(runnerService, {
    hello: unary(async () => helloOf(run, facts, version)),
    putFile: (call: ServerReadableStream<PutFileRequest, object>, done: sendUnaryData<object>) => {
      answer(done, async () => {
        await receiveFile(call, run);
        return {};
      });
    },
    start: unary(async (request: StartRequest) => {
      if (request.protocolVersion !== version) {
        const theirs = `version ${request.protocolVersion} of the protocol`;
        throw new Refusal(`Nothing is started by ${theirs}; this is version ${version}`);
      }
      await run.start(orderFromMessage(request));
      return {};
    }),
    watch: (call: ServerWritableStream<WatchRequest, WatchResponse>) => {
      watchRun(run, call).catch((error: unknown) => call.emit("error", statusOf(error)));
    },
    cancel: unary(async ({ graceMs }: CancelRequest) => {
      run.cancel(Number(graceMs));
      return {};
    }),
    readFile: (call: ServerWritableStream<ReadFileRequest, ReadFileResponse>) => {
      sendFile(run, call).catch((error: unknown) => call.emit("error", statusOf(error)));
    },
    release: (_call: ServerUnaryCall<object, object>, done: sendUnaryData<object>) => {
      answer(done, async () => {
        await run.release();
        setImmediate(release);
        return {};
      });
    },
  });
  if (listening === undefined) await bindSocket(server, run.identity.socket);
  else await bind(server, listening.address, listening.credentials);
  return { released, close: () => closed(server) };
}

async function closed(server: Server): Promise<void> {
  const late = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_MS));
  await Promise.race([new Promise<void>((resolve) => server.tryShutdown(() => resolve())), late]);
  server.forceShutdown();
}

function helloOf(run: Run, facts: ServerFacts, protocolVersion: number): Partial<HelloResponse> {
  const { started, finished } = run;
  const { version: runnerVersion, bootId, pid } = facts;
  const { runId } = run.identity;
  return { protocolVersion, runnerVersion, runId, bootId, pid, started, finished };
}

async function bindSocket(server: Server, socket: string): Promise<void> {
  // Left by a runner that was killed; a living one would have kept its run.
  await rm(socket, { force: true });
  await bind(server, socketAddress(socket), ServerCredentials.createInsecure());
  await chmod(socket, 0o600);
}

async function bind(
  server: Server,
  address: string,
  credentials: ServerCredentials,
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(address, credentials, (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}

function unary<Request, Response>(work: (request: Request) => Promise<Response>) {
  return (call: ServerUnaryCall<Request, Response>, done: sendUnaryData<Response>) => {
    answer(done, () => work(call.request));
  };
}

function answer<Response>(done: sendUnaryData<Response>, work: () => Promise<Response>): void {
  work().then(
    (response) => done(null, response),
    (error: unknown) => done(statusOf(error)),
  );
}

function statusOf(error: unknown): Error & { code: status; details: string } {
  const details = error instanceof Error ? error.message : String(error);
  return Object.assign(new Error(details), { code: codeOf(error), details });
}

function codeOf(error: unknown): status {
  if (error instanceof Refusal) return status.FAILED_PRECONDITION;
  if (error instanceof NotWhole) return status.DATA_LOSS;
  if (error instanceof NoSuchFile) return status.NOT_FOUND;
  if (error instanceof MessageError) return status.INVALID_ARGUMENT;
  return status.INTERNAL;
}

class NoSuchFile extends Error {
  override readonly name = "NoSuchFile";
}

async function sendFile(
  run: Run,
  call: ServerWritableStream<ReadFileRequest, ReadFileResponse>,
): Promise<void> {
  const { name } = call.request;
  const path = join(run.folder.files, name);
  const known = runFiles.some((each) => each === name);
  const found = known ? await stat(path).catch(() => undefined) : undefined;
  if (found === undefined) throw new NoSuchFile(`This run has made no file ${name}`);
  const header = { name, digest: await digestOf(path), sizeBytes: BigInt(found.size) };
  const send = sender(call);
  await send({ part: { case: "header", value: header } });
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
    if (call.cancelled) return;
    await send({ part: { case: "chunk", value: chunk } });
  }
  call.end();
}
