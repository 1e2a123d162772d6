/** Why a template cannot be read or filled in. The message holds no value of the data. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
}

export interface Delimiters {
  readonly open: string;
  readonly close: string;
}

export type Node =
  | { readonly is: "text"; readonly text: string }
  | { readonly is: "action"; readonly pipeline: Pipeline }
  | {
      readonly is: "if" | "with" | "range";
      readonly pipeline: Pipeline;
      readonly body: readonly Node[];
      readonly otherwise: readonly Node[];
    };

export interface Pipeline {
  /** Variables that take the value, without the sign; for range also the key. */
  readonly names: readonly string[];
  readonly declares: boolean;
  readonly commands: readonly (readonly Operand[])[];
}

export type Operand =
  | { readonly is: "literal"; readonly value: string | number | boolean | null }
  | { readonly is: "function"; readonly name: string }
  | { readonly is: "dot"; readonly path: readonly string[] }
  | { readonly is: "variable"; readonly name: string; readonly path: readonly string[] }
  | { readonly is: "nested"; readonly pipeline: Pipeline; readonly path: readonly string[] };

/** Reads a template of Go's text/template. Fails with TemplateError. */
export function parseTemplate(text: string, delimiters: Delimiters): readonly Node[] {
  const parser = new Parser(piecesOf(text, delimiters));
  return parser.whole();
}

type Piece = { readonly text: string } | { readonly action: string };

/** Cuts at the delimiters; a dash beside one takes white space away on its side. */
function piecesOf(text: string, { open, close }: Delimiters): Piece[] {
  const pieces: Piece[] = [];
  let rest = text;
  for (let trims = false; rest !== ""; ) {
    const start = rest.indexOf(open);
    let plain = start < 0 ? rest : rest.slice(0, start);
    const after = start < 0 ? "" : rest.slice(start + open.length);
    if (trims) plain = plain.trimStart();
    if (/^-\s/.test(after)) plain = plain.trimEnd();
    if (plain !== "") pieces.push({ text: plain });
    if (start < 0) break;
    const end = endOfAction(after, close);
    if (end < 0) throw new TemplateError(`"${open}" has no "${close}"`);
    const inside = after.slice(0, end).replace(/^-(?=\s)/, "");
    trims = /\s-$/.test(inside);
    const action = (trims ? inside.slice(0, -1) : inside).trim();
    if (!action.startsWith("/*")) pieces.push({ action });
    rest = after.slice(end + close.length);
  }
  return pieces;
}

/** The delimiter that stands in no string. */
function endOfAction(text: string, close: string): number {
  const token = /"(?:[^"\\\n]|\\.)*"|`[^`]*`|\/\*[\s\S]*?\*\//y;
  for (let at = 0; at < text.length; ) {
    if (text.startsWith(close, at)) return at;
    token.lastIndex = at;
    at += token.exec(text)?.[0].length ?? 1;
  }
  return -1;
}

class Parser {
  readonly #pieces: readonly Piece[];
  #at = 0;

  constructor(pieces: readonly Piece[]) {
    this.#pieces = pieces;
  }

  whole(): Node[] {
    const nodes = this.#nodes();
    const left = this.#pieces[this.#at];
    if (left === undefined) return nodes;
    throw new TemplateError(`"${"action" in left ? left.action : ""}" ends nothing`);
  }

  /** Up to an else or end, which is left. */
  #nodes(): Node[] {
    const nodes: Node[] = [];
    for (;;) {
      const piece = this.#pieces[this.#at];
      if (piece === undefined) return nodes;
      if ("action" in piece && /^(end|else)\b/.test(piece.action)) return nodes;
      this.#at += 1;
      nodes.push("text" in piece ? { is: "text", text: piece.text } : this.#action(piece.action));
    }
  }

  #action(text: string): Node {
    const [, word, rest = ""] =
      /^(if|with|range|define|template|block|break|continue)\b([\s\S]*)$/.exec(text) ?? [];
    if (word === undefined) return { is: "action", pipeline: pipelineOf(text) };
    if (word === "if" || word === "with" || word === "range") return this.#branch(word, rest);
    throw new TemplateError(`"${word}" is not known here`);
  }

  #branch(is: "if" | "with" | "range", condition: string): Node {
    const pipeline = pipelineOf(condition);
    const body = this.#nodes();
    const next = this.#pieces[this.#at];
    if (next === undefined || !("action" in next)) throw new TemplateError(`"${is}" has no "end"`);
    this.#at += 1;
    if (next.action === "end") return { is, pipeline, body, otherwise: [] };
    const [, again, more = ""] = /^else\s+(if|with)\b([\s\S]*)$/.exec(next.action) ?? [];
    if (again === "if" || again === "with") {
      // "else if" shares the end of its "if".
      return { is, pipeline, body, otherwise: [this.#branch(again, more)] };
    }
    const otherwise = this.#nodes();
    const end = this.#pieces[this.#at];
    if (end === undefined || !("action" in end) || end.action !== "end") {
      throw new TemplateError(`"else" of "${is}" has no "end"`);
    }
    this.#at += 1;
    return { is, pipeline, body, otherwise };
  }
}

