import { type FileHandle, open, truncate } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 100;
const CHUNK_BYTES = 256 << 10;
/** A longer line is handed on in pieces. */
const LINE_BYTES = 1 << 20;

export interface TailedFile {
  readonly path: string;
  /** Size at which what has been read is cut off, so that a flood cannot fill the disk. */
  readonly limitBytes: number;
  /** Characters by which the pieces of a split line overlap, for a mask to see what was split. */
  readonly overlap?: number;
  onLine(line: string): void;
  /** After each look that brought something; what it does is awaited. */
  onLook(): Promise<void>;
}

export interface Tail {
  /** Reads what is left and stops; the writer has ended. */
  finish(): Promise<void>;
  /** Bytes that were cut off. */
  readonly cutBytes: number;
}

/**
 * Follows a file that a child appends to. The file stays a file, so the child survives us: instead
 * of a pipe's back pressure, what was read is cut off when the file has grown to its limit. The
 * child writes with O_APPEND and so goes on at the new end. Lines written between the last read and
 * the cut, some microseconds apart, are lost; that happens in a flood only. On the disk are at most
 * the limit and what the child writes in a tenth of a second or while that is read.
 */
export function followFile(options: TailedFile): Tail {
  const follower = new Follower(options);
  const stop = new AbortController();
  const running = follower.run(stop.signal);
  running.catch(() => undefined);
  return {
    async finish() {
      stop.abort();
      await running;
    },
    get cutBytes() {
      return follower.cutBytes;
    },
  };
}

class Follower {
  cutBytes = 0;
  readonly #options: TailedFile;
  readonly #chunk = Buffer.alloc(CHUNK_BYTES);
  #offset = 0;
  #rest: Buffer = Buffer.alloc(0);

  constructor(options: TailedFile) {
    this.#options = options;
  }

  async run(stopped: AbortSignal): Promise<void> {
    const file = await open(this.#options.path, "a+", 0o600);
    try {
      while (!stopped.aborted) {
        await this.#look(file, 4 * this.#options.limitBytes);
        await sleep(POLL_MS, undefined, { signal: stopped }).catch(() => undefined);
      }
      await this.#look(file, Number.POSITIVE_INFINITY);
      if (this.#rest.length > 0) this.#emit(this.#rest);
      await this.#options.onLook();
    } finally {
      await file.close();
    }
  }

  /** Who writes faster than we read loses what lies behind `untilBytes`; at the end nobody does. */
  async #look(file: FileHandle, untilBytes: number): Promise<void> {
    const before = this.#offset;
    await this.#readOn(file, untilBytes);
    if (this.#offset === before) return;
    await this.#options.onLook();
    if (this.#offset < this.#options.limitBytes) return;
    // Once more, so that the least possible lies between the last read and the cut.
    await this.#readOn(file, untilBytes);
    await truncate(this.#options.path, 0);
    this.cutBytes += this.#offset;
    this.#offset = 0;
    await this.#options.onLook();
  }

  async #readOn(file: FileHandle, untilBytes: number): Promise<void> {
    while (this.#offset < untilBytes) {
      const { bytesRead } = await file.read(this.#chunk, 0, CHUNK_BYTES, this.#offset);
      if (bytesRead === 0) return;
      this.#offset += bytesRead;
      this.#take(this.#chunk.subarray(0, bytesRead));
    }
  }

  #take(bytes: Buffer): void {
    let start = 0;
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, start)) {
      const line = bytes.subarray(start, at);
      this.#emit(this.#rest.length === 0 ? line : Buffer.concat([this.#rest, line]));
      this.#rest = Buffer.alloc(0);
      start = at + 1;
    }
    // A copy: the chunk is written over by the next read.
    this.#rest = Buffer.concat([this.#rest, bytes.subarray(start)]);
    if (this.#rest.length < LINE_BYTES) return;
    this.#emit(this.#rest);
    this.#rest = this.#rest.subarray(this.#rest.length - (this.#options.overlap ?? 0));
  }

  #emit(line: Buffer): void {
    this.#options.onLine(line.toString("utf8"));
  }
}
