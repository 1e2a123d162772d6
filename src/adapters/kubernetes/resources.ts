import { evidenceKinds } from "../../evidence/kinds.ts";

/** A kind as it is read from an API server. */
export interface Resource {
  readonly kind: string;
  readonly plural: string;
  /** "" for the core group. */
  readonly group: string;
  /** Newest first; the first that the server has is read. */
  readonly versions: readonly string[];
  readonly namespaced: boolean;
  /** Only names, labels and owners are asked for: data never leaves the server. */
  readonly metadataOnly: boolean;
  /** Where the whole cluster may not be listed, its namespaces are tried one by one. */
  readonly byNamespace: boolean;
}

/** What is read of every cluster, what matters most first. */
export const resources: readonly Resource[] = [
  resource("Terraform", "infra.contrib.fluxcd.io", ["v1alpha2", "v1alpha1"], ["byNamespace"]),
  resource("Pod", "", ["v1"], ["byNamespace"]),
  resource("Node", "", ["v1"], ["clusterWide"]),
  resource("Lease", "coordination.k8s.io", ["v1"], ["byNamespace"]),
  resource("GitRepository", "source.toolkit.fluxcd.io", ["v1", "v1beta2"], ["byNamespace"]),
  resource("OCIRepository", "source.toolkit.fluxcd.io", ["v1", "v1beta2"], ["byNamespace"]),
  resource("Bucket", "source.toolkit.fluxcd.io", ["v1", "v1beta2"], ["byNamespace"]),
  resource("Namespace", "", ["v1"], ["clusterWide"]),
  resource("Event", "", ["v1"], ["byNamespace"]),
  resource("Secret", "", ["v1"], ["metadataOnly"]),
  resource("Service", "", ["v1"]),
  resource("EndpointSlice", "discovery.k8s.io", ["v1"]),
  resource("ServiceAccount", "", ["v1"], ["metadataOnly"]),
  resource("ResourceQuota", "", ["v1"]),
  resource("Deployment", "apps", ["v1"]),
  resource("ReplicaSet", "apps", ["v1"]),
  resource("NetworkPolicy", "networking.k8s.io", ["v1"]),
  resource("CiliumNetworkPolicy", "cilium.io", ["v2"]),
  resource("CiliumClusterwideNetworkPolicy", "cilium.io", ["v2"], ["clusterWide"]),
  resource("CiliumEndpoint", "cilium.io", ["v2"]),
  resource("CiliumIdentity", "cilium.io", ["v2"], ["clusterWide"]),
];

type Trait = "clusterWide" | "metadataOnly" | "byNamespace";

function resource(
  kind: string,
  group: string,
  versions: readonly string[],
  traits: readonly Trait[] = [],
): Resource {
  return {
    ...{ kind, group, versions, plural: evidenceKinds[kind] ?? `${kind.toLowerCase()}s` },
    namespaced: !traits.includes("clusterWide"),
    metadataOnly: traits.includes("metadataOnly"),
    byNamespace: traits.includes("byNamespace"),
  };
}

export function pathOf(
  { group, plural }: Pick<Resource, "group" | "plural">,
  version: string,
  namespace: string | undefined,
): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespace === undefined
    ? `${root}/${plural}`
    : `${root}/namespaces/${namespace}/${plural}`;
}

/** The command by which a person gets the same. */
export function commandOf({ group, plural }: Resource, namespace?: string): string {
  const name = group === "" || group === "apps" ? plural : `${plural}.${group}`;
  return `kubectl get ${name} ${namespace === undefined ? "-A" : `-n ${namespace}`} -o json`;
}
