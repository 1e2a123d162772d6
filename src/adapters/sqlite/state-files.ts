import { createHash, randomUUID } from "node:crypto";
import {
  closeSync,
  createReadStream,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { type NotAState, type StateHead, StateScanner } from "../../domain/state-file.ts";
import type { Call } from "../../ports/call.ts";
import { StateDamaged } from "../../ports/state.ts";

export interface StoredFile {
  /** Its name in the folder. */
  readonly file: string;
  readonly sizeBytes: number;
  /** SHA-256, hex. */
  readonly digest: string;
}

/** A file that no row names may belong to a write that is still under way, this long at most. */
const UNDER_WAY_MS = 60 * 60 * 1000;

/**
 * The contents of states, one file for each version, beside the database: `node:sqlite` reads and
 * writes a value only as a whole and in one go, so that a state of 256 MiB would fill the memory
 * and hold up everything else. A file never changes; the row that names it makes it count, so a
 * crash leaves at worst a file without a row, which is swept later.
 */
export class StateFiles {
  readonly #folder: string;

  /** Makes the folder if it lacks. */
  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** Writes a new file; it is on the disk when this returns, and gone if this throws. */
  async store(
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    call: Call,
  ): Promise<{ stored: StoredFile; head: StateHead | NotAState }> {
    const file = `${randomUUID()}.tfstate`;
    const handle = await open(join(this.#folder, file), "wx", 0o600);
    try {
      const read = await copy(content, handle, call);
      await handle.sync();
      await handle.close();
      this.#sync();
      return { stored: { file, ...read.size }, head: read.head };
    } catch (error) {
      await handle.close().catch(() => undefined);
      this.remove([file]);
      throw error;
    }
  }

  /** The content, once it has been found to be what was stored. Fails with `StateDamaged`. */
  async read(stored: StoredFile, call: Call): Promise<AsyncIterable<Uint8Array>> {
    const hash = createHash("sha256");
    let sizeBytes = 0;
    try {
      for await (const chunk of this.#chunks(stored.file, call)) {
        hash.update(chunk);
        sizeBytes += chunk.length;
      }
    } catch (error) {
      call.signal.throwIfAborted();
      throw this.#damaged(stored.file, "cannot be read", error);
    }
    if (sizeBytes !== stored.sizeBytes || hash.digest("hex") !== stored.digest) {
      throw this.#damaged(stored.file, "is not what was written");
    }
    return this.#chunks(stored.file, call);
  }

  /** Damage that can be seen without reading: a file that is gone or of another size. */
  damageOf({ file, sizeBytes }: StoredFile): string | undefined {
    const found = statSync(join(this.#folder, file), { throwIfNoEntry: false });
    if (found === undefined) return this.#damaged(file, "is gone").message;
    return found.size === sizeBytes
      ? undefined
      : this.#damaged(file, "is not what was written").message;
  }

  remove(files: readonly string[]): void {
    for (const file of files) rmSync(join(this.#folder, file), { force: true });
  }

  /** Removes what crashes have left: old files that no row names. */
  sweep(named: ReadonlySet<string>, nowMs: number): void {
    const left = readdirSync(this.#folder).filter((file) => !named.has(file));
    this.remove(
      left.filter((file) => {
        const found = statSync(join(this.#folder, file), { throwIfNoEntry: false });
        return found?.isFile() && nowMs - found.mtimeMs > UNDER_WAY_MS;
      }),
    );
  }

  async *#chunks(file: string, call: Call): AsyncGenerator<Uint8Array> {
    const stream = createReadStream(join(this.#folder, file), { signal: call.signal });
    for await (const chunk of stream) yield chunk;
  }

  /** A new name lasts only once its folder is on the disk too. */
  #sync(): void {
    const handle = openSync(this.#folder, "r");
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  }

  #damaged(file: string, what: string, cause?: unknown): StateDamaged {
    return new StateDamaged(
      `State file ${join(this.#folder, file)} ${what}; restore it from a backup, ` +
        "or make an earlier version current with nigari state rollback (or push a file)",
      { cause },
    );
  }
}

async function copy(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  handle: FileHandle,
  call: Call,
): Promise<{ size: Omit<StoredFile, "file">; head: StateHead | NotAState }> {
  const hash = createHash("sha256");
  const scanner = new StateScanner();
  let sizeBytes = 0;
  for await (const chunk of content) {
    call.signal.throwIfAborted();
    hash.update(chunk);
    scanner.feed(chunk);
    sizeBytes += chunk.length;
    await handle.writeFile(chunk);
  }
  return { size: { sizeBytes, digest: hash.digest("hex") }, head: scanner.end() };
}
