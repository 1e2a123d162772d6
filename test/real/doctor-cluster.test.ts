import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { Scene } from "../../src/evidence/scene.ts";
import { runCommand } from "../../src/processes/command.ts";
import type { DiagnosisData } from "../../src/render/diagnosis-data.ts";
import {
  type ApiServer,
  startApiServer,
  withoutCluster,
} from "../../src/testing/cluster/api-server.ts";
import { putDump } from "../../src/testing/cluster/dump.ts";
import { type FakeKubelet, startFakeKubelet } from "../../src/testing/cluster/kubelet.ts";
import { createObjects } from "../../src/testing/cluster/objects.ts";
import { dumpOf } from "../../src/testing/doctor-worlds/dump.ts";

/**
 * The doctor on a real API server with etcd, objects and pods in the states of an incident; only
 * the kubelet, which would serve logs, is a stand-in. "npm run cluster -- build" makes
 * the programs.
 */
const root = join(import.meta.dirname, "../..");
const work = mkdtempSync(join(tmpdir(), "doctor-cluster-"));
let server: ApiServer;
let kubelet: FakeKubelet;
let scene: Scene;

const ago = (seconds: number) =>
  new Date(Math.floor(Date.now() / 1_000 - seconds) * 1_000).toISOString().replace(".000Z", "Z");
const CONTROLLER = "tc-7f9-abcde";

/** Node b was shut down while two runners were called; others wait, one is suspended. */
function incident(): Scene {
  return new Scene(ago(0))
    .nodes("a")
    .node("b", { since: ago(500) })
    .node("c", { ready: false, since: ago(900) })
    .controller({ name: CONTROLLER, node: "a", started: ago(9_000), version: "0.16.4" })
    .source("ops/code", "main@sha1:1", ago(8_000))
    .terraform("apps/vault", { ready: ["Unknown", "Initializing", ago(700)] })
    .failedRunner("apps/vault", "b", ago(710), ago(600))
    .terraform("apps/lake", { ready: ["Unknown", "Terraform Planning", ago(705)] })
    .failedRunner("apps/lake", "b", ago(715), ago(600))
    .terraform("apps/mail", {
      ready: ["False", "dependency 'apps/vault' is not ready", ago(650), "DependencyNotReady"],
      spec: { dependsOn: [{ name: "vault" }] },
    })
    .terraform("team/old", { spec: { suspend: true } })
    .runner("team/far", { node: "c", created: ago(2_000) })
    .log(
      [
        [ago(705), "apps/vault", "setting up terraform"],
        [ago(699), "apps/vault", "generated template"],
        [ago(704), "apps/lake", "calling plan ..."],
        [ago(20), "apps/mail", "Dependencies do not meet ready condition, retrying in 30s"],
      ],
      { name: CONTROLLER },
    )
    .object("Secret", "apps/keys", { data: { password: "aHVudGVyMg==" } });
}

