import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./commands.ts";
import { type ClusterPlan, firstService, nodePlans } from "./plan.ts";

interface Leaf {
  readonly commonName: string;
  readonly organization?: string;
  /** Makes it a server's: "DNS:x,IP:y". */
  readonly names?: string;
  readonly ca?: string;
}

const CA_USE = "keyUsage=critical,digitalSignature,keyCertSign,cRLSign";

/** Makes every key and certificate of a cluster, in `<folder>/pki`. */
export function makePki(plan: ClusterPlan): void {
  const folder = pkiFolder(plan);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  authority(folder, "ca");
  // Aggregated API servers have one of their own; without it two programs complain all the time.
  authority(folder, "front-ca");
  accountKeys(folder);
  for (const [name, leaf] of Object.entries(leaves(plan))) certificate(folder, name, leaf);
}

export function pkiFolder(plan: Pick<ClusterPlan, "folder">): string {
  return join(plan.folder, "pki");
}

function leaves(plan: ClusterPlan): Record<string, Leaf> {
  const service = "kubernetes.default.svc";
  const names = ["kubernetes", "kubernetes.default", service, `${service}.cluster.local`];
  const addresses = [plan.host, firstService(plan)].map((each) => `IP:${each}`);
  const nodes = nodePlans(plan).flatMap(({ name, address }) => [
    // The node authorizer goes by these names.
    [`node-${name}`, { commonName: `system:node:${name}`, organization: "system:nodes" }] as const,
    [`kubelet-${name}`, { commonName: name, names: `DNS:${name},IP:${address}` }] as const,
  ]);
  return {
    "api-server": {
      commonName: "kube-apiserver",
      names: [...names.map((each) => `DNS:${each}`), ...addresses].join(","),
    },
    "api-server-kubelet": { commonName: "kube-apiserver", organization: "system:masters" },
    "front-proxy": { commonName: "front-proxy-client", ca: "front-ca" },
    admin: { commonName: "admin", organization: "system:masters" },
    "controller-manager": { commonName: "system:kube-controller-manager" },
    scheduler: { commonName: "system:kube-scheduler" },
    proxy: { commonName: "system:kube-proxy" },
    dns: { commonName: "cluster-dns" },
    ...Object.fromEntries(nodes),
  };
}

function accountKeys(folder: string): void {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const put = (name: string, text: string | Buffer) =>
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  put("accounts.pub", publicKey.export({ type: "spki", format: "pem" }));
  put("accounts.key", privateKey.export({ type: "sec1", format: "pem" }));
}

const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

function authority(folder: string, name: string): void {
  const out = ["-keyout", join(folder, `${name}.key`), "-out", join(folder, `${name}.crt`)];
  const what = ["-subj", `/CN=test-${name}`, "-addext", CA_USE, "-days", "3650"];
  run("openssl", "req", "-x509", ...newKey, ...out, ...what);
}

function certificate(folder: string, name: string, leaf: Leaf): void {
  const path = (file: string) => join(folder, file);
  const { ca = "ca", organization = "test", names } = leaf;
  const use = names === undefined ? "clientAuth" : "serverAuth";
  run(
    "openssl",
    ...["req", "-x509", "-CA", path(`${ca}.crt`), "-CAkey", path(`${ca}.key`), ...newKey],
    ...["-keyout", path(`${name}.key`), "-out", path(`${name}.crt`), "-days", "3650"],
    ...["-subj", `/O=${organization}/CN=${leaf.commonName}`],
    ...["-addext", "basicConstraints=critical,CA:false"],
    ...["-addext", "keyUsage=critical,digitalSignature,keyEncipherment"],
    ...["-addext", `extendedKeyUsage=${use}`],
    ...(names === undefined ? [] : ["-addext", `subjectAltName=${names}`]),
  );
}

/** A kubeconfig, as JSON, for the holder of a certificate; `place` is what it calls the cluster. */
export function kubeconfig(plan: ClusterPlan, name: string): string {
  const read = (file: string) => readFileSync(join(pkiFolder(plan), file)).toString("base64");
  const cluster = { server: plan.apiUrl, "certificate-authority-data": read("ca.crt") };
  const user = {
    "client-certificate-data": read(`${name}.crt`),
    "client-key-data": read(`${name}.key`),
  };
  const config = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": plan.id },
    clusters: [{ name: plan.id, cluster }],
    users: [{ name, user }],
    contexts: [{ name: plan.id, context: { cluster: plan.id, user: name } }],
  };
  return JSON.stringify(config);
}

/** Writes it, for the holder's eyes alone, and gives its path. */
export function writeKubeconfig(plan: ClusterPlan, name: string, file: string): string {
  writeFileSync(file, kubeconfig(plan, name), { mode: 0o600 });
  return file;
}
