import type { ConfigMap, Secret } from "../api/core.ts";
import { keyText } from "../api/kinds.ts";
import { REASON, type Reason } from "../api/names.ts";
import type { EnvVar, Terraform, TerraformSpec, VarsReference } from "../api/terraform.ts";
import type { Call } from "../ports/call.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import { canonicalJson, sha256Hex } from "./canonical.ts";

/** What an object hands to its runs besides the artifact. Holds secrets; never logged. */
export interface Inputs {
  /** JSON text of generated.auto.tfvars.json. */
  readonly variables: string;
  readonly env: Readonly<Record<string, string>>;
  /** Values that came from Secrets, and the lines of those that have several. */
  readonly sensitive: readonly string[];
  /** sha256 hex over all of it and the fields of the spec that shape a run. */
  readonly digest: string;
}

export type InputsResult =
  | { readonly state: "resolved"; readonly inputs: Inputs }
  /** The message names field, object and key and how to mend it; it holds no value. */
  | { readonly state: "failed"; readonly reason: Reason; readonly message: string };

/** Reads Secrets and ConfigMaps. Fails with StoreError only if the store cannot be read. */
export async function resolveInputs(
  terraform: Terraform,
  store: ObjectStore,
  call: Call,
): Promise<InputsResult> {
  const namespace = terraform.metadata.namespace ?? "default";
  const reader = new Reader(namespace, store, call);
  const { spec } = terraform;
  try {
    const variables = canonicalJson(await readVariables(spec, reader));
    const env = await readEnv(spec.runnerPodTemplate?.spec?.env ?? [], reader);
    const digest = sha256Hex(canonicalJson({ variables, env, ...shapeOf(spec) }));
    const sensitive = [...reader.sensitive].sort((a, b) => b.length - a.length);
    return { state: "resolved", inputs: { variables, env, sensitive, digest } };
  } catch (error) {
    if (!(error instanceof InputTrouble)) throw error;
    return { state: "failed", reason: error.reason, message: error.message };
  }
}

/** Names of the Secrets and ConfigMaps whose change changes the inputs. */
export function referencedInputs(terraform: Terraform): {
  readonly Secret: readonly string[];
  readonly ConfigMap: readonly string[];
} {
  const names = { Secret: new Set<string>(), ConfigMap: new Set<string>() };
  for (const from of terraform.spec.varsFrom ?? []) names[from.kind].add(from.name);
  const single = [
    ...(terraform.spec.vars ?? []),
    ...(terraform.spec.runnerPodTemplate?.spec?.env ?? []),
  ];
  for (const { valueFrom } of single) {
    if (valueFrom?.secretKeyRef) names.Secret.add(valueFrom.secretKeyRef.name);
    if (valueFrom?.configMapKeyRef) names.ConfigMap.add(valueFrom.configMapKeyRef.name);
  }
  return { Secret: [...names.Secret], ConfigMap: [...names.ConfigMap] };
}

/** Fields besides variables and environment that change what a run does. */
function shapeOf(spec: TerraformSpec) {
  return {
    path: spec.path ?? "",
    workspace: spec.workspace ?? "default",
    backend: spec.backendConfig?.customConfiguration ?? "",
  };
}

/** `vars` first, then `varsFrom` over them, later entries over earlier ones. */
async function readVariables(spec: TerraformSpec, reader: Reader) {
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
  for (const [index, from] of (spec.varsFrom ?? []).entries()) {
    Object.assign(variables, await readVarsFrom(from, `spec.varsFrom[${index}]`, reader));
  }
  return variables;
}

async function readVarsFrom(from: VarsReference, field: string, reader: Reader) {
  const optional = from.optional ?? false;
  const data = await reader.data(from.kind, from.name, { field, optional });
  if (data === undefined) return {};
  const wanted = (from.varsKeys ?? []).map((text) => parseVarsKey(text, `${field}.varsKeys`));
  if (wanted.length === 0) wanted.push(...[...data.keys()].map((key) => ({ key, name: key })));
  const found: Record<string, string> = {};
  for (const { key, name } of wanted) {
    const value = data.get(key);
    if (value !== undefined) {
      found[name] = reader.taken(from.kind, value);
    } else if (!optional) {
      throw missingKey(
        { kind: from.kind, name: from.name, key },
        `${field}.varsKeys`,
        reader.where,
      );
    }
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

/**
 * Names that Nigari sets itself or that would take a run out of its hands; tofu-controller refuses
 * the first five kinds too.
 */
const REFUSED_ENV = new RegExp(
  [
    "^(TF_VAR_.*|TF_CLI_ARGS.*|TF_LOG.*|TF_REATTACH_PROVIDERS|TF_INPUT|TF_IN_AUTOMATION",
    "|TF_WORKSPACE|TF_APPEND_USER_AGENT|TF_DISABLE_PLUGIN_TLS|TF_SKIP_PROVIDER_VERIFY",
    "|TF_DATA_DIR|NIGARI_.*)$",
  ].join(""),
);

async function readEnv(variables: readonly EnvVar[], reader: Reader) {
  const env: Record<string, string> = {};
  for (const [index, { name, value, valueFrom }] of variables.entries()) {
    const field = `spec.runnerPodTemplate.spec.env[${index}] (${name})`;
    if (!/^[A-Za-z_][A-Za-z0-9_.-]*$/.test(name)) {
      throw new InputTrouble(`${field}: this is no name of a variable`, REASON.execInitFailed);
    }
    if (REFUSED_ENV.test(name)) {
      const wrong = `manual setting of env var "${name}" detected`;
      const mend = name.startsWith("TF_VAR_") ? "use spec.vars" : "remove it";
      const message = `${field}: error setting env for Terraform: ${wrong}; ${mend}`;
      throw new InputTrouble(message, REASON.execInitFailed);
    }
    const read = valueFrom === undefined ? value : await reader.single(valueFrom, field);
    if (read !== undefined) env[name] = valueFrom === undefined ? expand(read, env) : read;
  }
  return env;
}

/** `$(NAME)` of a variable defined before, as Kubernetes does it; `$$(NAME)` is meant literally. */
function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$(\$?)\(([A-Za-z_][A-Za-z0-9_.-]*)\)/g, (whole, dollar, name: string) =>
    dollar === "$" ? `$(${name})` : (env[name] ?? whole),
  );
}

