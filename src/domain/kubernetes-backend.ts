/** OpenTofu's backend "kubernetes" as it is configured; tofu-controller writes the same. */
export interface KubernetesBackend {
  readonly secretSuffix: string;
  readonly inCluster: boolean;
  /** Path of a kubeconfig; empty: none. It is written all the same, as upstream does. */
  readonly configPath: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The text of backend_override.tf. */
export function kubernetesBackendText(backend: KubernetesBackend): string {
  const labels = Object.entries(backend.labels);
  const attributes = [
    `secret_suffix = ${quotedHcl(backend.secretSuffix)}`,
    `in_cluster_config = ${backend.inCluster}`,
    `config_path = ${quotedHcl(backend.configPath)}`,
    `namespace = ${quotedHcl(backend.namespace)}`,
    `labels = {${labels.map((pair) => pair.map(quotedHcl).join(" = ")).join(", ")}}`,
  ];
  const lines = attributes.map((line) => `    ${line}\n`).join("");
  return `terraform {\n  backend "kubernetes" {\n${lines}  }\n}\n`;
}

/** A string of HCL: escaped as JSON is, and without templates. */
function quotedHcl(text: string): string {
  return JSON.stringify(text).replaceAll(/[$%](?=\{)/g, (sign) => sign + sign);
}
