import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import type { Call } from "../../ports/call.ts";
import { ApiError } from "./api-error.ts";
import type { Connection } from "./connection.ts";

export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

const LIMIT_MS = 15_000;
const ANSWER_MAX_BYTES = 64 * 1024 * 1024;

/**
 * Reads a path of a program in a pod through a port-forward, for those who may not use the API
 * server's proxy. Answers with the body of the program's own answer.
 */
export async function getThroughPortForward(
  connection: Connection,
  { namespace, pod, port }: PodPort,
  path: string,
  call: Call,
): Promise<Buffer> {
  const forward = `/api/v1/namespaces/${namespace}/pods/${pod}/portforward?ports=${port}`;
  // The protocol of one frame per piece, its first byte the channel: 0 data, 1 errors.
  const request = { path: forward, limitMs: LIMIT_MS, protocol: "v4.channel.k8s.io" };
  return connection.upgrade(
    request,
    async (socket, head) => {
      socket.write(frame(Buffer.from(`\0GET ${path} HTTP/1.0\r\nHost: localhost\r\n\r\n`)));
      return bodyOf(await answerOf(socket, head));
    },
    call,
  );
}

/** All that comes on the data channel until the program closes or has said all it announced. */
async function answerOf(socket: Duplex, head: Buffer): Promise<Buffer> {
  const frames = new Frames(head);
  const answer = new ProgramAnswer();
  const drain = () => {
    for (let next = frames.next(); next !== undefined; next = frames.next()) {
      if (next.close) return true;
      if (next.payload.length > 0 && answer.take(next.payload)) return true;
    }
    return false;
  };
  if (!drain()) {
    for await (const chunk of socket) {
      frames.add(chunk as Buffer);
      if (drain()) break;
    }
  }
  return answer.bytes();
}

/** What came on the channels: 0 holds the program's answer, 1 why there is none. */
class ProgramAnswer {
  readonly #pieces: Buffer[] = [];
  readonly #begun = new Set<number>();
  #size = 0;
  #wanted = Number.POSITIVE_INFINITY;
  #failure = "";

  /** Takes a frame's payload; true if nothing more is to come. */
  take(payload: Buffer): boolean {
    const channel = payload.readUInt8(0);
    // The first frame of each channel says only which port it belongs to.
    if (!this.#begun.has(channel)) this.#begun.add(channel);
    else if (channel === 1) this.#failure += payload.subarray(1, 300).toString("utf8");
    else this.#add(payload.subarray(1));
    return this.#failure !== "" || this.#size >= this.#wanted || this.#size > ANSWER_MAX_BYTES;
  }

  bytes(): Buffer {
    if (this.#failure !== "" && this.#size === 0) throw new ApiError("absent", this.#failure);
    return Buffer.concat(this.#pieces);
  }

  #add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#size += piece.length;
    // The headers come in the first pieces; they may announce a length.
    if (this.#pieces.length > 4) return;
    const head = Buffer.concat(this.#pieces);
    const end = head.indexOf("\r\n\r\n");
    const text = head.subarray(0, Math.max(0, end)).toString("latin1");
    const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
    if (length !== undefined) this.#wanted = end + 4 + Number(length);
  }
}

function bodyOf(answer: Buffer): Buffer {
  const end = answer.indexOf("\r\n\r\n");
  const status = /^HTTP\/1\.\d (\d+)/.exec(answer.subarray(0, 64).toString("latin1"))?.[1];
  if (end < 0 || status === undefined) throw new ApiError("damaged", "The pod gave no HTTP answer");
  if (status !== "200") throw new ApiError("absent", `The pod answered ${status}`);
  return answer.subarray(end + 4);
}

/** A binary WebSocket frame; a client's are masked. */
function frame(payload: Buffer): Buffer {
  const mask = randomBytes(4);
  const masked = Buffer.from(payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0)));
  const length =
    payload.length < 126
      ? Buffer.from([0x80 | payload.length])
      : Buffer.from([0x80 | 126, payload.length >> 8, payload.length & 0xff]);
  return Buffer.concat([Buffer.from([0x82]), length, mask, masked]);
}

/** Takes a WebSocket's bytes apart into frames. */
class Frames {
  #bytes: Buffer;

  constructor(head: Buffer) {
    this.#bytes = head;
  }

  add(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
  }

  /** The next whole frame; undefined until more bytes have come. Pings give an empty payload. */
  next(): { readonly close: boolean; readonly payload: Buffer } | undefined {
    const bytes = this.#bytes;
    if (bytes.length < 2) return undefined;
    const opcode = bytes.readUInt8(0) & 0x0f;
    const short = bytes.readUInt8(1) & 0x7f;
    const headed = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (bytes.length < headed) return undefined;
    const length =
      short === 126
        ? bytes.readUInt16BE(2)
        : short === 127
          ? Number(bytes.readBigUInt64BE(2))
          : short;
    if (bytes.length < headed + length) return undefined;
    this.#bytes = bytes.subarray(headed + length);
    const isData = opcode <= 2;
    const payload = isData ? bytes.subarray(headed, headed + length) : Buffer.alloc(0);
    return { close: opcode === 8, payload };
  }
}