const TOKEN = new RegExp(
  [
    /\s+/,
    /"(?:[^"\\\n]|\\.)*"/,
    /`[^`]*`/,
    /[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/,
    /\$\w*(?:\.[A-Za-z_]\w*)*/,
    /(?:\.[A-Za-z_]\w*)+|\./,
    /[A-Za-z_]\w*/,
    /:=|[=|(),]/,
  ]
    .map(({ source }) => `(?:${source})`)
    .join("|"),
  "y",
);

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  for (let at = 0; at < text.length; ) {
    TOKEN.lastIndex = at;
    const [token] = TOKEN.exec(text) ?? [];
    if (token === undefined) {
      throw new TemplateError(`"${text.slice(at, at + 20)}" in "${text.trim()}" is not understood`);
    }
    tokens.push(token);
    at += token.length;
  }
  return tokens;
}

function pipelineOf(text: string): Pipeline {
  const reader = new PipelineReader(tokensOf(text), text.trim());
  const pipeline = reader.pipeline();
  reader.finish();
  return pipeline;
}

/** White space counts between an operand and a field: `f .x` has two operands, `(f).x` has one. */
class PipelineReader {
  readonly #tokens: readonly string[];
  readonly #text: string;
  #at = 0;

  constructor(tokens: readonly string[], text: string) {
    this.#tokens = tokens;
    this.#text = text;
  }

  pipeline(): Pipeline {
    const { names, declares } = this.#names();
    const commands: Operand[][] = [];
    do commands.push(this.#command());
    while (this.#take("|"));
    return { names, declares, commands };
  }

  finish(): void {
    this.#space();
    if (this.#at < this.#tokens.length) throw this.#wrong();
  }

  #names(): { names: string[]; declares: boolean } {
    const start = this.#at;
    const names: string[] = [];
    do {
      this.#space();
      const token = this.#tokens[this.#at];
      if (token === undefined || !/^\$\w+$/.test(token)) break;
      names.push(token.slice(1));
      this.#at += 1;
    } while (this.#take(","));
    const declares = this.#take(":=");
    if (names.length > 0 && (declares || this.#take("="))) return { names, declares };
    this.#at = start;
    return { names: [], declares: false };
  }

  #command(): Operand[] {
    const operands: Operand[] = [];
    for (;;) {
      this.#space();
      const token = this.#tokens[this.#at];
      if (token === undefined || token === "|" || token === ")") break;
      operands.push(this.#operand(token));
    }
    if (operands.length === 0) throw this.#wrong();
    return operands;
  }

  #operand(token: string): Operand {
    this.#at += 1;
    if (token === "(") {
      const pipeline = this.pipeline();
      if (!this.#take(")")) throw this.#wrong();
      const next = this.#tokens[this.#at] ?? "";
      const path = next.startsWith(".") ? pathOf(next) : [];
      if (path.length > 0) this.#at += 1;
      return { is: "nested", pipeline, path };
    }
    if (token.startsWith('"') || token.startsWith("`")) {
      return { is: "literal", value: textOf(token) };
    }
    if (token.startsWith(".")) return { is: "dot", path: pathOf(token) };
    if (token.startsWith("$")) {
      const [name = "", ...path] = token.slice(1).split(".");
      return { is: "variable", name, path };
    }
    if (/^[-+]?\d/.test(token)) return { is: "literal", value: Number(token) };
    if (token === "true" || token === "false") return { is: "literal", value: token === "true" };
    if (token === "nil") return { is: "literal", value: null };
    if (/^\w+$/.test(token)) return { is: "function", name: token };
    throw this.#wrong();
  }

  #take(token: string): boolean {
    const start = this.#at;
    this.#space();
    if (this.#tokens[this.#at] === token) {
      this.#at += 1;
      return true;
    }
    this.#at = start;
    return false;
  }

  #space(): void {
    while (/^\s/.test(this.#tokens[this.#at] ?? "")) this.#at += 1;
  }

  #wrong(): TemplateError {
    return new TemplateError(`"${this.#text}" is not understood`);
  }
}

function pathOf(token: string): string[] {
  return token.split(".").filter((part) => part !== "");
}

function textOf(token: string): string {
  if (token.startsWith("`")) return token.slice(1, -1);
  try {
    return JSON.parse(token) as string;
  } catch {
    throw new TemplateError(`${token} is no string`);
  }
}
