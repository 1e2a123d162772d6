/** The largest state that is kept, in bytes. */
export const STATE_BYTES_MAX = 256 * 1024 * 1024;

/** What a state file says of itself. An encrypted one says it too, outside of what it encrypts. */
export interface StateHead {
  readonly serial: number;
  /** Empty if tofu never reached its backend: a lineage is begun with the first write. */
  readonly lineage: string;
  /** Managed resources in it; undefined where it does not say, as in an encrypted one. */
  readonly resources?: number | undefined;
  /** Version of the tofu that wrote it, where it says so. */
  readonly tofuVersion?: string;
}
/** Why some bytes are no state file: "it has no lineage". Quotes nothing of them. */
export interface NotAState {
  readonly problem: string;
}

/** Where the value of `serial` stands in a state file, in bytes; `end` is behind it. */
export interface SerialPlace {
  readonly start: number;
  readonly end: number;
}

export function readStateHead(content: Uint8Array): StateHead | NotAState {
  const scanner = new StateScanner();
  scanner.feed(content);
  return scanner.end();
}

const DEPTH_MAX = 1_000;
/** No number or literal is longer; the longest that tofu writes has 512 bits. */
const SCALAR_BYTES_MAX = 4_096;
/** Top-level strings of at most this many bytes are looked at, which is enough for a lineage. */
const TEXT_BYTES_MAX = 1_024;
const NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$/;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** What may come next. */
type Expect =
  | "value"
  | "value-or-close"
  | "key"
  | "key-or-close"
  | "colon"
  | "comma-or-close"
  | "nothing";

/**
 * Reads a state file as it streams by, in constant memory: checks that it is whole, well-formed
 * JSON, and picks serial and lineage from its top level.
 */
export class StateScanner {
  /** True for each open object, false for each open array. */
  readonly #open: boolean[] = [];
  #expect: Expect = "value";
  /** The token that the last chunk may have ended in. */
  #token: "none" | "string" | "scalar" = "none";
  /** Bytes still to come of an escape in a string; the first may be the "u" of four digits more. */
  #escape: "no" | "first" | number = "no";
  #isKey = false;
  /** The token's text, as far as it is of use. */
  #text: number[] = [];
  #key = "";
  /** Inside of the list of resources: its own items are three levels deep. */
  #inResources = false;
  #managed = 0;
  #serialStart = 0;
  #serialEnd = 0;
  readonly #found = new Map<string, unknown>();
  #position = 0;
  #problem: string | undefined;

  feed(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length && this.#problem === undefined) {
      if (this.#token === "string") at = this.#inString(chunk, at);
      else if (this.#token === "scalar") at = this.#inScalar(chunk, at);
      else at = this.#between(chunk, at);
    }
    this.#position += chunk.length;
    if (this.#position > STATE_BYTES_MAX) this.#problem ??= "it is larger than 256 MiB";
  }

  end(): StateHead | NotAState {
    if (this.#token === "scalar") this.#endScalar();
    if (this.#problem === undefined && this.#expect !== "nothing") {
      this.#problem = this.#position === 0 ? "it is empty" : "it is cut off";
    }
    if (this.#problem !== undefined) return { problem: this.#problem };
    return headOf(this.#found, this.#managed);
  }

  /** Where the serial stands that `end` told. */
  serialPlace(): SerialPlace {
    return { start: this.#serialStart, end: this.#serialEnd };
  }

  #fail(at: number): number {
    this.#problem = `it is not JSON (at byte ${this.#position + at})`;
    return at;
  }

  /** Takes one byte between tokens, or the first of one. */
  #between(chunk: Uint8Array, at: number): number {
    const byte = chunk[at] ?? 0;
    if (byte === 0x20 || (byte >= 0x09 && byte <= 0x0d && byte !== 0x0b && byte !== 0x0c)) {
      return at + 1;
    }
    const expect = this.#expect;
    const closes = byte === CLOSE_OBJECT || byte === CLOSE_ARRAY;
    if (closes && expect.endsWith("-or-close")) {
      return this.#close(byte === CLOSE_OBJECT, at);
    }
    if (expect === "comma-or-close") return byte === COMMA ? this.#comma(at) : this.#fail(at);
    if (expect === "colon") {
      this.#expect = "value";
      return byte === COLON ? at + 1 : this.#fail(at);
    }
    if (expect === "key" || expect === "key-or-close") {
      return byte === QUOTE ? this.#startString(true, at) : this.#fail(at);
    }
    return expect === "nothing" ? this.#fail(at) : this.#startValue(byte, at);
  }

  #startValue(byte: number, at: number): number {
    if (byte === QUOTE) return this.#startString(false, at);
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (this.#open.length === DEPTH_MAX) return this.#fail(at);
      this.#note(byte === OPEN_ARRAY ? LIST : undefined);
      if (this.#isTopLevel("resources")) {
        this.#inResources = byte === OPEN_ARRAY;
        this.#managed = 0;
      }
      this.#open.push(byte === OPEN_OBJECT);
      this.#expect = byte === OPEN_OBJECT ? "key-or-close" : "value-or-close";
      return at + 1;
    }
    this.#token = "scalar";
    this.#text = [];
    if (this.#isTopLevel("serial")) this.#serialStart = this.#position + at;
    return at;
  }

  #isTopLevel(key: string): boolean {
    return this.#open.length === 1 && this.#open[0] === true && this.#key === key;
  }

  /** Whether the text of strings matters here. */
  #reads(): boolean {
    return this.#open.length === 1 || (this.#inResources && this.#open.length === 3);
  }

  #close(isObject: boolean, at: number): number {
    const wasObject = this.#open.pop();
    if (wasObject !== isObject) return this.#fail(at);
    if (this.#open.length === 1) this.#inResources = false;
    this.#expect = this.#open.length === 0 ? "nothing" : "comma-or-close";
    return at + 1;
  }

  #comma(at: number): number {
    this.#expect = this.#open.at(-1) === true ? "key" : "value";
    return at + 1;
  }

  #startString(isKey: boolean, at: number): number {
    this.#token = "string";
    this.#isKey = isKey;
    this.#escape = "no";
    this.#text = [];
    return at + 1;
  }

