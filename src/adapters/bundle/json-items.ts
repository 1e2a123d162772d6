/**
 * Takes JSON apart while it streams by: documents one after another, and of each list its items
 * one by one, so that a list of any length fits in memory and a list that breaks off still gives
 * the items before the break. Text between documents is passed over.
 */
export class JsonItems {
  readonly #emit: (item: JsonItem) => void;
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** Text of the piece being taken, in slices; undefined while nothing is taken. */
  #pieces: string[] | undefined;
  #size = 0;
  /** Depth at which an item begins: 0 for a document, 1 in a top-level array, 2 in `items`. */
  #itemDepth = 0;
  /** The list's own fields, as far as they were seen. */
  #header = "";
  /** The last string at depth 1, to find the key `items`. */
  #key: string | undefined;
  #keyStart = -1;
  /** What the chunk before held of a key that lies across two chunks. */
  #keyPrefix = "";
  #afterItemsKey = false;
  #tooLarge = 0;

  constructor(emit: (item: JsonItem) => void) {
    this.#emit = emit;
  }

  /** How many pieces were larger than an object can be, and were passed over. */
  get tooLarge(): number {
    return this.#tooLarge;
  }

  push(chunk: string): void {
    let from = this.#pieces === undefined ? -1 : 0;
    if (this.#keyStart >= 0) this.#keyStart = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      if (this.#inString) {
        at = this.#skipString(chunk, at);
        continue;
      }
      from = this.#step(chunk, at, from);
    }
    if (from >= 0 && this.#pieces !== undefined) this.#take(chunk.slice(from));
  }

  /** True if the text ended inside a document. */
  end(): boolean {
    return this.#depth > 0;
  }

  /** Index of the last character that belongs to the string, in this chunk. */
  #skipString(chunk: string, at: number): number {
    for (let index = at; index < chunk.length; index += 1) {
      const code = chunk.charCodeAt(index);
      if (this.#escaped) this.#escaped = false;
      else if (code === BACKSLASH) this.#escaped = true;
      else if (code === QUOTE) {
        this.#inString = false;
        if (this.#keyStart >= 0) this.#key = this.#keyPrefix + chunk.slice(this.#keyStart, index);
        this.#keyStart = -1;
        return index;
      }
    }
    if (this.#keyStart >= 0 && this.#keyPrefix.length < 64) {
      this.#keyPrefix += chunk.slice(this.#keyStart);
    }
    return chunk.length;
  }

  /** One character outside strings; answers where the text being taken begins in this chunk. */
  #step(chunk: string, at: number, from: number): number {
    const code = chunk.charCodeAt(at);
    if (code === QUOTE) {
      if (this.#depth === 0) return from;
      this.#inString = true;
      if (this.#depth === 1 && this.#itemDepth === 0) {
        this.#keyStart = at + 1;
        this.#keyPrefix = "";
      }
      return from;
    }
    if (code === COLON) {
      if (this.#depth === 1 && this.#itemDepth === 0) this.#afterItemsKey = this.#key === "items";
      return from;
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) return this.#open(chunk, at, from);
    if (code === CLOSE_BRACE || code === CLOSE_BRACKET) return this.#close(chunk, at, from);
    if (code > SPACE && this.#afterItemsKey && this.#depth === 1) this.#afterItemsKey = false;
    return from;
  }

  #open(chunk: string, at: number, from: number): number {
    const array = chunk.charCodeAt(at) === OPEN_BRACKET;
    const depth = this.#depth;
    this.#depth += 1;
    if (depth === 0) {
      // Text before a document may hold brackets, as a log's "[main]": only "[{" is an array.
      this.#itemDepth = array ? 1 : 0;
      this.#key = undefined;
      this.#header = "";
      if (array) return from;
      this.#pieces = [];
      this.#size = 0;
      return at;
    }
    if (depth === 1 && array && this.#itemDepth === 0 && this.#afterItemsKey) {
      this.#header = `${(this.#pieces ?? []).join("")}${from < 0 ? "" : chunk.slice(from, at)}`;
      this.#pieces = undefined;
      this.#itemDepth = 2;
      this.#afterItemsKey = false;
      this.#emit({ text: undefined, header: this.#header });
      return -1;
    }
    this.#afterItemsKey = false;
    if (!array && this.#itemDepth > 0 && depth === this.#itemDepth) {
      this.#pieces = [];
      this.#size = 0;
      return at;
    }
    return from;
  }

  #close(chunk: string, at: number, from: number): number {
    if (this.#depth === 0) return from;
    this.#depth -= 1;
    if (this.#depth === this.#itemDepth && this.#pieces !== undefined) {
      this.#take(chunk.slice(from < 0 ? at : from, at + 1));
      const text = this.#pieces?.join("");
      if (text !== undefined && this.#size <= PIECE_LIMIT) {
        this.#emit({ text, header: this.#header });
      } else this.#tooLarge += 1;
      this.#pieces = undefined;
      return -1;
    }
    return from;
  }

  #take(text: string): void {
    this.#size += text.length;
    if (this.#size > PIECE_LIMIT) this.#pieces = [];
    else this.#pieces?.push(text);
  }
}

export interface JsonItem {
  /** A whole object; undefined when a list begins, so that an empty list is seen too. */
  readonly text: string | undefined;
  /** Beginning of the list it stands in, up to its items; empty outside lists. */
  readonly header: string;
}

/** No object of the API server is near this; etcd's limit is 1.5 MiB. */
const PIECE_LIMIT = 8 * 1024 * 1024;

const QUOTE = 34;
const BACKSLASH = 92;
const COLON = 58;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const SPACE = 32;
