import type { Reason } from "../api/names.ts";
import type { Terraform } from "../api/terraform.ts";
import type { Call } from "../ports/call.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import type { OrderedFile } from "../ports/runner.ts";
import type { StateDoor } from "../ports/state.ts";
import { type Backend, backendOf, readBackendConfig } from "./backend.ts";
import { canonicalJson } from "./canonical.ts";
import { readEnv } from "./input-environment.ts";
import { readCliConfig, readFiles } from "./input-files.ts";
import { InputReader, InputTrouble, keyedDigest } from "./input-reader.ts";
import { readVariables } from "./input-variables.ts";

/** What an object hands to its runs besides the artifact. Holds secrets; never logged. */
export interface Inputs {
  /** JSON text of generated.auto.tfvars.json. */
  readonly variables: string;
  readonly env: Readonly<Record<string, string>>;
  readonly backend: Backend;
  /** Attributes of the backend that its text leaves open. */
  readonly backendConfig: Readonly<Record<string, string>>;
  readonly files: readonly OrderedFile[];
  /** Configuration of the tofu command. */
  readonly cliConfig: string | undefined;
  /** Values that came from Secrets, and the lines of those that have several. */
  readonly sensitive: readonly string[];
  /** Keyed digest, hex, over all of it and the fields of the spec that shape a plan. */
  readonly digest: string;
  /** Keyed digest of each Secret and ConfigMap that was read, by `Kind namespace/name`. */
  readonly sources: Readonly<Record<string, string>>;
}

export type InputsResult =
  | { readonly state: "resolved"; readonly inputs: Inputs }
  /** The message names field, object and key and how to mend it; it holds no value. */
  | { readonly state: "failed"; readonly reason: Reason; readonly message: string };

export interface InputPorts {
  readonly store: ObjectStore;
  /** What keeps the states, where it is none of the objects' own backends. */
  readonly door?: Pick<StateDoor, "inSecrets"> | undefined;
  readonly options: {
    readonly crossNamespaceRefs: boolean;
    readonly digestKey: Uint8Array;
  };
}

/** Reads Secrets and ConfigMaps. Fails with StoreError only if the store cannot be read. */
export async function resolveInputs(
  terraform: Terraform,
  { store, door, options }: InputPorts,
  call: Call,
): Promise<InputsResult> {
  const own = terraform.metadata.namespace ?? "default";
  const { digestKey, crossNamespaceRefs } = options;
  const reader = new InputReader(own, { store, digestKey }, call);
  const { spec } = terraform;
  try {
    const backend = backendOf(terraform, door);
    const parts = {
      variables: canonicalJson(await readVariables(spec, reader)),
      env: await readEnv(spec, reader),
      backend,
      backendConfig: await readBackendConfig(spec, backend, reader),
      files: await readFiles(spec, reader),
      cliConfig: await readCliConfig(spec, { own, crossNamespaceRefs }, reader),
    };
    const digest = digestOfInputs(parts, terraform, digestKey);
    const sensitive = [...reader.sensitive].sort((a, b) => b.length - a.length);
    const inputs = { ...parts, sensitive, digest, sources: reader.sources };
    return { state: "resolved", inputs };
  } catch (error) {
    if (!(error instanceof InputTrouble)) throw error;
    return { state: "failed", reason: error.reason, message: error.message };
  }
}

/** Keyed digest, hex, over what a run is handed and the fields of the spec that shape a plan. */
export function digestOfInputs(
  { variables, env, backend, backendConfig, files, cliConfig }: InputParts,
  terraform: Terraform,
  digestKey: Uint8Array,
): string {
  const handed = { variables, env, backend, backendConfig, files: files.map(asText), cliConfig };
  return keyedDigest(digestKey, { ...handed, ...shapeOf(terraform) });
}
type InputParts = Omit<Inputs, "sensitive" | "digest" | "sources">;

function asText({ location, path, content }: OrderedFile) {
  return { location, path, content: Buffer.from(content).toString("base64") };
}

/** Other fields that change what a plan comes to; parallelism, say, does not. */
function shapeOf({ spec }: Terraform) {
  return {
    path: spec.path ?? "",
    workspace: spec.workspace ?? "default",
    targets: spec.targets ?? [],
    varFiles: spec.tfVarsFiles ?? [],
    upgrade: spec.upgradeOnInit ?? true,
  };
}

export interface InputObject {
  readonly kind: "Secret" | "ConfigMap";
  readonly namespace: string;
  readonly name: string;
}

/** The Secrets and ConfigMaps whose change changes the inputs. */
export function referencedInputs(terraform: Terraform): InputObject[] {
  const { spec } = terraform;
  const namespace = terraform.metadata.namespace ?? "default";
  const found = new Map<string, InputObject>();
  const add = (kind: InputObject["kind"], name: string | undefined, where = namespace) => {
    if (name !== undefined) found.set(`${kind} ${where}/${name}`, { kind, namespace: where, name });
  };
  for (const { kind, name } of [...(spec.varsFrom ?? []), ...(spec.backendConfigsFrom ?? [])]) {
    add(kind, name);
  }
  const pod = spec.runnerPodTemplate?.spec;
  for (const { valueFrom } of [...(spec.vars ?? []), ...(pod?.env ?? [])]) {
    add("Secret", valueFrom?.secretKeyRef?.name);
    add("ConfigMap", valueFrom?.configMapKeyRef?.name);
  }
  for (const { secretRef, configMapRef } of pod?.envFrom ?? []) {
    add("Secret", secretRef?.name);
    add("ConfigMap", configMapRef?.name);
  }
  for (const { secretRef } of spec.fileMappings ?? []) add("Secret", secretRef.name);
  for (const { name } of spec.readInputsFromSecrets ?? []) add("Secret", name);
  const { cliConfigSecretRef: config } = spec;
  if (config !== undefined) add("Secret", config.name, config.namespace);
  return [...found.values()];
}
