import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ArtifactFact } from "../../domain/facts.ts";
import { ArtifactError, type ArtifactStore } from "../../ports/artifacts.ts";
import { createClock } from "../system/clock.ts";
import { systemRandom } from "../system/random.ts";
import { createHttpArtifacts, type FetchLimits } from "./http.ts";
import { createFolderStore } from "./store.ts";

const clock = createClock();
const call = (ms = 20_000) => ({ signal: AbortSignal.timeout(ms) });
const content = Buffer.from("an archive".repeat(1_000));
const digest = `sha256:${createHash("sha256").update(content).digest("hex")}`;
const close: (() => void)[] = [];
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nigari-http-"));
});
afterEach(() => {
  for (const each of close.splice(0)) each();
  rmSync(folder, { recursive: true });
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Subject {
  readonly artifacts: ArtifactStore;
  readonly fact: ArtifactFact;
  readonly requests: string[];
}

async function serve(handler: Handler, limits: Partial<FetchLimits> = {}): Promise<Subject> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? "");
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  close.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const kept = createFolderStore({ folder, clock, random: systemRandom, limitBytes: 100_000 });
  const url = `http://127.0.0.1:${port}/gitrepository/apps/code/abc.tar.gz`;
  return {
    artifacts: createHttpArtifacts({ kept, clock, userAgent: "nigari/test", limits }),
    fact: { revision: "main@sha1:abc", digest, url, sizeBytes: content.length },
    requests,
  };
}

async function read({ artifacts, fact }: Subject, within = call()): Promise<Buffer> {
  const opened = await artifacts.open(fact, within);
  return await buffer(opened.chunks());
}
const troubleOf = async (promise: Promise<unknown>) => {
  const error: unknown = await promise.catch((each: unknown) => each);
  expect(error).toBeInstanceOf(ArtifactError);
  return error as ArtifactError;
};
const whole: Handler = (_, response) => void response.end(content);

test("an archive is fetched once, verified, and then read from this machine", async () => {
  const subject = await serve(whole);
  expect((await read(subject)).equals(content)).toBe(true);
  expect((await read(subject)).equals(content)).toBe(true);
  expect(subject.requests).toEqual(["/gitrepository/apps/code/abc.tar.gz"]);
});

test("an archive whose size nobody says is taken by its digest", async () => {
  const { artifacts, fact } = await serve((_, response) => {
    response.write(content.subarray(0, 100));
    response.end(content.subarray(100));
  });
  const subject = { artifacts, fact: { ...fact, sizeBytes: undefined }, requests: [] };
  expect((await read(subject)).equals(content)).toBe(true);
});

test("many who want the same archive at once share one fetch", async () => {
  const subject = await serve((_, response) => void setTimeout(() => response.end(content), 100));
  const all = await Promise.all(Array.from({ length: 20 }, () => read(subject)));
  expect(all.every((each) => each.equals(content))).toBe(true);
  expect(subject.requests).toHaveLength(1);
});

test("who leaves takes no fetch from those who stay, and the last one ends it", async () => {
  let ended = 0;
  const subject = await serve((request, response) => {
    response.on("close", () => {
      if (!response.writableFinished) ended += 1;
    });
    if (subject.requests.length > 1) response.write("half");
    else setTimeout(() => response.end(content), 300);
    request.resume();
  });
  const staying = read(subject);
  const gone = await troubleOf(read(subject, call(50)));
  expect(gone.message).toMatch(/^Fetching the artifact was stopped/);
  expect((await staying).equals(content)).toBe(true);
  rmSync(folder, { recursive: true });
  await troubleOf(read(subject, call(100)));
  await expect.poll(() => ended).toBe(1);
});

const answers: Record<string, [handler: Handler, says: RegExp]> = {
  "it is no longer served": [
    (_, response) => void response.writeHead(404).end("not found"),
    /is no longer served \(404\); its source has moved on/,
  ],
  "the server has trouble": [
    (_, response) => void response.writeHead(503).end(),
    /the server answered 503/,
  ],
  "the server redirects": [
    (_, response) => void response.writeHead(302, { location: "http://169.254.169.254/" }).end(),
    /is redirected \(302\), which is not followed/,
  ],
  "it is another archive": [
    (_, response) => void response.end("something else"),
    /has digest sha256:\w+, and its source says sha256:/,
  ],
  "it breaks off in the middle": [
    (_, response) => {
      response.writeHead(200, { "content-length": content.length });
      response.write(content.subarray(0, 100), () => response.destroy());
    },
    /cannot be reached/,
  ],
  "it never ends": [
    (_, response) => void pipeline(Readable.from(forever()), response, () => {}),
    /larger than 100000 bytes; leave files out/,
  ],
  "the server hangs up": [(request) => void request.socket.destroy(), /cannot be reached/],
  "the server accepts and never answers": [() => {}, /cannot be reached: no answer for 200 ms/],
  "the server falls silent in the middle": [
    (_, response) => void response.write(content.subarray(0, 100)),
    /cannot be reached/,
  ],
};
async function* forever(): AsyncGenerator<Buffer> {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    yield Buffer.alloc(16_000);
  }
}

test.each(Object.entries(answers))("%s: said, and nothing is kept", async (_, [handler, says]) => {
  const subject = await serve(handler, { silenceMs: 200 });
  const error = await troubleOf(read(subject));
  expect(error.message).toMatch(says);
  expect(readdirSync(folder)).toEqual([]);
});

test("a server that drips is left after the whole time", async () => {
  const subject = await serve(
    (_, response) => {
      const timer = setInterval(() => response.write("."), 20);
      response.on("close", () => clearInterval(timer));
    },
    { silenceMs: 200, wholeMs: 500 },
  );
  expect((await troubleOf(read(subject))).message).toMatch(/stopped: .* took longer than 500 ?ms/);
});

test("nobody listens there", async () => {
  const subject = await serve(whole);
  for (const each of close.splice(0)) each();
  expect((await troubleOf(read(subject))).message).toMatch(/cannot be reached: .*ECONNREFUSED/);
});

describe("an address that is none of a server", () => {
  test.each(["", "file:///etc/passwd", "ftp://x/y"])("%s", async (url) => {
    const subject = await serve(whole);
    const error = await troubleOf(read({ ...subject, fact: { ...subject.fact, url } }));
    expect(error.message).toContain("is no http or https address");
    expect(error.transient).toBe(false);
  });
});

test("after a failure the next one fetches again", async () => {
  const subject = await serve((request, response) => {
    if (subject.requests.length === 1) response.writeHead(500).end();
    else whole(request, response);
  });
  await troubleOf(read(subject));
  expect((await read(subject)).equals(content)).toBe(true);
});
