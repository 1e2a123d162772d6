import { TemplateError } from "./parse.ts";

/** Characters; no template of a person comes near it. */
export const TEXT_MAX = 16 << 20;
export const TOO_LONG = "the text grows without bounds";

export type TemplateFunction = (...args: unknown[]) => unknown;

/** As Go prints it. */
export function asText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(asText).join(" ")}]`;
  if (typeof value === "object") {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `map[${entries.map(([key, each]) => `${key}:${asText(each)}`).join(" ")}]`;
  }
  return String(value);
}

/** False are the empty ones: nothing, false, 0, and texts, lists and maps without content. */
export function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === "object" && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) throw new TemplateError("a text is missing");
  return asText(value);
}

function number(value: unknown): number {
  const found = typeof value === "string" ? Number(value) : value;
  if (typeof found === "number" && Number.isFinite(found)) return found;
  throw new TemplateError("a number is wanted where there is none");
}

function integer(value: unknown): number {
  return Math.trunc(typeof value === "boolean" ? Number(value) : number(value));
}

function list(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new TemplateError("a list is wanted where there is none");
}

function map(value: unknown): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new TemplateError("a map is wanted where there is none");
}

function get(from: unknown, key: unknown): unknown {
  if (Array.isArray(from)) {
    const at = integer(key);
    // The number may be somebody's secret, so it is not told.
    if (at < 0 || at >= from.length) throw new TemplateError("an index lies outside of a list");
    return from[at];
  }
  const found = map(from);
  return Object.hasOwn(found, text(key)) ? found[text(key)] : undefined;
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === "string" && typeof b === "string") return a < b ? -1 : a > b ? 1 : 0;
  return number(a) - number(b);
}

const VERB = /%(?<flags>[-0]*)(?<width>\d*)(?:\.(?<digits>\d+))?(?<verb>[vsdqtfxX%])/g;

/** The verbs of Go's fmt that texts are made with. */
function printf(format: unknown, ...values: unknown[]): string {
  let next = 0;
  const pieces = [...text(format).matchAll(VERB)].map(({ 0: { length }, index, groups = {} }) => {
    const { flags = "", width = "", digits, verb = "" } = groups;
    const place = { from: index, to: index + length };
    if (verb === "%") return { ...place, put: "%" };
    if (next >= values.length) throw new TemplateError("printf has too few values");
    const plain = formatted(verb, values[next++], digits);
    const wide = Math.min(Number(width), 10_000);
    const zeros = flags.includes("0") && !flags.includes("-");
    const put = flags.includes("-") ? plain.padEnd(wide) : plain.padStart(wide, zeros ? "0" : " ");
    return { ...place, put };
  });
  let out = "";
  let at = 0;
  for (const { from, to, put } of pieces) {
    out += text(format).slice(at, from) + put;
    at = to;
  }
  return out + text(format).slice(at);
}

function formatted(verb: string, value: unknown, digits: string | undefined): string {
  switch (verb) {
    case "d":
      return String(integer(value));
    case "f":
      return number(value).toFixed(Math.min(Number(digits ?? 6), 100));
    case "q":
      return JSON.stringify(text(value));
    case "x":
    case "X": {
      const hex =
        typeof value === "number"
          ? integer(value).toString(16)
          : Buffer.from(text(value)).toString("hex");
      return verb === "X" ? hex.toUpperCase() : hex;
    }
    default:
      return digits === undefined ? asText(value) : asText(value).slice(0, Number(digits));
  }
}

function indent(spaces: unknown, value: unknown): string {
  const before = " ".repeat(bounded(spaces));
  return text(value).replace(/^/gm, before);
}

/** No text or list is made longer than this by a number. */
function bounded(value: unknown): number {
  const found = integer(value);
  if (found >= 0 && found <= 100_000) return found;
  // Nor is this one told.
  throw new TemplateError("a number is below 0 or above 100000");
}

/** Functions of Go's text/template. */
const builtins: Record<string, TemplateFunction> = {
  and: (...args) => args.find((each) => !isTrue(each)) ?? args.at(-1),
  or: (...args) => args.find(isTrue) ?? args.at(-1),
  not: (value) => !isTrue(value),
  eq: (first, ...others) => others.some((each) => same(first, each)),
  ne: (a, b) => !same(a, b),
  lt: (a, b) => compare(a, b) < 0,
  le: (a, b) => compare(a, b) <= 0,
  gt: (a, b) => compare(a, b) > 0,
  ge: (a, b) => compare(a, b) >= 0,
  len: (value) => {
    if (typeof value === "string") return Buffer.byteLength(value);
    return Array.isArray(value) ? value.length : Object.keys(map(value)).length;
  },
  index: (from, ...keys) => keys.reduce(get, from),
  slice: (from, start = 0, end = undefined) => {
    const until = end === undefined ? undefined : integer(end);
    return typeof from === "string"
      ? from.slice(integer(start), until)
      : list(from).slice(integer(start), until);
  },
  print: (...args) => args.map(asText).join(""),
  println: (...args) => `${args.map(asText).join(" ")}\n`,
  printf,
  urlquery: (value) => encodeURIComponent(text(value)),
};

/** Those of Sprig that modules are made with. */
const sprig: Record<string, TemplateFunction> = {
  default: (other, value) => (isTrue(value) ? value : other),
  empty: (value) => !isTrue(value),
  coalesce: (...args) => args.find(isTrue),
  ternary: (yes, no, condition) => (isTrue(condition) ? yes : no),
  quote: (...args) => args.map((each) => JSON.stringify(text(each))).join(" "),
  squote: (...args) => args.map((each) => `'${text(each)}'`).join(" "),
  upper: (value) => text(value).toUpperCase(),
  lower: (value) => text(value).toLowerCase(),
  title: (value) => text(value).replace(/(^|\s)\S/g, (found) => found.toUpperCase()),
  trim: (value) => text(value).trim(),
  trimPrefix: (start, value) =>
    text(value).startsWith(text(start)) ? text(value).slice(text(start).length) : value,
  trimSuffix: (end, value) =>
    text(value).endsWith(text(end)) ? text(value).slice(0, -text(end).length || undefined) : value,
  replace: (from, to, value) => text(value).replaceAll(text(from), () => text(to)),
  contains: (part, value) => text(value).includes(text(part)),
  hasPrefix: (start, value) => text(value).startsWith(text(start)),
  hasSuffix: (end, value) => text(value).endsWith(text(end)),
  repeat: (count, value) => {
    if (bounded(count) * text(value).length > TEXT_MAX) throw new TemplateError(TOO_LONG);
    return text(value).repeat(bounded(count));
  },
  trunc: (length, value) => text(value).slice(0, bounded(length)),
  nospace: (value) => text(value).replaceAll(/\s/g, ""),
  indent,
  nindent: (spaces, value) => `\n${indent(spaces, value)}`,
  join: (between, values) => list(values).map(asText).join(text(between)),
  splitList: (between, value) => text(value).split(text(between)),
  toString: (value: unknown) => asText(value),
  toJson: (value) => JSON.stringify(value),
  toPrettyJson: (value) => JSON.stringify(value, undefined, 2),
  toRawJson: (value) => JSON.stringify(value),
  fromJson: (value) => parsed(text(value)),
  b64enc: (value) => Buffer.from(text(value)).toString("base64"),
  b64dec: (value) => Buffer.from(text(value), "base64").toString("utf8"),
  int: (value) => integer(value),
  float64: (value) => number(value),
  add: (...args) => args.reduce((sum: number, each) => sum + integer(each), 0),
  add1: (value) => integer(value) + 1,
  sub: (a, b) => integer(a) - integer(b),
  mul: (...args) => args.reduce((product: number, each) => product * integer(each), 1),
  div: (a, b) => Math.trunc(integer(a) / nonzero(b)),
  mod: (a, b) => integer(a) % nonzero(b),
  max: (...args) => Math.max(...args.map(integer)),
  min: (...args) => Math.min(...args.map(integer)),
  list: (...args) => args,
  tuple: (...args) => args,
  first: (values) => list(values)[0],
  last: (values) => list(values).at(-1),
  rest: (values) => list(values).slice(1),
  initial: (values) => list(values).slice(0, -1),
  append: (values, value) => [...list(values), value],
  prepend: (values, value) => [value, ...list(values)],
  concat: (...lists) => lists.flatMap(list),
  reverse: (values) => [...list(values)].reverse(),
  compact: (values) => list(values).filter(isTrue),
  uniq: (values) =>
    list(values).filter((each, at, all) => all.findIndex((other) => same(each, other)) === at),
  has: (value, values) => list(values).some((each) => same(each, value)),
  sortAlpha: (values) => list(values).map(asText).sort(),
  until: (count) => Array.from({ length: bounded(count) }, (_, at) => at),
  dict: (...args) => {
    const pairs = Array.from({ length: Math.ceil(args.length / 2) }, (_, at) => 2 * at);
    return Object.fromEntries(pairs.map((at) => [text(args[at]), args[at + 1] ?? ""]));
  },
  get: (from, key) => get(map(from), key) ?? "",
  hasKey: (from, key) => Object.hasOwn(map(from), text(key)),
  keys: (from) => Object.keys(map(from)),
  values: (from) => Object.values(map(from)),
  merge: (...maps) =>
    Object.fromEntries(maps.reverse().flatMap((each) => Object.entries(map(each)))),
  kindIs: (kind, value) => kindOf(value) === kind,
};

function nonzero(value: unknown): number {
  const found = integer(value);
  if (found === 0) throw new TemplateError("a division by zero");
  return found;
}

function parsed(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    throw new TemplateError("a text is no JSON");
  }
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "slice";
  if (typeof value === "number") return "float64";
  if (typeof value === "boolean") return "bool";
  return typeof value === "object" ? "map" : typeof value;
}

/** By name. A name that is not here is an error of the template. */
export const functions: Readonly<Record<string, TemplateFunction>> = { ...builtins, ...sprig };
