import type { TerraformSpec, VarsReference } from "../api/terraform.ts";
import { type InputReader, InputTrouble } from "./input-reader.ts";
import { readValues } from "./input-values.ts";

/** `vars`, over them `values`, over these `varsFrom`: later entries over earlier ones. */
export async function readVariables(spec: TerraformSpec, reader: InputReader) {
  const variables: Record<string, unknown> = {};
  for (const [index, variable] of (spec.vars ?? []).entries()) {
    const field = `spec.vars[${index}] (${variable.name})`;
    if (variable.valueFrom === undefined) {
      variables[variable.name] = variable.value ?? null;
      continue;
    }
    const value = await reader.single(variable.valueFrom, field);
    if (value !== undefined) variables[variable.name] = value;
  }
  const values = await readValues(spec, reader);
  if (values !== undefined) variables.values = values;
  for (const [index, from] of (spec.varsFrom ?? []).entries()) {
    Object.assign(variables, await readVarsFrom(from, `spec.varsFrom[${index}]`, reader));
  }
  return variables;
}

async function readVarsFrom(from: VarsReference, field: string, reader: InputReader) {
  const optional = from.optional ?? false;
  const data = await reader.data(from, { field, optional });
  if (data === undefined) return {};
  const asked = { field: `${field}.varsKeys`, optional };
  const wanted = (from.varsKeys ?? []).map((text) => parseVarsKey(text, asked.field));
  if (wanted.length === 0) wanted.push(...[...data.keys()].map((key) => ({ key, name: key })));
  const found: Record<string, string> = {};
  for (const { key, name } of wanted) {
    const value = data.get(key);
    if (value !== undefined) found[name] = reader.taken(from.kind, value);
    else if (!optional) throw reader.missing(from, key, asked);
  }
  return found;
}

/** `key` or `key:newName`. */
function parseVarsKey(text: string, field: string): { key: string; name: string } {
  const [key = "", name = key, ...more] = text.split(":");
  if (key === "" || name === "" || more.length > 0) {
    throw new InputTrouble(`${field}: "${text}" is no key; write "key" or "key:newName"`);
  }
  return { key, name };
}
