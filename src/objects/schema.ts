import { parseDuration } from "../api/duration.ts";
import { type FieldPath, fieldText } from "../api/field-path.ts";
import { errorAt, type Problem, warningAt } from "./problem.ts";
import { mapOf } from "./validity.ts";
import { nearest, oneOf, quote } from "./words.ts";

/**
 * Holds a value against one of our schemas. TypeBox's own checker knows the same keywords, but
 * not which unknown field was meant, nor how to say a mend; a test holds the two together.
 */
export interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
}

/** Every keyword that is obeyed here, and those that say nothing about a value. */
export const schemaKeywords: readonly string[] = [
  ...["type", "properties", "required", "patternProperties", "items", "anyOf", "enum", "const"],
  ...["minLength", "maxLength", "pattern", "format"],
  ...["description", "x-kubernetes-preserve-unknown-fields"],
];

/** No more are looked for: a text may be all faults, and a person mends some at a time. */
export const PROBLEMS_MAX = 20;

/** What is wrong with `value`, in the order of its fields; the first PROBLEMS_MAX. */
export function schemaProblems(schema: Schema, value: unknown): Problem[] {
  const run: Run = { root: schema, problems: [] };
  check({ schema, value, path: [] }, run);
  return run.problems;
}

interface Place {
  readonly schema: Schema;
  readonly value: unknown;
  readonly path: FieldPath;
}
interface Run {
  readonly root: Schema;
  readonly problems: Problem[];
}

function check(place: Place, run: Run): void {
  const { schema, value, path } = place;
  if (run.problems.length >= PROBLEMS_MAX) return;
  if (schema.anyOf !== undefined) checkChoices(place, run);
  else if (schema.const !== undefined) {
    if (value !== schema.const) run.problems.push(errorAt(path, `must be ${schema.const}`));
  } else if (schema.type !== undefined && !hasType(schema.type, value)) {
    run.problems.push(typeProblem(place));
  } else if (typeof value === "string") run.problems.push(...textProblems(place, value));
  else if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) {
      check({ schema: schema.items ?? {}, value: each, path: [...path, index] }, run);
    }
  } else if (schema.type === "object") checkFields(place, run);
}

