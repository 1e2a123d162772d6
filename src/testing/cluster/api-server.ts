import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { toolsFolder } from "../../adapters/opentofu/programs.ts";

/** A real API server with an etcd of its own. No node, and at first no controller. */
export interface ApiServer {
  readonly url: string;
  /** PEM of what signed the server's certificate. */
  readonly ca: string;
  /** Of a user in system:masters, and of two who may do nothing until RBAC says so. */
  readonly tokens: Readonly<Record<"admin" | "viewer" | "reader", string>>;
  /** Client certificate and key of user "dana" in system:masters, PEM. */
  readonly certificate: { readonly cert: string; readonly key: string };
  /** A certificate and key for a server of the test's own, such as a kubelet. */
  readonly serving: { readonly cert: string; readonly key: string };
  /**
   * Starts controllers, by Kubernetes' names. They see new kinds only every half minute, so the
   * test defines its own before.
   */
  startControllers(names: readonly string[]): void;
  close(): Promise<void>;
}

const START_LIMIT_MS = 120_000;

interface ClusterPrograms {
  readonly etcd: string;
  readonly server: string;
  readonly controllers: string;
}

/** Where the programs are, or undefined if "npm run cluster -- build" has not built them. */
export function clusterPrograms(): ClusterPrograms | undefined {
  const root = join(import.meta.dirname, "../../..");
  const folder = join(toolsFolder({ env: process.env, root }), "bin");
  const etcd = join(folder, "etcd");
  const server = join(folder, "kube-apiserver");
  const controllers = join(folder, "kube-controller-manager");
  const all = [etcd, server, controllers].every((each) => existsSync(each));
  return all ? { etcd, server, controllers } : undefined;
}

/**
 * Whether tests on a real API server have to be skipped, for describe.skipIf. A skip is said aloud;
 * in CI there is none, for nobody would see that the proof is missing.
 */
export function withoutCluster(): boolean {
  if (clusterPrograms() !== undefined) return false;
  const says = 'no real API server is in .tools; "npm run cluster -- build api-server" builds it';
  if (isCi(process.env)) throw new Error(`In CI no test may be skipped: ${says}`);
  process.stderr.write(`skipped: ${says}\n`);
  return true;
}

/** What CI services set, and .ci/run for those that do not. */
export function isCi({ CI }: Readonly<Record<string, string | undefined>>): boolean {
  return CI !== undefined && CI !== "" && CI !== "false" && CI !== "0";
}

