import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import {
  type ApiServer,
  startApiServer,
  withoutCluster,
} from "../../src/testing/cluster/api-server.ts";
import { type FakeKubelet, startFakeKubelet } from "../../src/testing/cluster/kubelet.ts";
import { createObjects, send, untilServed } from "../../src/testing/cluster/objects.ts";
import { ClusterLine } from "./support/cluster-line.ts";

// The verbs of the command line on a real API server; no controller runs there.

const folder = mkdtempSync(join(tmpdir(), "nigari-line-"));
const GROUP = "infra.contrib.fluxcd.io";
const APPS = `/apis/${GROUP}/v1alpha2/namespaces/apps/terraforms`;
const NODE = "node-a";
const LOG = [
  '2026-01-01T00:00:01.5Z nigari-journal: {"sequence":1,"stage":{"stage":"init","at":"x"}}',
  "2026-01-01T00:00:02Z Initializing the backend...",
  '2026-01-01T00:00:03Z nigari-journal: {"sequence":2,"stage":{"stage":"plan","at":"x"}}',
  "2026-01-01T00:00:04Z Plan: 1 to add",
];
let server: ApiServer;
let kubelet: FakeKubelet;
let line: ClusterLine;

const spec = { interval: "5m", sourceRef: { kind: "GitRepository", name: "code" } };
const terraform = (name: string, status?: object) => ({
  apiVersion: `${GROUP}/v1alpha2`,
  kind: "Terraform",
  metadata: { name, namespace: "apps" },
  spec,
  ...(status === undefined ? {} : { status }),
});

interface Stored {
  readonly metadata: { readonly uid: string; readonly annotations?: Record<string, string> };
  readonly spec: Record<string, unknown>;
}
const stored = async (name: string) => (await send(server, "GET", `${APPS}/${name}`)) as Stored;

