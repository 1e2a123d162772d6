import { REASON } from "../api/names.ts";
import type { Terraform, TerraformSpec } from "../api/terraform.ts";
import { kubernetesBackendText } from "../domain/kubernetes-backend.ts";
import type { StateDoor, StateSecret } from "../ports/state.ts";
import { type InputReader, InputTrouble } from "./input-reader.ts";

/** Where the state of an object lies. */
export type Backend =
  /** Where the state door keeps it; `secret`: what the spec says of the Secret there. */
  | { readonly is: "door"; readonly secret?: StateSecret }
  /** Where the module says; nothing is written. */
  | { readonly is: "module" }
  /** Where this text of backend_override.tf says. */
  | { readonly is: "written"; readonly text: string };

export function backendOf(
  terraform: Terraform,
  door: Pick<StateDoor, "inSecrets"> | undefined,
): Backend {
  const { disable, customConfiguration } = terraform.spec.backendConfig ?? {};
  if (disable === true) return { is: "module" };
  if (customConfiguration !== undefined && customConfiguration !== "") {
    return { is: "written", text: `terraform {\n${customConfiguration}\n}\n` };
  }
  return door?.inSecrets === true ? inCluster(terraform) : onOneMachine(terraform);
}

/** Behind the door by default; in a cluster that is somewhere else if the spec tells of Secrets. */
function onOneMachine(terraform: Terraform): Backend {
  const { secretSuffix, configPath, labels = {} } = terraform.spec.backendConfig ?? {};
  if (!secretSuffix && !configPath && Object.keys(labels).length === 0) return { is: "door" };
  return { is: "written", text: kubernetesText(terraform, secretSuffix ?? "", false) };
}

/**
 * In a Secret of this cluster, which the door can look at, unless the spec leads the run to
 * another cluster or leaves parts of the backend to what only the run reads.
 */
function inCluster(terraform: Terraform): Backend {
  const { spec, metadata } = terraform;
  const { configPath = "", inClusterConfig = false, secretSuffix } = spec.backendConfig ?? {};
  const usesOwn = spec.backendConfig === undefined || inClusterConfig;
  const env = spec.runnerPodTemplate?.spec?.env ?? [];
  const ledAway = !usesOwn && (configPath !== "" || env.some(isKubeVariable));
  if (ledAway || (spec.backendConfigsFrom ?? []).length > 0) {
    const text = kubernetesText(terraform, secretSuffix || metadata.name, usesOwn);
    return { is: "written", text };
  }
  const secret = stateSecretOf(terraform);
  return secret === undefined ? { is: "door" } : { is: "door", secret };
}

/** With one of these OpenTofu finds a cluster by itself. */
function isKubeVariable({ name }: { readonly name: string }): boolean {
  return name.startsWith("KUBE_");
}

function kubernetesText(terraform: Terraform, secretSuffix: string, own: boolean): string {
  const { configPath = "", labels = {} } = terraform.spec.backendConfig ?? {};
  const { namespace = "default" } = terraform.metadata;
  return kubernetesBackendText({ secretSuffix, inCluster: own, configPath, namespace, labels });
}

/** What the spec says of the Secret that the state lies in; undefined: nothing. */
export function stateSecretOf({ spec }: Terraform): StateSecret | undefined {
  if (spec.backendConfig === undefined) return undefined;
  const { secretSuffix, labels, inClusterConfig } = spec.backendConfig;
  return {
    ...(secretSuffix ? { suffix: secretSuffix } : {}),
    ...(labels === undefined ? {} : { labels }),
    inCluster: inClusterConfig ?? false,
  };
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
