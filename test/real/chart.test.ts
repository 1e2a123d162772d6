import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { isCi } from "../../src/testing/cluster/api-server.ts";
import { binFolder } from "../../src/testing/cluster/requirements.ts";

const root = join(import.meta.dirname, "../..");

interface Item {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** The real Helm and kubectl render; neither asks a cluster. */
describe.skipIf(withoutPrograms())("the chart", () => {
  test("comes to the same as the manifests, for the same settings", () => {
    const chart = byName(helm("--include-crds", "--set", "metrics.enabled=true"));
    const manifests = byName(run("kubectl", "kustomize", "config"));
    expect([...chart.keys()].sort()).toEqual([...manifests.keys()].sort());
    for (const [name, item] of manifests) expect(chart.get(name), name).toEqual(item);
  });

  test("brings what runners need to each namespace that is named, and to its own", () => {
    const names = "runner.serviceAccount.allowedNamespaces={team-a,flux-system,team-b}";
    const items = [...byName(helm("--set", names)).keys()];
    for (const namespace of ["team-a", "team-b", "flux-system"]) {
      for (const kind of ["ServiceAccount", "Role", "RoleBinding", "NetworkPolicy"]) {
        expect(items).toContain(`${kind} ${namespace}/tf-runner`);
      }
    }
    // Nothing of a runner's reaches beyond its namespace.
    expect(items.filter((each) => /^Cluster.*tf-runner/.test(each))).toEqual([]);
  });

  test.each<[value: string, expected: string]>([
    ["allowCrossNamespaceRefs=true", "--allow-cross-namespace-refs"],
    ["watchAllNamespaces=false", "--watch-all-namespaces=false"],
    ["concurrency=7", "--concurrent=7"],
    ["logLevel=debug", "--log-level=debug"],
    ["logEncoding=console", "--log-encoding=console"],
    ["image.repository=example.test/c,image.tag=v9", '"image":"example.test/c:v9"'],
    ["runner.image.repository=example.test/r", '"value":"example.test/r:0.1.0"'],
    ["extraEnv.HTTPS_PROXY=http://proxy", '{"name":"HTTPS_PROXY","value":"http://proxy"}'],
    ["replicaCount=2", '"replicas":2'],
    ["serviceAccount.name=mine", '"serviceAccountName":"mine"'],
    ["priorityClassName=high", '"priorityClassName":"high"'],
    ["nodeSelector.disk=ssd", '"nodeSelector":{"disk":"ssd"}'],
    ["podLabels.a=b", '"a":"b"'],
    ["imagePullSecrets[0].name=pull", '"imagePullSecrets":[{"name":"pull"}]'],
    ["runner.image.pullSecrets={one,two}", "--runner-image-pull-secrets=one,two"],
    ["tofuControllerNamespace=old", "--tofu-controller-namespace=old"],
  ])("obeys %s", (value, expected) => {
    const found = byName(helm("--set", value)).get("Deployment flux-system/nigari-controller");
    expect(JSON.stringify(found)).toContain(expected);
  });

  test("takes every value of tofu-controller's chart, also those without effect", () => {
    const taken = UPSTREAM.flatMap((value) => ["--set", value]);
    expect(byName(helm(...taken)).has("Deployment flux-system/nigari-controller")).toBe(true);
  });
});

/** Each value that its release has, set to something. */
const UPSTREAM = [
  ...["certRotationCheckFrequency=1h", "certValidityDuration=1h", "caCertValidityDuration=1h"],
  ...["kubeAPIQPS=1", "kubeAPIBurst=1", "allowBreakTheGlass=true", "clusterDomain=x.test"],
  ...["usePodSubdomainResolution=true", "usePriorityQueue=false", "quotaRetryEnabled=true"],
  ...["quotaRetryDelay=1s", "quotaRetryJitterFactor=0.1", "terminationGracePeriodSeconds=250"],
  ...["awsPackage.install=true", "awsPackage.tag=v1", "branchPlanner.enabled=true"],
  ...["runner.grpc.maxMessageSize=30", "runner.creationTimeout=1m", "rbac.create=true"],
  ...["runner.serviceAccount.annotations.a=b", "serviceAccount.annotations.a=b"],
  ...["deploymentLabels.a=b", "podAnnotations.a=b", "updateStrategy.type=Recreate"],
  ...["metrics.enabled=true", "metrics.serviceMonitor.enabled=true"],
  ...["metrics.serviceMonitor.endpoint.scrapeTimeout=5s", "eksSecurityGroupPolicy.create=true"],
  ...["eksSecurityGroupPolicy.ids={sg-1}", "tolerations[0].operator=Exists"],
  ...["volumes[0].name=v", "volumeMounts[0].name=v", "volumeMounts[0].mountPath=/v"],
];

/** By kind and name, without the labels that only say where an object comes from. */
function byName(text: string): Map<string, unknown> {
  const items = parseAllDocuments(text).flatMap((each) => (each.toJS() as Item | null) ?? []);
  return new Map(
    items.map((item) => {
      const { labels: _, ...metadata } = item.metadata as { labels?: unknown } & Item["metadata"];
      const { namespace = "", name } = metadata;
      return [`${item.kind} ${namespace}/${name}`, { ...item, metadata }];
    }),
  );
}

function helm(...args: string[]): string {
  return run("helm", "template", "nigari", "charts/nigari", "--namespace=flux-system", ...args);
}

function run(program: string, ...args: string[]): string {
  const options = { cwd: root, encoding: "utf8", maxBuffer: 2 ** 28, timeout: 60_000 } as const;
  const { status, stdout, stderr } = spawnSync(join(binFolder(), program), args, options);
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** Built with the cluster's other programs; in CI they are all there. */
function withoutPrograms(): boolean {
  const missing = ["helm", "kubectl"].filter((name) => !existsSync(join(binFolder(), name)));
  if (missing.length === 0) return false;
  const says = `${missing.join(" and ")} not in .tools; "npm run cluster -- build" builds them`;
  if (isCi(process.env)) throw new Error(`In CI no test may be skipped: ${says}`);
  process.stderr.write(`skipped: ${says}\n`);
  return true;
}
