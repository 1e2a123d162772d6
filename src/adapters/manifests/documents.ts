import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type ParsedNode,
  parseAllDocuments,
  type YAMLError,
} from "yaml";
import type { FieldPath } from "../../api/field-path.ts";

/** A place in a text, both from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}
export interface TextProblem extends Position {
  readonly text: string;
}

/** One document of a text: its value, or what is wrong with its form. */
export type ParsedDocument =
  | { readonly problem: TextProblem }
  | {
      readonly value: unknown;
      /** Where the value at `path` stands, or its key; the nearest there is if it is missing. */
      readonly locate: (path: FieldPath, onKey: boolean) => Position;
    };

/** Deeper nesting is refused: no object of ours comes near, and recursion must end. */
const DEPTH_MAX = 100;
/** Aliases in a document, and values in it once they are followed. */
const ALIASES_MAX = 100;
const VALUES_MAX = 200_000;
/** Marks, spaces and words in a text: the parser needs a kilobyte of memory for each. */
const TOKENS_MAX = 350_000;

/**
 * Reads the YAML (or JSON, which is YAML) documents of a text. Empty ones are left out. Never
 * throws; of several faults in a document the first is told, since the others follow from it.
 */
export function parseDocuments(text: string): ParsedDocument[] {
  const excess = excessIn(text);
  if (excess !== undefined) return [{ problem: excess }];
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    merge: true,
    // Found in linear time below.
    uniqueKeys: false,
    stringKeys: true,
    prettyErrors: false,
    logLevel: "silent",
    lineCounter: lines,
  });
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document) => {
    const at = (offset: number) => positionAt(lines, offset);
    try {
      return readDocument(document, at) ?? [];
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return { problem: { ...at(document.range[0]), text: TOO_DEEP } };
    }
  });
}

/**
 * Too much of anything, or brackets too deep or closed too often. The parser would make an error of
 * each one that follows, which takes minutes for a text made to harm; the lexer alone knows a
 * bracket from a letter.
 */
function excessIn(text: string): TextProblem | undefined {
  let depth = 0;
  let offset = 0;
  let previous = "";
  let tokens = 0;
  for (const token of new Lexer().lex(text)) {
    tokens += 1;
    if (tokens > TOKENS_MAX) return { line: 1, column: 1, text: TOO_MUCH };
    // Marks that stand for no character: of a document, of a broken bracket, of a plain value.
    const mark = token === "\x02" || token === "\x18" || token === "\x1f";
    if (token === "\x02" || token === "\x18") depth = 0;
    if (previous !== "\x1f") {
      if (token === "[" || token === "{") depth += 1;
      if (token === "]" || token === "}") depth -= 1;
    }
    if (depth > DEPTH_MAX) return { ...placeOf(text, offset), text: TOO_DEEP };
    if (depth < 0)
      return { ...placeOf(text, offset), text: "a bracket is closed that was not opened" };
    if (!mark) offset += token.length;
    previous = token;
  }
  return undefined;
}

function placeOf(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: offset - lineStart + 1 };
}

type At = (offset: number) => Position;
type YamlDocument = Document.Parsed<ParsedNode, true>;

function readDocument(document: YamlDocument, at: At): ParsedDocument | undefined {
  const [fault] = [...document.errors, ...document.warnings];
  if (fault !== undefined) return { problem: { ...at(fault.pos[0]), text: faultText(fault) } };
  if (document.contents === null) return undefined;
  const inspection = inspect(document.contents);
  if (inspection.fault !== undefined) {
    const { node, text } = inspection.fault;
    return { problem: { ...at(node.range?.[0] ?? 0), text } };
  }
  const unresolved = inspection.aliases.find((alias) => alias.resolve(document) === undefined);
  if (unresolved !== undefined) {
    const text = `the alias *${unresolved.source} has no anchor &${unresolved.source} before it`;
    return { problem: { ...at(unresolved.range?.[0] ?? 0), text } };
  }
  const value = expand(document);
  if (value === EXCESS) return { problem: { ...at(document.range[0]), text: TOO_MANY } };
  if (value === null) return undefined;
  return { value, locate: (path, onKey) => at(offsetOf(document, path, onKey)) };
}

const TOO_DEEP = `is nested deeper than ${DEPTH_MAX} levels`;
const TOO_MUCH = `has more than ${TOKENS_MAX} words and marks; make several files of it`;
const TOO_MANY = "its aliases make too much of it; write the values out";
const EXCESS = Symbol("excess");

interface Inspection {
  readonly aliases: Extract<Node, { source: string; resolve: unknown }>[];
  fault?: { readonly node: Node; readonly text: string };
}

