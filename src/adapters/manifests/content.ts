import { closeSync, constants, createReadStream, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable } from "node:stream";

/**
 * What a file holds, up to `limitBytes` and one byte more, so that one that is too large is known
 * to be. A pipe is read as well, for a shell's `<(…)` is one; the signal ends the wait for what is
 * never written. Fails with the file system's error, or with the signal's reason.
 */
export async function contentOf(
  path: string,
  limitBytes: number,
  signal: AbortSignal,
): Promise<Buffer> {
  signal.throwIfAborted();
  const stream = openStream(path);
  const stop = () => stream.destroy(stopped(path, stream, signal.reason));
  signal.addEventListener("abort", stop, { once: true });
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stream) {
      chunks.push(chunk as Buffer);
      length += (chunk as Buffer).length;
      if (length > limitBytes) break;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    stream.destroy();
  }
  return Buffer.concat(chunks).subarray(0, limitBytes + 1);
}

function openStream(path: string): Readable {
  // To open a pipe without a writer waits for one, in a place where nothing can interrupt it; not
  // even the end of the process.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (fstatSync(fd).isFIFO()) return new Socket({ fd, readable: true, writable: false });
    return createReadStream(path, { fd });
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function stopped(path: string, stream: Readable, reason: unknown): Error {
  const error = reason instanceof Error ? reason : new Error(String(reason));
  if (!(stream instanceof Socket)) return error;
  const message = `Pipe ${path} was not written to its end: ${error.message}`;
  return new Error(message, { cause: error });
}
