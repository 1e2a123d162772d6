/** The kinds that recognizers read, with the plural by which files and kubectl name them. */
export const evidenceKinds: Readonly<Record<string, string>> = {
  Pod: "pods",
  Node: "nodes",
  Event: "events",
  Lease: "leases",
  Namespace: "namespaces",
  Service: "services",
  ServiceAccount: "serviceaccounts",
  Secret: "secrets",
  ResourceQuota: "resourcequotas",
  Endpoints: "endpoints",
  EndpointSlice: "endpointslices",
  Deployment: "deployments",
  ReplicaSet: "replicasets",
  StatefulSet: "statefulsets",
  NetworkPolicy: "networkpolicies",
  CiliumNetworkPolicy: "ciliumnetworkpolicies",
  CiliumClusterwideNetworkPolicy: "ciliumclusterwidenetworkpolicies",
  CiliumEndpoint: "ciliumendpoints",
  CiliumIdentity: "ciliumidentities",
  Terraform: "terraforms",
  GitRepository: "gitrepositories",
  OCIRepository: "ocirepositories",
  Bucket: "buckets",
};

const aliases: Readonly<Record<string, string>> = {
  "network-policy": "NetworkPolicy",
  "network-policies": "NetworkPolicy",
  "endpoint-slices": "EndpointSlice",
  "resource-quotas": "ResourceQuota",
  resourcequota: "ResourceQuota",
  "service-accounts": "ServiceAccount",
  "secrets-metadata": "Secret",
};

const byPlural = new Map(Object.entries(evidenceKinds).map(([kind, plural]) => [plural, kind]));
const byLowerKind = new Map(Object.keys(evidenceKinds).map((kind) => [kind.toLowerCase(), kind]));

/** The kind that a word of a path names: `pods`, `Pod`, `terraforms.infra.contrib.fluxcd.io`. */
export function kindOfWord(word: string): string | undefined {
  const lower = word.toLowerCase();
  const first = lower.split(".")[0] ?? "";
  for (const each of [lower, first]) {
    const found = byPlural.get(each) ?? byLowerKind.get(each) ?? aliases[each];
    if (found !== undefined) return found;
  }
  return undefined;
}

export function isEvidenceKind(kind: string): boolean {
  return evidenceKinds[kind] !== undefined;
}
