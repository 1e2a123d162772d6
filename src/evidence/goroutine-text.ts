import type { GoroutineStack } from "./model.ts";

const HEADER = /^goroutine \d+ \[([^\],]*)(?:, (\d+) minutes)?/;
const FRAMES_MAX = 60;
const STACKS_MAX = 2_000;

/** Gathers the stacks of a goroutine dump (`debug=2`), equal ones together. */
export class GoroutineReader {
  readonly #stacks = new Map<string, { count: number; minutes: number; frames: string[] }>();
  #frames: string[] = [];
  #minutes = 0;
  #open = false;

  add(line: string): void {
    const header = HEADER.exec(line);
    if (header !== null) {
      this.#close();
      this.#open = true;
      this.#minutes = Number(header[2] ?? 0);
      return;
    }
    if (line.trim() === "") this.#close();
    else if (this.#open && !/^\s/.test(line) && this.#frames.length < FRAMES_MAX) {
      this.#frames.push(line.replace(/\((0x|\{|\.\.\.).*$/, "").slice(0, 200));
    }
  }

  finish(): GoroutineStack[] {
    this.#close();
    return [...this.#stacks.values()].map(({ count, minutes, frames }) => ({
      count,
      waitMinutes: minutes === 0 ? undefined : minutes,
      frames,
    }));
  }

  #close(): void {
    if (this.#open && this.#frames.length > 0) {
      const key = this.#frames.join("\n");
      const found = this.#stacks.get(key);
      if (found !== undefined) {
        found.count += 1;
        found.minutes = Math.max(found.minutes, this.#minutes);
      } else if (this.#stacks.size < STACKS_MAX) {
        this.#stacks.set(key, { count: 1, minutes: this.#minutes, frames: this.#frames });
      }
    }
    this.#frames = [];
    this.#open = false;
  }
}
