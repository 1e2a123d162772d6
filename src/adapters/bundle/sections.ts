/** Hands on text without the logs that `kubectl cluster-info dump` puts between marks. */
export class LogSections {
  readonly #take: (text: string) => void;
  #inside = false;
  #rest = "";

  constructor(take: (text: string) => void) {
    this.#take = take;
  }

  push(chunk: string): void {
    let text = this.#rest + chunk;
    this.#rest = "";
    for (;;) {
      const mark = this.#inside ? END : START;
      const at = text.indexOf(mark);
      if (at < 0) break;
      if (!this.#inside) this.#take(text.slice(0, at));
      this.#inside = !this.#inside;
      text = text.slice(at + mark.length);
    }
    const safe = Math.max(0, text.length - END.length);
    const tail = text.lastIndexOf("=", text.length) >= safe ? safe : text.length;
    if (!this.#inside) this.#take(text.slice(0, tail));
    this.#rest = text.slice(tail);
  }

  end(): void {
    if (!this.#inside) this.#take(this.#rest);
    this.#rest = "";
  }
}

const START = "==== START logs for container";
const END = "==== END logs for container";
