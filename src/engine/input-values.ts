import type { TerraformSpec } from "../api/terraform.ts";
import { fill, soleValue } from "../template/fill.ts";
import { parseTemplate, TemplateError } from "../template/parse.ts";
import { canonicalJson } from "./canonical.ts";
import { type InputReader, InputTrouble } from "./input-reader.ts";

/** `$` and a pair of braces, so that Helm and Flux leave these templates to us. */
const DELIMITERS = { open: "$\u007b{", close: "}}" } as const;
/** Beside a key of an outputs Secret: its type, as JSON. A key without one is a text. */
const TYPE_SUFFIX = "__type";

/**
 * spec.values with what spec.readInputsFromSecrets names filled in; undefined if there are none.
 * Each text is a template by itself, so no value can break out of its place. A text that is one
 * template and nothing else, and comes to a list or a map, becomes that list or map.
 */
export async function readValues(spec: TerraformSpec, reader: InputReader): Promise<unknown> {
  const data = await readInputs(spec, reader);
  if (spec.values === undefined || spec.values === null) return undefined;
  return filled(spec.values, "spec.values", data);
}

function filled(value: unknown, path: string, data: Record<string, unknown>): unknown {
  if (typeof value === "string") return filledText(value, path, data);
  if (Array.isArray(value)) return value.map((each, at) => filled(each, `${path}[${at}]`, data));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      const name = filledText(key, `${path} (a key)`, data);
      return [String(name), filled(each, `${path}.${key}`, data)];
    }),
  );
}

function filledText(text: string, path: string, data: Record<string, unknown>): unknown {
  if (!text.includes(DELIMITERS.open)) return text;
  try {
    const nodes = parseTemplate(text, DELIMITERS);
    const sole = soleValue(nodes, data);
    const whole = typeof sole?.value === "object" && sole.value !== null;
    return whole ? sole.value : fill(nodes, data);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const mend = "see that the Secret in spec.readInputsFromSecrets has what it names";
    throw new InputTrouble(`${path}: ${error.message}; ${mend}`);
  }
}

async function readInputs(spec: TerraformSpec, reader: InputReader) {
  const inputs: Record<string, Record<string, unknown>> = {};
  for (const [index, { name, as }] of (spec.readInputsFromSecrets ?? []).entries()) {
    const field = `spec.readInputsFromSecrets[${index}]`;
    const data = await reader.data({ kind: "Secret", name }, { field, optional: undefined });
    const texts = new Map(
      [...(data ?? [])].map(([key, value]) => [key, reader.taken("Secret", value)]),
    );
    const values: Record<string, unknown> = {};
    for (const [key, text] of texts) {
      if (key.endsWith(TYPE_SUFFIX) && texts.has(key.slice(0, -TYPE_SUFFIX.length))) continue;
      values[key] = typed(
        text,
        texts.get(key + TYPE_SUFFIX),
        `${field}: key "${key}" of Secret ${name}`,
      );
    }
    inputs[as] = values;
  }
  return inputs;
}

/** The value of an output, as the Secret of outputs holds it. */
function typed(text: string, type: string | undefined, what: string): unknown {
  if (type === undefined || type === '"string"') return text;
  try {
    const value: unknown = JSON.parse(text);
    const kind: unknown = JSON.parse(type);
    if (!Array.isArray(kind) || kind[0] !== "set" || !Array.isArray(value)) return value;
    return [...new Map(value.map((each) => [canonicalJson(each), each])).values()];
  } catch {
    throw new InputTrouble(`${what} is not the JSON that its ${TYPE_SUFFIX} says; write it anew`);
  }
}