/** Looks at every node once, aliases not followed. Iterative: the text decides how deep it goes. */
function inspect(root: Node): Inspection {
  const found: Inspection = { aliases: [] };
  const left: { node: Node; depth: number }[] = [{ node: root, depth: 1 }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { node, depth } = next;
    const text = depth > DEPTH_MAX ? TOO_DEEP : nodeFault(node);
    if (text !== undefined) return { ...found, fault: { node, text } };
    if (isAlias(node)) found.aliases.push(node);
    if (found.aliases.length > ALIASES_MAX) return { ...found, fault: { node, text: TOO_MANY } };
    const repeated = isMap(node) ? repeatedKey(node.items) : undefined;
    if (repeated !== undefined) return { ...found, fault: repeated };
    for (const inner of childrenOf(node)) left.push({ node: inner, depth: depth + 1 });
  }
  return found;
}

/** Last first, so that what comes first in the text is looked at first. */
function childrenOf(node: Node): Node[] {
  if (isSeq(node)) return (node.items as (Node | null)[]).filter((each) => each !== null).reverse();
  if (!isMap(node)) return [];
  return node.items.flatMap(({ value }) => (value ? [value as Node] : [])).reverse();
}

function nodeFault(node: Node): string | undefined {
  if (!isScalar(node) || typeof node.value !== "number") return undefined;
  if (!Number.isFinite(node.value)) return "is no number that JSON knows; put it in quotes";
  if (Number.isInteger(node.value) && !Number.isSafeInteger(node.value)) {
    return "the number is too large to be kept exactly; put it in quotes";
  }
  return undefined;
}

function repeatedKey(items: readonly { key: unknown }[]) {
  const seen = new Set<unknown>();
  for (const { key } of items) {
    if (!isScalar(key) || key.value === "<<") continue;
    if (seen.has(key.value)) {
      return { node: key, text: `the key ${key.value} is written twice; remove one` };
    }
    seen.add(key.value);
  }
  return undefined;
}

/** The document as plain JSON without shared parts, or EXCESS if aliases blow it up. */
function expand(document: YamlDocument): unknown {
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: ALIASES_MAX });
  } catch (error) {
    if (error instanceof ReferenceError) return EXCESS;
    throw error;
  }
  const left: { each: unknown; depth: number }[] = [{ each: value, depth: 1 }];
  let count = 0;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    count += 1;
    if (count > VALUES_MAX || next.depth > DEPTH_MAX) return EXCESS;
    if (typeof next.each !== "object" || next.each === null) continue;
    for (const inner of Object.values(next.each)) {
      left.push({ each: inner, depth: next.depth + 1 });
    }
  }
  return JSON.parse(JSON.stringify(value)) as unknown;
}

function offsetOf(document: YamlDocument, path: FieldPath, onKey: boolean): number {
  let node: Node | null = document.contents;
  let offset = node?.range?.[0] ?? 0;
  for (const [index, step] of path.entries()) {
    if (isAlias(node)) node = node.resolve(document) ?? null;
    let key: Node | undefined;
    if (isMap(node)) {
      const pair = node.items.find((each) => isScalar(each.key) && each.key.value === step);
      key = pair?.key as Node | undefined;
      node = (pair?.value as Node | null | undefined) ?? null;
    } else {
      node = isSeq(node) ? ((node.items[Number(step)] as Node | undefined) ?? null) : null;
    }
    const last = index === path.length - 1;
    const target = (onKey && last) || node === null || isEmpty(node) ? (key ?? node) : node;
    offset = target?.range?.[0] ?? offset;
    if (node === null) break;
  }
  return offset;
}

/** A value left out has a place after its key, often on another line. */
function isEmpty(node: Node): boolean {
  return isScalar(node) && node.value === null && node.source === "";
}

function positionAt(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

/** The parser's complaint with the mend, where people meet it often. */
function faultText({ code, message }: YAMLError): string {
  if (code === "MISSING_CHAR" && message.includes("closing")) {
    return "a quote or bracket is opened but not closed";
  }
  if (code === "BAD_INDENT" && message.startsWith("Flow")) {
    return "a bracket is opened but not closed, or closed further left than it may be";
  }
  // What follows a colon is a piece of the text, which may be a secret.
  return faults[code] ?? `is not valid YAML: ${message.split(/[:\n]/)[0]}`;
}

const faults: { readonly [code: string]: string } = {
  TAB_AS_INDENT: "a tab indents this line; use spaces",
  BAD_INDENT: "this line is not indented like those it belongs to; align it",
  BLOCK_AS_IMPLICIT_KEY: 'a value holds ": "; put the value in quotes',
  MISSING_CHAR: 'a ":" is missing after a key',
  MULTILINE_IMPLICIT_KEY: 'a key goes over several lines; is a ":" missing after it?',
  BAD_SCALAR_START: "a value cannot begin with this character; put the value in quotes",
  BAD_DQ_ESCAPE: "an unknown escape in double quotes; use single quotes, or write \\\\",
  NON_STRING_KEY: "a key is no text; put a template such as {{ … }} in quotes",
  RESOURCE_EXHAUSTION: TOO_DEEP,
  TAG_RESOLVE_FAILED: "a tag is not known; remove the word that begins with !",
};