describe.skipIf(withoutCluster())("on a real API server", () => {
  beforeAll(async () => {
    server = await startApiServer(join(work, "server"));
    scene = incident();
    const log = scene.texts[0]?.lines.map((line) => `${line}\n`).join("");
    kubelet = await startFakeKubelet(server.serving, (pod) =>
      pod === `ops/${CONTROLLER}` ? log : "started\n",
    );
    await putDump({ server, kubelet }, dumpOf(scene));
    writeKubeconfig("dana", {
      "client-certificate-data": base64(server.certificate.cert),
      "client-key-data": base64(server.certificate.key),
    });
    writeKubeconfig("viewer", { token: server.tokens.viewer });
    writeKubeconfig("reader", { token: server.tokens.reader });
  });
  afterAll(async () => {
    await kubelet?.close();
    await server?.close();
    rmSync(work, { recursive: true, force: true });
  });

  test("the incident is told as from a dump of it, with a client certificate", async () => {
    const { code, diagnosis } = await doctor("dana");
    expect(code).toBe(1);
    expect(keysOf(diagnosis)).toEqual([
      "node/lost Node/c",
      "node/rebooted Node/b",
      "tofu/reconcile-parked Terraform/apps/lake",
      "tofu/reconcile-parked Terraform/apps/vault",
      "tofu/runner-pods-failed-left-behind Pod/apps/lake-tf-runner",
      "tofu/runner-pods-failed-left-behind Pod/apps/vault-tf-runner",
      "tofu/suspended Terraform/team/old",
      "tofu/waits-for-dependency Terraform/apps/mail",
    ]);
    const parked = diagnosis.findings.find((each) => each.objects[0] === "Terraform/apps/lake");
    expect(parked?.facts).toMatchObject({ stage: "plan", runner: "pod-ended" });
    // Node c does not answer: a request for a log there would wait for it.
    expect(kubelet.asked.some((path) => path.includes("far-tf-runner"))).toBe(false);
  });

  test("an archive of it gives the same verdict, and holds no secret", async () => {
    const archive = join(work, "dump.tar.gz");
    const made = await nigari("collect", "-o", archive, "--kubeconfig", kubeconfig("dana"));
    expect(made.stdout.toString()).toMatch(/^\S+dump\.tar\.gz: \d+ files, \d+ requests\n/);
    const requests = Number(/(\d+) requests/.exec(made.stdout.toString())?.[1]);
    expect(requests).toBeLessThan(50);
    const saved = JSON.parse(
      (await nigari("doctor", "--bundle", archive, "-o", "json")).stdout.toString(),
    ) as DiagnosisData;
    const live = (await doctor("dana")).diagnosis;
    expect(keysOf(saved)).toEqual(keysOf(live));
    const folder = join(work, "dump");
    await nigari("collect", "-o", folder, "--kubeconfig", kubeconfig("dana"));
    const found = await runCommand(
      { file: "grep", args: ["-rEl", "aHVudGVyMg|hunter2", folder], env: { PATH: path() } },
      { signal: AbortSignal.timeout(20_000) },
    );
    expect(found.stdout.toString()).toBe("");
  });

  test("the role that the documents offer is enough", async () => {
    const file = join(root, "examples/doctor/rbac.yaml");
    const role = parse(readFileSync(file, "utf8")) as Readonly<Record<string, unknown>>;
    await createObjects(server, [role]);
    await bind("nigari-doctor", "reader");
    const { diagnosis } = await doctor("reader");
    expect(keysOf(diagnosis)).toEqual(keysOf((await doctor("dana")).diagnosis));
  });

  test("with half of the rights it says less, never something else", async () => {
    await grant("half", [
      [["infra.contrib.fluxcd.io"], ["terraforms"]],
      [[""], ["nodes", "pods"]],
      [["coordination.k8s.io"], ["leases"]],
    ]);
    const { code, diagnosis } = await doctor("viewer");
    const whole = keysOf((await doctor("dana")).diagnosis);
    for (const key of keysOf(diagnosis)) expect(whole).toContain(key);
    // Neither the log nor the metrics may be read, so whether a pass waits is not known.
    expect(keysOf(diagnosis)).not.toContain("tofu/reconcile-parked Terraform/apps/vault");
    const open = diagnosis.notJudged.filter((each) => each.id === "tofu/reconcile-parked");
    expect(open.length).toBeGreaterThan(0);
    expect(open[0]?.missing[0]?.command).toMatch(/^kubectl /);
    expect(keysOf(diagnosis)).toContain("tofu/waits-for-dependency Terraform/apps/mail");
    expect(code).toBe(1);
  });

  test("with no rights at all it says that nothing could be read", async () => {
    writeKubeconfig("nobody", { token: "wrong" });
    const { code, stderr } = await nigari("doctor", "--kubeconfig", kubeconfig("nobody"));
    expect(code).toBe(2);
    expect(stderr).toMatch(/The cluster cannot be read: .*401/);
  });
});

type Rights = readonly (readonly [groups: readonly string[], resources: readonly string[]])[];

async function grant(name: string, rights: Rights): Promise<void> {
  const group = "rbac.authorization.k8s.io";
  const rules = rights.map(([apiGroups, resources]) => ({
    ...{ apiGroups, resources, verbs: ["get", "list"] },
  }));
  await createObjects(server, [
    { apiVersion: `${group}/v1`, kind: "ClusterRole", metadata: { name }, rules },
  ]);
  await bind(name, "viewer");
}

async function bind(name: string, user: string): Promise<void> {
  const group = "rbac.authorization.k8s.io";
  await createObjects(server, [
    {
      ...{ apiVersion: `${group}/v1`, kind: "ClusterRoleBinding", metadata: { name } },
      roleRef: { apiGroup: group, kind: "ClusterRole", name },
      subjects: [{ apiGroup: group, kind: "User", name: user }],
    },
  ]);
}

const base64 = (text: string) => Buffer.from(text).toString("base64");
const kubeconfig = (user: string) => join(work, `${user}.kubeconfig`);

function writeKubeconfig(name: string, user: object): void {
  const config = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": name },
    contexts: [{ name, context: { cluster: "test", user: name, namespace: "apps" } }],
    clusters: [
      {
        name: "test",
        cluster: { server: server.url, "certificate-authority-data": base64(server.ca) },
      },
    ],
    users: [{ name, user }],
  };
  writeFileSync(kubeconfig(name), JSON.stringify(config), { mode: 0o600 });
}

const path = () => process.env.PATH ?? "";

function nigari(...words: string[]) {
  return runCommand(
    {
      ...{ file: join(root, "nigari"), args: words, cwd: work, outputLimitBytes: 20_000_000 },
      env: { PATH: path(), HOME: work },
    },
    { signal: AbortSignal.timeout(90_000) },
  );
}

async function doctor(user: string): Promise<{ code: number; diagnosis: DiagnosisData }> {
  const run = await nigari("doctor", "-o", "json", "--kubeconfig", kubeconfig(user));
  try {
    return { code: run.code ?? -1, diagnosis: JSON.parse(run.stdout.toString()) as DiagnosisData };
  } catch {
    throw new Error(`nigari doctor: exit ${run.code}: ${run.stderr}`);
  }
}

const keysOf = (diagnosis: DiagnosisData) => diagnosis.findings.map((each) => each.key).sort();