/** Starts both in a folder of their own. */
export async function startApiServer(folder: string): Promise<ApiServer> {
  const programs = clusterPrograms();
  if (programs === undefined) throw new Error('Run "npm run cluster -- build api-server" first');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const [client, peer, port] = [await freePort(), await freePort(), await freePort()];
  const children: ChildProcess[] = [];
  const start = (name: string, file: string, args: readonly string[]) => {
    const log = openSync(join(folder, `${name}.log`), "a");
    children.push(spawn(file, args, { cwd: folder, stdio: ["ignore", log, log] }));
    closeSync(log);
  };
  const close = async () => {
    // The server first: it would complain about an etcd that is gone.
    for (const child of children.reverse()) await ended(child);
  };
  try {
    const secrets = writeSecrets(folder);
    start("etcd", programs.etcd, etcdArguments(folder, client, peer));
    start("kube-apiserver", programs.server, serverArguments(folder, client, port));
    const url = `https://127.0.0.1:${port}`;
    await untilReady(url, secrets.tokens.admin, join(folder, "kube-apiserver.log"));
    const ca = readFileSync(join(folder, "certs/apiserver.crt"), "utf8");
    const startControllers = (names: readonly string[]) => {
      const args = controllerArguments(folder, url, secrets.tokens.admin, names);
      start("kube-controller-manager", programs.controllers, args);
    };
    return { url, ca, ...secrets, startControllers, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function etcdArguments(folder: string, client: number, peer: number): string[] {
  const at = (port: number) => `http://127.0.0.1:${port}`;
  return [
    "--name=test",
    `--data-dir=${join(folder, "etcd")}`,
    // A test's etcd needs no durability, and this halves the time of each write.
    "--unsafe-no-fsync",
    "--log-level=warn",
    `--listen-client-urls=${at(client)}`,
    `--advertise-client-urls=${at(client)}`,
    `--listen-peer-urls=${at(peer)}`,
    `--initial-advertise-peer-urls=${at(peer)}`,
    `--initial-cluster=test=${at(peer)}`,
  ];
}

function serverArguments(folder: string, etcd: number, port: number): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcd}`,
    "--bind-address=127.0.0.1",
    // It may not be loopback; nobody asks there, for no endpoints are written.
    "--advertise-address=198.51.100.1",
    "--endpoint-reconciler-type=none",
    `--secure-port=${port}`,
    `--cert-dir=${join(folder, "certs")}`,
    `--client-ca-file=${join(folder, "ca.crt")}`,
    `--token-auth-file=${join(folder, "tokens.csv")}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${join(folder, "sa.pub")}`,
    `--service-account-signing-key-file=${join(folder, "sa.key")}`,
    "--service-cluster-ip-range=10.96.0.0/16",
    "--authorization-mode=RBAC",
    // Nobody makes accounts here, nor looks after nodes.
    "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,Priority",
    "--kubelet-preferred-address-types=InternalIP",
    "--profiling=false",
  ];
}

function controllerArguments(
  folder: string,
  server: string,
  token: string,
  controllers: readonly string[],
): string[] {
  const config = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "test" },
    clusters: [{ name: "test", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "admin", user: { token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "admin" } }],
  };
  const file = join(folder, "controllers.kubeconfig");
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return [
    `--kubeconfig=${file}`,
    "--leader-elect=false",
    `--controllers=${controllers.join(",")}`,
    // Nobody asks it anything.
    "--secure-port=0",
    "--profiling=false",
  ];
}

function writeSecrets(folder: string) {
  const put = (name: string, text: string) =>
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  const account = generateKeyPairSync("rsa", {
    modulusLength: 2_048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
  });
  put("sa.pub", account.publicKey);
  put("sa.key", account.privateKey);
  const token = () => randomBytes(16).toString("hex");
  const tokens = { admin: token(), viewer: token(), reader: token() };
  const { admin, viewer, reader } = tokens;
  const rows = [`${admin},admin,1,"system:masters"`, `${viewer},viewer,2`, `${reader},reader,3`];
  put("tokens.csv", `${rows.join("\n")}\n`);
  openssl(folder, ["-x509", "-subj", "/CN=test-ca", "-keyout", "ca.key", "-out", "ca.crt"]);
  const signed = (name: string, subject: string) => {
    const by = ["-x509", "-CA", "ca.crt", "-CAkey", "ca.key", "-subj", subject];
    openssl(folder, [...by, "-keyout", `${name}.key`, "-out", `${name}.crt`]);
    const read = (end: string) => readFileSync(join(folder, `${name}.${end}`), "utf8");
    return { cert: read("crt"), key: read("key") };
  };
  return {
    tokens,
    certificate: signed("dana", "/O=system:masters/CN=dana"),
    serving: signed("kubelet", "/CN=kubelet"),
  };
}

function openssl(folder: string, args: readonly string[]): void {
  const common = ["req", "-newkey", "rsa:2048", "-nodes", "-days", "30"];
  const run = spawnSync("openssl", [...common, ...args], { cwd: folder, encoding: "utf8" });
  if (run.status !== 0) throw new Error(`openssl failed: ${run.stderr || run.error}`);
}

async function untilReady(url: string, token: string, log: string): Promise<void> {
  const until = Date.now() + START_LIMIT_MS;
  while (Date.now() < until) {
    const status = await statusOf(`${url}/readyz`, token);
    if (status === 200) return;
    await new Promise<void>((resolve) => setTimeout(resolve, 200));
  }
  const text = readFileSync(log, "utf8").split("\n").slice(-15).join("\n");
  throw new Error(`The API server was not ready in time:\n${text}`);
}

/** Its certificate is not looked at: this only asks whether it is there. */
async function statusOf(url: string, token: string): Promise<number | undefined> {
  const { request } = await import("node:https");
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}` };
    const sent = request(url, { headers, rejectUnauthorized: false, timeout: 2_000 }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sent.on("timeout", () => sent.destroy());
    sent.on("error", () => resolve(undefined));
    sent.end();
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? (address?.port ?? 0) : 0));
    });
  });
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}
