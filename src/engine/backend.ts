import { REASON } from "../api/names.ts";
import type { Terraform, TerraformSpec } from "../api/terraform.ts";
import { type InputReader, InputTrouble } from "./input-reader.ts";

/** Where the state of an object lies. */
export type Backend =
  /** Behind the state door. */
  | { readonly is: "door" }
  /** Where the module says; nothing is written. */
  | { readonly is: "module" }
  /** Where this text of backend_override.tf says. */
  | { readonly is: "written"; readonly text: string };

export function backendOf({ metadata, spec }: Terraform): Backend {
  const { disable, customConfiguration, secretSuffix, configPath, labels } =
    spec.backendConfig ?? {};
  if (disable === true) return { is: "module" };
  if (customConfiguration !== undefined && customConfiguration !== "") {
    return { is: "written", text: `terraform {\n${customConfiguration}\n}\n` };
  }
  const labelled: [string, string][] = Object.entries(labels ?? {});
  if (!secretSuffix && !configPath && labelled.length === 0) return { is: "door" };
  const attributes = [
    `secret_suffix = ${quoted(secretSuffix ?? "")}`,
    "in_cluster_config = false",
    `config_path = ${quoted(configPath ?? "")}`,
    `namespace = ${quoted(metadata.namespace ?? "default")}`,
    `labels = {${labelled.map(([key, value]) => `${quoted(key)} = ${quoted(value)}`).join(", ")}}`,
  ];
  const lines = attributes.map((line) => `    ${line}\n`).join("");
  return { is: "written", text: `terraform {\n  backend "kubernetes" {\n${lines}  }\n}\n` };
}

/** A string of HCL: escaped as JSON is, and without templates. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(/[$%](?=\{)/g, (sign) => sign + sign);
}

/** What init is told of the backend besides the text: spec.backendConfigsFrom, later ones win. */
export async function readBackendConfig(
  spec: TerraformSpec,
  backend: Backend,
  reader: InputReader,
): Promise<Record<string, string>> {
  const config: Record<string, string> = {};
  for (const [index, from] of (spec.backendConfigsFrom ?? []).entries()) {
    const field = `spec.backendConfigsFrom[${index}]`;
    const reason = REASON.execInitFailed;
    if (backend.is === "door") {
      const message =
        "there is no backend that it could complete; write one in " +
        "spec.backendConfig.customConfiguration, or set spec.backendConfig.disable to use the " +
        "module's own";
      throw new InputTrouble(`${field}: ${message}`, reason);
    }
    const asked = { field, optional: from.optional ?? false, reason };
    const data = await reader.data(from, asked);
    const all = data === undefined ? [] : [...data.keys()];
    const keys = from.keys === undefined || from.keys.length === 0 ? all : from.keys;
    for (const key of keys) {
      if (!/^[A-Za-z_][\w-]*$/.test(key)) {
        throw new InputTrouble(`${field}: "${key}" is no attribute of a backend`, reason);
      }
      const value = await reader.key(from, key, { ...asked, field: `${field}.keys` });
      if (value !== undefined) config[key] = value.toString("utf8");
    }
  }
  return config;
}
