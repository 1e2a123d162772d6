/** A JSON schema as TypeBox makes them, as far as ours go. */
export interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly [keyword: string]: unknown;
}

/** Keywords that mean the same in a structural schema. */
const SAME = [
  ...["type", "description", "enum", "minLength", "maxLength", "pattern"],
  "x-kubernetes-preserve-unknown-fields",
] as const;

/**
 * Fields that our own checks require and tofu-controller's definition does not. An object that is
 * stored without one must still take a patch and lose its finalizer, so the API server lets it be
 * and the engine says what is missing.
 */
export const requiredOnlyHere: ReadonlySet<string> = new Set([
  "spec.vars[].valueFrom.secretKeyRef.name",
  "spec.vars[].valueFrom.configMapKeyRef.name",
  "spec.runnerPodTemplate.spec.env[].valueFrom.secretKeyRef.name",
  "spec.runnerPodTemplate.spec.env[].valueFrom.configMapKeyRef.name",
  "spec.cliConfigSecretRef.name",
  "spec.webhooks[].url",
]);

/** Our schema as a structural one (apiextensions.k8s.io/v1). `path` is that of the value. */
export function structural(schema: Schema, path: string): Record<string, unknown> {
  if (schema.anyOf !== undefined) return choice(schema, path);
  const made: Record<string, unknown> = {};
  for (const keyword of SAME) {
    if (schema[keyword] !== undefined) made[keyword] = schema[keyword];
  }
  const values = Object.values(schema.patternProperties ?? {})[0];
  if (values !== undefined) made.additionalProperties = structural(values, `${path}.*`);
  if (schema.items !== undefined) made.items = structural(schema.items, `${path}[]`);
  if (schema.properties !== undefined) Object.assign(made, fields(schema, path));
  return made;
}

function fields(schema: Schema, path: string): Record<string, unknown> {
  const properties = Object.entries(schema.properties ?? {});
  const required = (schema.required ?? []).filter((name) => {
    return !requiredOnlyHere.has(`${path}.${name}`);
  });
  return {
    properties: Object.fromEntries(
      properties.map(([name, each]) => [name, structural(each, `${path}.${name}`)]),
    ),
    ...(required.length === 0 ? {} : { required }),
  };
}

/** Only choices between fixed words occur: an enum says the same. */
function choice(schema: Schema, path: string): Record<string, unknown> {
  const words = (schema.anyOf ?? []).map((each) => each.const);
  if (!words.every((word) => typeof word === "string")) {
    throw new Error(`${path}: no structural schema for this choice`);
  }
  return { type: "string", enum: words };
}
