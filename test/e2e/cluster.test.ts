import { createHash } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import type { Cluster } from "../../src/testing/cluster/cluster.ts";
import { until } from "../../src/testing/cluster/commands.ts";
import { createObjects, send } from "../../src/testing/cluster/objects.ts";
import { publish, repositoryUrl } from "../../src/testing/cluster/repositories.ts";
import { FOREIGN_IMAGE, RUNNER_IMAGE } from "../../src/testing/images/contents.ts";
import { inPhase, logOf, makeNamespace, makePod, untilPod } from "./support/pods.ts";
import { noCluster, sharedCluster } from "./support/shared.ts";

const namespace = "cluster-itself";
/** Ends at once when asked to, as a well-behaved program does. */
const waits = ["sh", "-c", "trap 'echo asked to end; exit 0' TERM; echo begun; sleep 1000 & wait"];

describe.skipIf(noCluster())("the test cluster", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = sharedCluster();
    await makeNamespace(cluster, namespace);
  });

  test("runs a pod on each node, whose log can be read", async () => {
    const pods = cluster.nodes.map(({ plan }) => ({ namespace, name: `on-${plan.name}` }));
    expect(pods).toHaveLength(2);
    for (const pod of pods) {
      const node = pod.name.slice("on-".length);
      await makePod(cluster, { ...pod, node, image: FOREIGN_IMAGE, command: waits });
    }
    for (const pod of pods) {
      await untilPod(cluster, pod, inPhase("Running"));
      await until("its log", 5_000, async () => (await logOf(cluster, pod)) || undefined);
      expect(await logOf(cluster, pod)).toBe("begun\n");
    }
  });

  test("lets a pod ask the API server as its account, and no more than its role", async () => {
    await createObjects(cluster, roleToRead("configmaps"));
    const asks = `
      const folder = "/var/run/secrets/kubernetes.io/serviceaccount";
      const token = require("fs").readFileSync(folder + "/token", "utf8");
      const headers = { authorization: "Bearer " + token };
      const at = "https://kubernetes.default.svc/api/v1/namespaces/${namespace}/";
      for (const kind of ["configmaps", "secrets"])
        fetch(at + kind, { headers }).then((answer) => console.log(kind, answer.status));`;
    const pod = { namespace, name: "asks" };
    const authority = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
    const command = ["env", `NODE_EXTRA_CA_CERTS=${authority}`, "node", "-e", asks];
    await makePod(cluster, { ...pod, image: RUNNER_IMAGE, command });
    await untilPod(cluster, pod, inPhase("Succeeded"));
    const lines = (await logOf(cluster, pod)).trim().split("\n").sort();
    expect(lines).toEqual(["configmaps 200", "secrets 403"]);
  });

  test("makes an artifact of a commit, the same for the host and for a pod", async () => {
    const sha = publish(cluster.plan, "itself", { "main.tf": 'output "x" { value = 1 }\n' });
    await createObjects(cluster, [gitRepository("itself")]);
    const artifact = await artifactOf("itself", (revision) => revision.endsWith(sha));
    const bytes = Buffer.from(await (await fetch(artifact.url)).arrayBuffer());
    expect(`sha256:${createHash("sha256").update(bytes).digest("hex")}`).toBe(artifact.digest);

    const pod = { namespace, name: "fetches" };
    const fetches = `fetch("${artifact.url}").then(async (answer) => {
      const bytes = Buffer.from(await answer.arrayBuffer());
      console.log("sha256:" + require("crypto").createHash("sha256").update(bytes).digest("hex"));
    })`;
    await makePod(cluster, { ...pod, image: RUNNER_IMAGE, command: ["node", "-e", fetches] });
    await untilPod(cluster, pod, inPhase("Succeeded"));
    expect(await logOf(cluster, pod)).toBe(`${artifact.digest}\n`);
  });

  test("runs OpenTofu with a provider from the image, without any network", async () => {
    const pod = { namespace, name: "tofu" };
    const script = `cd /tmp && cat >main.tf <<'END'
      resource "time_static" "now" {}
      output "year" { value = time_static.now.year }
END
      tofu init -no-color >/dev/null && tofu apply -auto-approve -no-color | tail -1`;
    await makePod(cluster, { ...pod, image: FOREIGN_IMAGE, command: ["sh", "-c", script] });
    await untilPod(cluster, pod, inPhase("Succeeded"), 60_000);
    expect(await logOf(cluster, pod)).toMatch(/^year = \d{4}\n$/);
  });

  async function artifactOf(name: string, wanted: (revision: string) => boolean) {
    const group = "/apis/source.toolkit.fluxcd.io/v1";
    const path = `${group}/namespaces/${namespace}/gitrepositories/${name}`;
    return until(`the artifact of ${name}`, 30_000, async () => {
      const { status } = (await send(cluster, "GET", path)) as { status?: GitStatus };
      const artifact = status?.artifact;
      return artifact !== undefined && wanted(artifact.revision) ? artifact : undefined;
    });
  }

  function gitRepository(name: string) {
    return {
      ...{ apiVersion: "source.toolkit.fluxcd.io/v1", kind: "GitRepository" },
      metadata: { name, namespace },
      spec: { interval: "1h", url: repositoryUrl(cluster.plan, name), ref: { branch: "main" } },
    };
  }
});

interface GitStatus {
  readonly artifact?: {
    readonly url: string;
    readonly revision: string;
    readonly digest: string;
  };
}

function roleToRead(resource: string) {
  const group = "rbac.authorization.k8s.io";
  const metadata = { name: "reader", namespace };
  return [
    {
      ...{ apiVersion: `${group}/v1`, kind: "Role", metadata },
      rules: [{ apiGroups: [""], resources: [resource], verbs: ["list"] }],
    },
    {
      ...{ apiVersion: `${group}/v1`, kind: "RoleBinding", metadata },
      roleRef: { apiGroup: group, kind: "Role", name: "reader" },
      subjects: [{ kind: "ServiceAccount", name: "default", namespace }],
    },
  ];
}
