import { closeSync, fstatSync, openSync, writeSync } from "node:fs";
import { open } from "node:fs/promises";
import type { Mask } from "./masking.ts";

/** Characters of the longest line kept whole; the rest of a longer one goes on in the next. */
const LINE_LIMIT = 16 << 10;
/** More than the longest line has. */
const READ_BYTES = 128 << 10;

/**
 * log.txt: masked lines for people, which Watch streams by byte offset. What may come without
 * bounds is dropped once the file has its limit; what matters may come on top, up to as much
 * again.
 */
export class RunLog {
  readonly #path: string;
  readonly #file: number;
  readonly #listeners = new Set<() => void>();
  #limitBytes = 10 << 20;
  #mask: Mask = { apply: (text) => text, lengthMax: 0 };
  #sizeBytes: number;
  #dropped = 0;

  constructor(path: string) {
    this.#path = path;
    this.#file = openSync(path, "a", 0o600);
    this.#sizeBytes = fstatSync(this.#file).size;
  }

  /** From now on these values are masked, and this is the limit. */
  configure(mask: Mask, limitBytes: number): void {
    this.#mask = mask;
    this.#limitBytes = limitBytes;
  }

  get isFull(): boolean {
    return this.#sizeBytes >= this.#limitBytes;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Writes text of one or more lines. */
  write(text: string, weight: "matters" | "noise" = "matters"): void {
    const limit = weight === "noise" ? this.#limitBytes : 2 * this.#limitBytes;
    if (this.#sizeBytes >= limit) {
      this.#dropped += 1;
      return;
    }
    this.#put(this.#mask.apply(text));
  }

  /** Says how much was dropped since it was last asked, in the log itself. */
  reportDropped(): void {
    if (this.#dropped === 0) return;
    this.#put(`(${this.#dropped} more lines were not kept: the log is limited)`);
    this.#dropped = 0;
  }

  /** Whole lines from a byte offset on, each with the offset behind it; ends at the log's end. */
  async *read(fromOffset: number): AsyncGenerator<{ offset: number; line: string }> {
    const file = await open(this.#path, "r");
    try {
      const buffer = Buffer.alloc(READ_BYTES);
      for (let offset = fromOffset; ; ) {
        const { bytesRead } = await file.read(buffer, 0, READ_BYTES, offset);
        const end = buffer.subarray(0, bytesRead).lastIndexOf(10) + 1;
        if (end === 0) return;
        let start = 0;
        for (let at = buffer.indexOf(10); at >= 0 && at < end; at = buffer.indexOf(10, start)) {
          const line = buffer.toString("utf8", start, at);
          start = at + 1;
          yield { offset: offset + start, line };
        }
        offset += end;
      }
    } finally {
      await file.close();
    }
  }

  /** Calls back after every line; returns how to stop that. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    closeSync(this.#file);
  }

  #put(text: string): void {
    const lines = text.split("\n").flatMap((line) => {
      const clean = line.replaceAll(/\r/g, "");
      return clean.length <= LINE_LIMIT ? [clean] : pieces(clean);
    });
    const bytes = Buffer.from(`${lines.join("\n")}\n`, "utf8");
    try {
      this.#sizeBytes += writeSync(this.#file, bytes);
    } catch {
      // A full disk costs lines, never the run.
      this.#dropped += lines.length;
      return;
    }
    for (const listener of this.#listeners) listener();
  }
}

function pieces(line: string): string[] {
  const found: string[] = [];
  for (let at = 0; at < line.length; at += LINE_LIMIT) found.push(line.slice(at, at + LINE_LIMIT));
  return found;
}
