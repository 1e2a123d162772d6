import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";

/** Where a module asks for the name of its workspace. */
export interface WorkspaceRead {
  /** Relative to the root module's folder. */
  readonly file: string;
  readonly line: number;
  /** terraform.workspace or tofu.workspace. */
  readonly expression: string;
}

const READ = /(?<![\w.-])(?:terraform|tofu)\s*\.\s*workspace(?![\w-])/;
/** Doubled signs are text; single ones begin an expression. */
const ESCAPED = /^(?:\$\$|%%)\{/;
const EXPRESSION = /^[$%]\{/;
const MODULE_FILE = /\.(?:tf|tofu)(?:\.json)?$/;

/**
 * The first place in the root module in `folder`, or in a module that init has found for it, that
 * reads the name of the workspace; undefined if none does.
 */
export async function findWorkspaceRead(folder: string): Promise<WorkspaceRead | undefined> {
  for (const module of await moduleFolders(folder)) {
    const names = (await readdir(module)).filter((name) => MODULE_FILE.test(name)).sort();
    for (const name of names) {
      const path = join(module, name);
      const text = await readFile(path, "utf8");
      const found = name.endsWith(".json") ? text : withoutComments(text);
      const at = READ.exec(found);
      if (at === null) continue;
      const line = found.slice(0, at.index).split("\n").length;
      return { file: relative(folder, path), line, expression: at[0].replaceAll(/\s/g, "") };
    }
  }
  return undefined;
}

/** The list that init keeps; without it there is the root module alone. */
async function moduleFolders(folder: string): Promise<string[]> {
  const list = join(folder, ".terraform/modules/modules.json");
  const text = await readFile(list, "utf8").catch(() => undefined);
  if (text === undefined) return [folder];
  const { Modules: modules = [] } = JSON.parse(text) as { Modules?: { Dir: string }[] };
  return [...new Set([folder, ...modules.map(({ Dir }) => join(folder, Dir))])];
}

/**
 * HCL with everything blanked that is no code: comments, and text in strings and heredocs outside
 * of `${…}` and `%{…}`. Lines stay where they are.
 */
export function withoutComments(text: string): string {
  const scanner = new Scanner(text);
  return scanner.run();
}

/** What the scanner is in: code in braces, a quoted string, or a heredoc with this end mark. */
type Place = { in: "code"; depth: number } | { in: "string" } | { in: "heredoc"; end: string };

class Scanner {
  readonly #text: string;
  readonly #places: Place[] = [{ in: "code", depth: 0 }];
  #at = 0;
  #out = "";

  constructor(text: string) {
    this.#text = text;
  }

  run(): string {
    while (this.#at < this.#text.length) {
      const place = this.#places.at(-1);
      if (place === undefined || place.in === "code") this.#code(place);
      else this.#template(place);
    }
    return this.#out;
  }

  #code(place: { in: "code"; depth: number } | undefined): void {
    if (this.#comment() || this.#heredoc()) return;
    const char = this.#text.charAt(this.#at);
    if (char === '"') this.#places.push({ in: "string" });
    if (place !== undefined && char === "{") place.depth += 1;
    if (place !== undefined && char === "}") {
      if (place.depth === 0 && this.#places.length > 1) this.#places.pop();
      else place.depth = Math.max(0, place.depth - 1);
    }
    this.#keep(1);
  }

  #comment(): boolean {
    const rest = this.#text.slice(this.#at, this.#at + 2);
    if (rest.startsWith("#") || rest === "//") {
      const end = this.#text.indexOf("\n", this.#at);
      this.#blank((end < 0 ? this.#text.length : end) - this.#at);
      return true;
    }
    if (rest !== "/*") return false;
    const end = this.#text.indexOf("*/", this.#at + 2);
    this.#blank((end < 0 ? this.#text.length : end + 2) - this.#at);
    return true;
  }

  #heredoc(): boolean {
    if (!this.#text.startsWith("<<", this.#at)) return false;
    const found = /^<<-?([\w-]+)[ \t]*\r?\n/.exec(this.#text.slice(this.#at, this.#at + 200));
    if (found?.[1] === undefined) return false;
    this.#places.push({ in: "heredoc", end: found[1] });
    this.#keep(found[0].length);
    return true;
  }

  #template(place: { in: "string" } | { in: "heredoc"; end: string }): void {
    const rest = this.#text.slice(this.#at, this.#at + 3);
    const quoted = place.in === "string";
    if (ESCAPED.test(rest)) {
      this.#blank(3);
    } else if (quoted && rest.startsWith("\\")) {
      this.#blank(2);
    } else if (EXPRESSION.test(rest)) {
      this.#places.push({ in: "code", depth: 0 });
      this.#keep(2);
    } else if (quoted && /^["\n]/.test(rest)) {
      this.#places.pop();
      this.#keep(1);
    } else if (!quoted && this.#endsHeredoc(place.end)) {
      this.#places.pop();
      this.#keep(1);
    } else {
      this.#blank(1);
    }
  }

  /** The end mark stands alone on its line; the rest of that line is code again. */
  #endsHeredoc(end: string): boolean {
    if (this.#at > 0 && this.#text.charAt(this.#at - 1) !== "\n") return false;
    const line = /^[^\n]*/.exec(this.#text.slice(this.#at, this.#at + 400))?.[0] ?? "";
    return line.trim() === end;
  }

  #keep(count: number): void {
    this.#out += this.#text.slice(this.#at, this.#at + count);
    this.#at += count;
  }

  #blank(count: number): void {
    this.#out += this.#text.slice(this.#at, this.#at + count).replaceAll(/[^\n]/g, " ");
    this.#at += count;
  }
}
