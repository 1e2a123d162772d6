import type { TSchema } from "typebox";
import { Check, Default, Errors } from "typebox/value";

/** A request that cannot be understood. */
export class BadRequest extends Error {
  override readonly name = "BadRequest";
}

/** Throws BadRequest, which names the field, unless the value fits. */
export function mustFit(what: string, schema: TSchema, value: unknown): void {
  const fault = faultIn(schema, value);
  if (fault !== undefined) throw new BadRequest(`${what}${fault}`);
}

/** An answer of an engine that may be older: with the defaults of fields that came later. */
export function completed(schema: TSchema, value: unknown): unknown {
  return Default(schema, value);
}

/** The first field that does not fit, and why; undefined if all do. */
export function faultIn(schema: TSchema, value: unknown): string | undefined {
  if (Check(schema, value)) return undefined;
  const faults = Errors(schema, value);
  const fault = faults.find(({ keyword }) => keyword !== "boolean") ?? faults[0];
  if (fault === undefined) return ": does not fit";
  const field = fault.instancePath.replaceAll("/", ".").slice(0, 200);
  return `${field}: ${textOf(fault)}`;
}

interface Fault {
  readonly keyword: string;
  readonly params: object;
  readonly message: string;
}

function textOf({ keyword, params, message }: Fault): string {
  const list = Object.values(params).flat().map(String).join(", ").slice(0, 200);
  if (keyword === "enum") return `must be one of ${list}`;
  if (keyword === "additionalProperties") return `has no field ${list}`;
  if (keyword === "required") return `lacks ${list}`;
  return message;
}

type Fields = Readonly<Record<string, TSchema>>;

/**
 * The query of a request as its schema types it. Throws BadRequest for a parameter that is not
 * known, that is given twice, or that does not fit.
 */
export function readQuery(schema: TSchema, given: URLSearchParams): Record<string, unknown> {
  const fields = fieldsOf(schema);
  const query: Record<string, unknown> = {};
  for (const name of new Set(given.keys())) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined) {
      const known = Object.keys(fields).join(", ");
      const mend = known === "" ? "this path takes none" : `known here: ${known}`;
      throw new BadRequest(`Query has no parameter ${JSON.stringify(name.slice(0, 100))}; ${mend}`);
    }
    const texts = given.getAll(name);
    if (typeOf(field) === "array") query[name] = texts;
    else if (texts.length > 1) throw new BadRequest(`Query names ${name} more than once`);
    else query[name] = typed(typeOf(field), texts[0] ?? "");
  }
  mustFit("Query", schema, query);
  return query;
}

/** The same the other way round: parameters in the order of their names in the schema. */
export function writeQuery(query: Readonly<Record<string, unknown>>): [string, string][] {
  return Object.entries(query).flatMap(([name, value]): [string, string][] => {
    if (value === undefined || value === false) return [];
    if (Array.isArray(value)) return value.map((each) => [name, String(each)]);
    return [[name, String(value)]];
  });
}

function fieldsOf(schema: TSchema): Fields {
  return (schema as { readonly properties?: Fields }).properties ?? {};
}

function typeOf(schema: TSchema): unknown {
  return (schema as { readonly type?: unknown }).type;
}

/** A text that is no such value stays a text, which then does not fit. */
function typed(type: unknown, text: string): unknown {
  if (type === "integer" && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (type === "boolean" && text === "true") return true;
  if (type === "boolean" && text === "false") return false;
  return text;
}
