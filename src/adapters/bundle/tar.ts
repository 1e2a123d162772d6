/**
 * Reads a tar archive as it streams by: ustar, with long names of pax and GNU. The reader pulls,
 * so no more than a chunk of any file is in memory, however large the archive is.
 */
export async function* tarEntries(bytes: AsyncIterable<Buffer>): AsyncGenerator<TarEntry> {
  const source = new Source(bytes);
  let longName: string | undefined;
  try {
    for (;;) {
      const header = await source.take(BLOCK);
      if (header.length < BLOCK) {
        if (header.length > 0) throw new TarError("The archive breaks off inside a header");
        return;
      }
      if (header.every((byte) => byte === 0)) return;
      const { name, size, type } = readHeader(header);
      const padding = (BLOCK - (size % BLOCK)) % BLOCK;
      if (type === "x" || type === "L") {
        if (size > NAME_BYTES) throw new TarError("A name is longer than any path");
        const text = (await source.take(size)).toString("utf8");
        longName = type === "L" ? text.replace(/\0.*$/s, "") : (paxPath(text) ?? longName);
        await source.skip(padding);
        continue;
      }
      const body = new Body(source, size);
      if (type === "0" || type === "\0" || type === "7") {
        yield { path: longName ?? name, bytes: body.read() };
      }
      longName = undefined;
      await body.skipRest();
      await source.skip(padding);
    }
  } finally {
    await source.close();
  }
}

export interface TarEntry {
  /** As the archive says it: it may lead anywhere. */
  readonly path: string;
  /** To be read before the next entry is asked for; what is left is passed over. */
  readonly bytes: AsyncIterable<Buffer>;
}

export class TarError extends Error {}

const BLOCK = 512;
const NAME_BYTES = 64 * 1024;

function readHeader(header: Buffer): { name: string; size: number; type: string } {
  const text = (from: number, to: number) =>
    header.subarray(from, to).toString("utf8").replace(/\0.*$/s, "");
  const sum = Number.parseInt(text(148, 156).trim(), 8);
  const bytes = [...header.entries()];
  const own = bytes.reduce((all, [at, byte]) => all + (at >= 148 && at < 156 ? 32 : byte), 0);
  if (sum !== own) throw new TarError("A header's checksum is wrong");
  const prefix = text(257, 262) === "ustar" ? text(345, 500) : "";
  const name = text(0, 100);
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    size: readSize(header.subarray(124, 136)),
    type: String.fromCharCode(header[156] ?? 0),
  };
}

/** Octal digits, or the binary form for files of 8 GiB and more. */
function readSize(field: Buffer): number {
  const size =
    (field[0] ?? 0) >= 0x80
      ? [...field.subarray(1)].reduce((all, byte) => all * 256 + byte, 0)
      : Number.parseInt(field.toString("latin1").replace(/[\0 ].*$/s, "") || "0", 8);
  if (!Number.isSafeInteger(size) || size < 0) throw new TarError("A file's size is no number");
  return size;
}

/** Records are "<length> <key>=<value>\n". */
function paxPath(text: string): string | undefined {
  return /(?:^|\n)\d+ path=([^\n]*)\n/.exec(text)?.[1];
}

/** Bytes that are pulled, and given back in the portions that are asked for. */
class Source {
  readonly #iterator: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(bytes: AsyncIterable<Buffer>) {
    this.#iterator = bytes[Symbol.asyncIterator]();
  }

  /** Up to `limit` bytes, at least one; undefined at the end. */
  async some(limit: number): Promise<Buffer | undefined> {
    while (this.#rest.length === 0) {
      const next = await this.#iterator.next();
      if (next.done === true) return undefined;
      this.#rest = next.value;
    }
    const found = this.#rest.subarray(0, limit);
    this.#rest = this.#rest.subarray(found.length);
    return found;
  }

  /** So many bytes, fewer only at the end. */
  async take(size: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for (let left = size; left > 0; ) {
      const piece = await this.some(left);
      if (piece === undefined) break;
      pieces.push(piece);
      left -= piece.length;
    }
    return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
  }

  async skip(size: number): Promise<void> {
    for (let left = size; left > 0; ) {
      const piece = await this.some(left);
      if (piece === undefined) throw new TarError("The archive breaks off inside a file");
      left -= piece.length;
    }
  }

  async close(): Promise<void> {
    await this.#iterator.return?.();
  }
}

class Body {
  readonly #source: Source;
  #left: number;

  constructor(source: Source, size: number) {
    this.#source = source;
    this.#left = size;
  }

  async *read(): AsyncGenerator<Buffer> {
    while (this.#left > 0) {
      const piece = await this.#source.some(this.#left);
      if (piece === undefined) throw new TarError("The archive breaks off inside a file");
      this.#left -= piece.length;
      yield piece;
    }
  }

  async skipRest(): Promise<void> {
    await this.#source.skip(this.#left);
    this.#left = 0;
  }
}