type ValueSource = NonNullable<EnvVar["valueFrom"]>;
type Kind = "Secret" | "ConfigMap";

/** Trouble of the object, not of the machine. */
class InputTrouble extends Error {
  override readonly name = "InputTrouble";
  readonly reason: Reason;
  constructor(message: string, reason: Reason = REASON.varsGenerationFailed) {
    super(message);
    this.reason = reason;
  }
}

function missingKey(at: { kind: Kind; name: string; key: string }, field: string, where: string) {
  return new InputTrouble(
    `${field}: ${at.kind} ${where}/${at.name} has no key "${at.key}"; ` +
      "add the key to it, correct the name, or set optional: true",
  );
}

/** Reads each Secret and ConfigMap once a pass, and remembers which values are secret. */
class Reader {
  readonly where: string;
  readonly sensitive = new Set<string>();
  readonly #store: ObjectStore;
  readonly #call: Call;
  readonly #read = new Map<string, ReadonlyMap<string, string> | undefined>();

  constructor(namespace: string, store: ObjectStore, call: Call) {
    this.where = namespace;
    this.#store = store;
    this.#call = call;
  }

  /** One key of one object; undefined if it lacks and may. */
  async single(from: ValueSource, field: string): Promise<string | undefined> {
    const kind = from.secretKeyRef === undefined ? "ConfigMap" : "Secret";
    const ref = from.secretKeyRef ?? from.configMapKeyRef;
    if (ref === undefined) {
      const message = "only secretKeyRef and configMapKeyRef can be read; use one of them or value";
      throw new InputTrouble(`${field}.valueFrom: ${message}`);
    }
    const optional = ref.optional ?? false;
    const at = `${field}.valueFrom`;
    const value = (await this.data(kind, ref.name, { field: at, optional }))?.get(ref.key);
    if (value !== undefined) return this.taken(kind, value);
    if (optional) return undefined;
    throw missingKey({ kind, name: ref.name, key: ref.key }, at, this.where);
  }

  /** Everything in one object; undefined if it lacks and may. */
  async data(kind: Kind, name: string, how: { field: string; optional: boolean }) {
    const id = `${kind}/${name}`;
    if (!this.#read.has(id)) {
      const ref = { kind, namespace: this.where, name };
      this.#read.set(id, decoded(await this.#store.get(ref, this.#call)));
    }
    const data = this.#read.get(id);
    if (data === undefined && !how.optional) {
      throw new InputTrouble(
        `${how.field}: ${kind} ${keyText({ namespace: this.where, name })} does not exist; ` +
          "create it, correct the name, or set optional: true",
      );
    }
    return data;
  }

  /** Notes a value as handed on. */
  taken(kind: Kind, value: string): string {
    if (kind === "Secret") for (const part of secretParts(value)) this.sensitive.add(part);
    return value;
  }
}

/** Log lines are masked one by one, so the longer lines of a value count by themselves. */
function secretParts(value: string): string[] {
  const lines = value.split("\n").map((line) => line.trim());
  return [
    value,
    value.trim(),
    ...lines.filter((line) => lines.length > 1 && line.length >= 8),
  ].filter((part) => part !== "");
}

function decoded(object: Secret | ConfigMap | undefined): ReadonlyMap<string, string> | undefined {
  if (object === undefined) return undefined;
  const plain = object.kind === "ConfigMap" ? (object.data ?? {}) : {};
  const base64 = object.kind === "ConfigMap" ? (object.binaryData ?? {}) : (object.data ?? {});
  return new Map([
    ...Object.entries(base64).map(([key, value]) => [key, fromBase64(value)] as const),
    ...Object.entries(plain),
  ]);
}

function fromBase64(text: string): string {
  return Buffer.from(text, "base64").toString("utf8");
}
