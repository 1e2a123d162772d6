import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DaemonCommand } from "./daemons.ts";
import { sourceDefinitions } from "./definitions.ts";
import { writeKubeconfig } from "./pki.ts";
import type { ClusterPlan } from "./plan.ts";

type Item = Readonly<Record<string, unknown>>;

/** Answers for names of the cluster; every other name is unknown at once. */
export function dnsServer(plan: ClusterPlan): DaemonCommand {
  const access = writeKubeconfig(plan, "dns", join(plan.folder, "run/dns.kubeconfig"));
  const file = join(plan.folder, "run/Corefile");
  writeFileSync(
    file,
    `cluster.local:53 {
  bind ${plan.host}
  kubernetes cluster.local {
    kubeconfig ${access} ${plan.id}
    pods insecure
    ttl 1
  }
}
.:53 {
  bind ${plan.host}
  template ANY ANY {
    rcode NXDOMAIN
  }
}
`,
    { mode: 0o600 },
  );
  return { file: join(plan.bin, "coredns"), args: ["-conf", file] };
}

/** What the name server may read. */
export function dnsRights(): Item[] {
  const group = "rbac.authorization.k8s.io";
  const metadata = { name: "cluster-dns" };
  const verbs = ["list", "watch"];
  return [
    {
      ...{ apiVersion: `${group}/v1`, kind: "ClusterRole", metadata },
      rules: [
        { apiGroups: [""], resources: ["services", "pods", "namespaces"], verbs },
        { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs },
      ],
    },
    {
      ...{ apiVersion: `${group}/v1`, kind: "ClusterRoleBinding", metadata },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: metadata.name },
      subjects: [{ apiGroup: group, kind: "User", name: metadata.name }],
    },
  ];
}

/** Flux' source-controller, as a process of the host; pods reach its artifacts at the bridge. */
export function sourceController(plan: ClusterPlan): DaemonCommand {
  const storage = join(plan.folder, "sources");
  mkdirSync(storage, { recursive: true, mode: 0o700 });
  const access = join(plan.folder, "run/source-controller.kubeconfig");
  const { host } = new URL(plan.sourcesUrl);
  return {
    file: join(plan.bin, "source-controller"),
    args: [
      `--storage-path=${storage}`,
      ...[`--storage-addr=${host}`, `--storage-adv-addr=${host}`],
      "--events-addr=",
      "--enable-leader-election=false",
      `--metrics-addr=${plan.loopback}:8080`,
      `--health-addr=${plan.loopback}:9440`,
    ],
    env: {
      KUBECONFIG: writeKubeconfig(plan, "admin", access),
      RUNTIME_NAMESPACE: "flux-system",
      HOME: storage,
      TMPDIR: storage,
    },
  };
}

/** The kinds that it serves, and its namespace. */
export function sourceKinds(plan: ClusterPlan): Item[] {
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "flux-system" } };
  return [namespace, ...sourceDefinitions(plan.bin)];
}

/** Where they are served, in every version, once the API server has made them known. */
export function sourcePaths(plan: ClusterPlan): string[] {
  return sourceDefinitions(plan.bin).flatMap((definition) => {
    const { group, names, versions } = definition.spec as DefinitionSpec;
    const served = versions.filter((each) => each.served);
    return served.map(({ name }) => `/apis/${group}/${name}/${names.plural}`);
  });
}

interface DefinitionSpec {
  readonly group: string;
  readonly names: { readonly plural: string };
  readonly versions: readonly { readonly name: string; readonly served: boolean }[];
}

/** Serves the bare repositories below `<folder>/git`. */
export function gitServer(plan: ClusterPlan): DaemonCommand {
  const root = join(plan.folder, "git");
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const { hostname, port } = new URL(plan.gitUrl);
  const program = join(import.meta.dirname, "../../../tools/cluster/git-daemon.ts");
  return { file: process.execPath, args: [program, root, hostname, port] };
}