describe.skipIf(withoutCluster())("on a real API server", () => {
  beforeAll(async () => {
    server = await startApiServer(join(folder, "server"));
    kubelet = await startFakeKubelet(server.serving, () => `${LOG.join("\n")}\n`);
    const definition = join(import.meta.dirname, "../../config/crd/terraforms.yaml");
    await createObjects(server, [
      parse(readFileSync(definition, "utf8")),
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "apps" } },
      nodeAt(kubelet),
    ]);
    await untilServed(server, `/apis/${GROUP}/v1alpha2/terraforms`);
    await createObjects(server, [
      terraform("web", { plan: { pending: "plan-main-1", summary: "1 to add" } }),
      terraform("db", { lastRun }),
    ]);
    await createObjects(server, [runnerPod("web", (await stored("web")).metadata.uid)]);
    line = new ClusterLine(server, join(folder, "home"), "apps");
  });
  afterAll(async () => {
    line?.close();
    await kubelet?.close();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("objects are those of the context's namespace, and it is said where that is", async () => {
    const { code, out, err } = await line.run(["get"]);
    expect(code).toBe(0);
    expect(out).toMatch(/web .*\n/);
    expect(err).toBe(`On cluster test (${new URL(server.url).host}), namespace apps\n`);
    const json = await line.run(["get", "terraform", "web", "-o", "json"]);
    expect(JSON.parse(json.out)).toMatchObject({ metadata: { name: "web" }, spec });
  });

  test("an approval is written, and it is said that nobody carries it out now", async () => {
    const { code, err } = await line.run(["approve", "web", "plan-main-1"]);
    expect(code).toBe(0);
    expect(err).toContain("No controller of Nigari leads in this cluster; it is done once");
    expect((await stored("web")).spec.approvePlan).toBe("plan-main-1");
  });

  test("while one leads, by the Lease that it holds, nothing of the kind is said", async () => {
    await lease(`nigari/pod-1`);
    const { code, err } = await line.run(["reconcile", "web"]);
    expect([code, err.split("\n").slice(1).join("")]).toEqual([0, ""]);
    const { metadata } = await stored("web");
    expect(metadata.annotations?.["reconcile.fluxcd.io/requestedAt"]).toBeDefined();
  });

  test("log lines are those of the runner's pod, with their step", async () => {
    const { code, out } = await line.run(["logs", "web"]);
    expect(code).toBe(0);
    expect(out).toBe(
      "2026-01-01T00:00:02Z init      Initializing the backend...\n" +
        "2026-01-01T00:00:04Z plan      Plan: 1 to add\n",
    );
  });

  test("of a run whose pod is gone the last word is kept", async () => {
    const { code, out } = await line.run(["logs", "db"]);
    expect(code).toBe(0);
    expect(out).toContain(
      "plan      nigari: plan failed; its pod is gone, and this is what is kept",
    );
    expect(out).toContain("plan      error running Plan: no such thing");
  });

  test("who may not is told which rule lacks", async () => {
    const { code, err } = await line.as("viewer", "suspend", "web");
    expect(code).toBe(1);
    expect(err).toMatch(
      /"viewer" needs a Role in namespace apps with the rule {apiGroups: \["infra.contrib.fluxcd/,
    );
    expect(err).toMatch(/resources: \["terraforms"\], verbs: \["get"\]}/);
  });

  test("a cluster that is away is told within its bound", async () => {
    const file = join(folder, "away.kubeconfig");
    const text = readFileSync(line.kubeconfig("admin"), "utf8");
    writeFileSync(file, text.replace('"cluster":"test"', '"cluster":"away"'));
    const { code, err, ms } = await line.run(["get", "--kubeconfig", file]);
    expect(code).toBe(5);
    expect(err).toContain("No answer from cluster test (127.0.0.1:1):");
    expect(ms).toBeLessThan(15_000);
  });

  test("a node is vouched for by the boot id of that start, once it is confirmed", async () => {
    const node = async () => (await send(server, "GET", `/api/v1/nodes/${NODE}`)) as Stored;
    const shown = await line.run(["fence", NODE]);
    expect(shown.code).toBe(0);
    expect(shown.out).toMatch(/^apps\/web +r-1 +apply +its result is collected/m);
    expect((await node()).metadata.annotations?.["nigari.dev/fenced"]).toBeUndefined();
    expect((await line.run(["fence", NODE, "--confirm"])).code).toBe(0);
    expect((await node()).metadata.annotations?.["nigari.dev/fenced"]).toBe("bootID-1");
    const viewer = await line.as("viewer", "fence", NODE);
    expect(viewer.code).toBe(1);
    expect(viewer.err).toContain(
      'needs a ClusterRole with the rule {apiGroups: [""], resources: [',
    );
  });

  test("a takeover is checked, told and finished, and no state is touched", async () => {
    const { uid } = (await stored("db")).metadata;
    await createObjects(server, [tofuController(), tls, state, upstreamRunner("db", uid)]);
    const check = await line.run(["migrate", "check", "-o", "json"]);
    expect(check.code).toBe(0);
    const { findings, gaps, objects } = JSON.parse(check.out);
    expect([objects, gaps]).toEqual([2, []]);
    expect(findings.map((each: { code: string }) => each.code)).toEqual([
      "static-manifests",
      "pending-plan",
      "leftovers",
    ]);
    const blind = await line.as("viewer", "migrate", "check");
    expect(blind.code).toBe(2);
    expect(blind.out).toContain("Could not be read:");
    expect((await line.run(["migrate", "finish"])).out).toContain("Nothing was removed.");
    const finish = await line.run(["migrate", "finish", "--confirm"]);
    expect(finish.code).toBe(0);
    const left = async (kind: string) => {
      const list = await send(server, "GET", `/api/v1/namespaces/apps/${kind}`);
      const { items } = list as { items: { metadata: { name: string } }[] };
      return items.map(({ metadata }) => metadata.name).sort();
    };
    expect(await left("secrets")).toEqual(["tfstate-default-db"]);
    // A pod with a node goes when its kubelet says so; here there is none.
    expect(finish.out).toContain("done: delete Pod apps/db-tf-runner");
  });

  test("where this machine keeps objects too, one must say which is meant", async () => {
    const home = join(folder, "both");
    mkdirSync(join(home, ".local/state/nigari"), { recursive: true });
    writeFileSync(join(home, ".local/state/nigari/nigari.db"), "");
    const env = { HOME: home, KUBECONFIG: line.kubeconfig("admin") };
    const both = await line.run(["get"], { env });
    expect(both.code).toBe(3);
    expect(both.err).toContain("Two places could be meant");
    expect((await line.run(["get", "--context", "test"], { env })).code).toBe(0);
  });
});

const lastRun = {
  ...{ id: "r-0", operation: "plan", outcome: "failed", stage: "plan", attempt: 1 },
  ...{ revision: "main@sha1:0", finishedAt: "2026-01-01T00:00:00Z" },
  message: "error running Plan: no such thing",
};

function nodeAt({ ip, port }: FakeKubelet) {
  const names = ["machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "architecture"];
  const more = ["containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion", "operatingSystem"];
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: NODE },
    status: {
      addresses: [{ type: "InternalIP", address: ip }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
      nodeInfo: Object.fromEntries([...names, ...more].map((name) => [name, `${name}-1`])),
      conditions: [
        { type: "Ready", status: "Unknown", lastTransitionTime: "2026-01-01T00:00:00Z" },
      ],
    },
  };
}

function runnerPod(name: string, uid: string) {
  const owner = { apiVersion: `${GROUP}/v1alpha2`, kind: "Terraform", name, uid };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${name}-tf-runner-r-1`,
      namespace: "apps",
      labels: {
        "app.kubernetes.io/name": "tf-runner",
        [`${GROUP}/terraform`]: "apps",
        "nigari.dev/run": "r-1",
      },
      annotations: { "nigari.dev/operation": "apply", "nigari.dev/terraform": name },
      ownerReferences: [owner],
    },
    spec: { nodeName: NODE, containers: [{ name: "tf-runner", image: "x" }] },
    status: { phase: "Running" },
  };
}

function tofuController() {
  const labels = { "app.kubernetes.io/name": "tofu-controller" };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "tofu-controller", namespace: "apps", labels },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "manager", image: "ghcr.io/flux-iac/tofu-controller:v0" }] },
      },
    },
  };
}

const tls = {
  apiVersion: "v1",
  kind: "Secret",
  type: "Opaque",
  metadata: {
    name: "terraform-runner.tls-1700000000",
    namespace: "apps",
    labels: { [`${GROUP}/terraform`]: "true" },
  },
};
const state = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "tfstate-default-db", namespace: "apps", labels: { tfstate: "true" } },
};

function upstreamRunner(name: string, uid: string) {
  const { metadata, ...pod } = runnerPod(name, uid);
  const { "nigari.dev/run": _, ...labels } = metadata.labels;
  return { ...pod, metadata: { ...metadata, name: `${name}-tf-runner`, labels } };
}

async function lease(holderIdentity: string) {
  const now = `${new Date().toISOString().slice(0, -1)}000Z`;
  await createObjects(server, [
    {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "1953de50.contrib.fluxcd.io", namespace: "apps" },
      spec: { holderIdentity, leaseDurationSeconds: 600, renewTime: now },
    },
  ]);
}