  #inString(chunk: Uint8Array, from: number): number {
    const keep = this.#reads();
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      if (byte < 0x20) return this.#fail(at);
      if (this.#escape !== "no") {
        if (!this.#escaped(byte)) return this.#fail(at);
      } else if (byte === QUOTE) {
        this.#endString();
        return at + 1;
      } else if (byte === BACKSLASH) {
        this.#escape = "first";
      }
      if (keep && this.#text.length <= TEXT_BYTES_MAX) this.#text.push(byte);
    }
    return chunk.length;
  }

  /** Takes one byte of an escape; false if it cannot be one. */
  #escaped(byte: number): boolean {
    if (this.#escape === "first") {
      this.#escape = byte === 0x75 ? 4 : "no";
      return '"\\/bfnrtu'.includes(String.fromCharCode(byte));
    }
    const left = Number(this.#escape) - 1;
    this.#escape = left === 0 ? "no" : left;
    return /[0-9a-fA-F]/.test(String.fromCharCode(byte));
  }

  #endString(): void {
    this.#token = "none";
    const short = this.#text.length <= TEXT_BYTES_MAX;
    const text = short && this.#reads() ? unquote(this.#text) : "";
    if (this.#isKey) {
      this.#key = text;
      this.#expect = "colon";
    } else {
      this.#note(text);
      const isMode = this.#inResources && this.#open.length === 3 && this.#key === "mode";
      if (isMode && text === "managed") this.#managed += 1;
      this.#expect = this.#open.length === 0 ? "nothing" : "comma-or-close";
    }
  }

  #inScalar(chunk: Uint8Array, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      if (!/[-+.0-9a-zA-Z]/.test(String.fromCharCode(byte))) {
        if (this.#isTopLevel("serial")) this.#serialEnd = this.#position + at;
        return this.#endScalar() ? at : this.#fail(at);
      }
      this.#text.push(byte);
      if (this.#text.length > SCALAR_BYTES_MAX) return this.#fail(at);
    }
    return chunk.length;
  }

  /** False if what was read is neither number nor literal. */
  #endScalar(): boolean {
    this.#token = "none";
    const text = String.fromCharCode(...this.#text);
    if (!NUMBER.test(text) && !["true", "false", "null"].includes(text)) {
      this.#fail(0);
      return false;
    }
    this.#note(JSON.parse(text));
    this.#expect = this.#open.length === 0 ? "nothing" : "comma-or-close";
    return true;
  }

  /** Remembers a value of the top level. */
  #note(value: unknown): void {
    if (this.#open.length === 1 && this.#open[0] === true && FIELDS.includes(this.#key)) {
      this.#found.set(this.#key, value);
    }
  }
}

const FIELDS = ["version", "terraform_version", "serial", "lineage", "encrypted_data", "resources"];
/** Stands for a list among the values of the top level. */
const LIST = Symbol("list");

function headOf(found: ReadonlyMap<string, unknown>, managed: number): StateHead | NotAState {
  const serial = found.get("serial");
  const lineage = found.get("lineage");
  if (!found.has("version") && !found.has("encrypted_data")) {
    return { problem: "it has neither version nor encrypted_data" };
  }
  if (typeof serial !== "number" || !Number.isSafeInteger(serial) || serial < 0) {
    return { problem: "it has no serial" };
  }
  if (typeof lineage !== "string") return { problem: "it has no lineage" };
  const known = found.get("resources") === LIST && !found.has("encrypted_data");
  const tofuVersion = found.get("terraform_version");
  return {
    ...{ serial, lineage },
    ...(known ? { resources: managed } : {}),
    ...(typeof tofuVersion === "string" ? { tofuVersion } : {}),
  };
}

/** Content with another serial at its place; everything else byte for byte. */
export async function* withSerial(
  content: AsyncIterable<Uint8Array>,
  place: SerialPlace,
  serial: number,
): AsyncGenerator<Uint8Array> {
  let position = 0;
  for await (const chunk of content) {
    const [start, end] = [place.start - position, place.end - position];
    if (start < 0 || start >= chunk.length) {
      yield end <= 0 || start >= chunk.length ? chunk : chunk.subarray(Math.max(0, end));
    } else {
      yield chunk.subarray(0, start);
      yield new TextEncoder().encode(String(serial));
      yield chunk.subarray(Math.min(end, chunk.length));
    }
    position += chunk.length;
  }
}

function unquote(bytes: readonly number[]): string {
  const text: unknown = JSON.parse(`"${new TextDecoder().decode(Uint8Array.from(bytes))}"`);
  return String(text);
}