function hasType(type: string, value: unknown): boolean {
  switch (type) {
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "null":
      return value === null;
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}

function checkFields({ schema, value, path }: Place, run: Run): void {
  const properties = schema.properties ?? {};
  const others = Object.values(schema.patternProperties ?? {})[0];
  const required = schema.required ?? [];
  const map = mapOf(value);
  for (const [key, each] of Object.entries(map)) {
    if (run.problems.length >= PROBLEMS_MAX) return;
    if (each === undefined) continue;
    const known = Object.hasOwn(properties, key) ? properties[key] : others;
    const inner = [...path, key];
    if (known === undefined) run.problems.push(unknownField(inner, properties, run.root));
    else if (each === null && !required.includes(key) && !allowsNull(known)) {
      const text = "has no value and is ignored; give it one or remove it";
      run.problems.push(warningAt(inner, text));
    } else check({ schema: known, value: each, path: inner }, run);
  }
  for (const key of required) {
    if (map[key] === undefined) run.problems.push(missing([...path, key], properties[key] ?? {}));
  }
}

function textProblems({ schema, path }: Place, text: string): Problem[] {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema;
  if (schema.enum !== undefined && !schema.enum.includes(text)) {
    const meant = nearest(text, schema.enum);
    const mend = meant === undefined ? "" : `; did you mean ${meant}?`;
    return [errorAt(path, `${quote(text)} is not one of ${schema.enum.join(", ")}${mend}`)];
  }
  if (text.length < minLength) return [errorAt(path, "must not be empty")];
  if (text.length > maxLength) {
    return [errorAt(path, `is longer than ${maxLength} characters; shorten it`)];
  }
  if (schema.format === "go-duration" && parseDuration(text) === undefined) {
    return [errorAt(path, `${quote(text)} is not a duration; ${DURATION_MEND}`)];
  }
  if (schema.pattern !== undefined && !new RegExp(schema.pattern).test(text)) {
    return [errorAt(path, `${quote(text)} does not match ${schema.pattern}`)];
  }
  return [];
}

function checkChoices({ schema, value, path }: Place, { root, problems }: Run): void {
  const choices = schema.anyOf ?? [];
  const outcomes = choices.map((choice) => {
    const run: Run = { root, problems: [] };
    check({ schema: choice, value, path }, run);
    return run.problems;
  });
  if (outcomes.some((each) => each.length === 0)) return;
  const constants = choices.flatMap((choice) => choice.const ?? []);
  if (constants.length < choices.length) problems.push(...(outcomes[0] ?? []));
  else problems.push(errorAt(path, `must be ${oneOf(constants)}`));
}

const DURATION_MEND = "write a number with a unit such as 5m";

/** Shows no value, which may be a secret, unless the field can hold none. */
function typeProblem({ schema, value, path }: Place): Problem {
  if (value === null) return errorAt(path, "has no value; give it one");
  if (schema.format === "go-duration" && typeof value === "number") {
    return errorAt(path, `${value} is not a duration; ${DURATION_MEND}`);
  }
  switch (schema.type) {
    case "string":
      return errorAt(path, `must be text, not ${typeName(value)}${isPlain(value) ? QUOTES : ""}`);
    case "boolean":
      return errorAt(path, `must be true or false, not ${typeName(value)}${unquoted(value)}`);
    case "integer":
      return errorAt(path, `must be a whole number, not ${typeName(value)}`);
    case "array":
      return errorAt(path, `must be a list, not ${typeName(value)}; begin each item with "- "`);
    default:
      return errorAt(path, `must be a map of fields, not ${typeName(value)}`);
  }
}

const QUOTES = "; put it in quotes";

function unquoted(value: unknown): string {
  return value === "true" || value === "false" ? "; remove the quotes" : "";
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "boolean") return `${value}`;
  if (typeof value === "number") return Number.isInteger(value) ? "a number" : "a fraction";
  return typeof value === "string" ? "text" : "a map";
}

function isPlain(value: unknown): boolean {
  return typeof value === "number" || typeof value === "boolean";
}

function missing(path: FieldPath, schema: Schema): Problem {
  if (schema.format === "go-duration") {
    return errorAt(path, "is missing; add a duration such as 5m");
  }
  const mend = schema.enum === undefined ? "add it" : `add ${oneOf(schema.enum)}`;
  return errorAt(path, `is missing; ${mend}`);
}

/** A field that no schema knows is a typo, or a field put in the wrong place. */
function unknownField(
  path: FieldPath,
  siblings: Readonly<Record<string, Schema>>,
  root: Schema,
): Problem {
  const key = String(path.at(-1));
  const sibling = nearest(key, Object.keys(siblings));
  const meant =
    sibling === undefined ? elsewhere(root, key) : fieldText([...path.slice(0, -1), sibling]);
  const mend = meant === undefined ? "remove it" : `did you mean ${meant}?`;
  const text = `unknown field ${fieldText(path)}; ${mend}`;
  return { severity: "error", path, text, onKey: true };
}

/** The first field of that very name outside of status, nearest to the top. */
function elsewhere(root: Schema, key: string): string | undefined {
  let level: { schema: Schema; path: string }[] = [{ schema: root, path: "" }];
  while (level.length > 0) {
    const next: typeof level = [];
    for (const { schema, path } of level) {
      for (const [name, inner] of Object.entries(schema.properties ?? {})) {
        if (path === "" && name === "status") continue;
        const here = path === "" ? name : `${path}.${name}`;
        if (name.toLowerCase() === key.toLowerCase()) return here;
        next.push({ schema: inner.items ?? inner, path: inner.items ? `${here}[]` : here });
      }
    }
    level = next;
  }
  return undefined;
}

function allowsNull(schema: Schema): boolean {
  if (schema.anyOf !== undefined) return schema.anyOf.some(allowsNull);
  return schema.type === undefined ? schema.const === undefined : schema.type === "null";
}
