import { readFile } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { parseDocument } from "yaml";

/** Where a cluster is and as whom to speak to it. Certificates and keys are PEM. */
export interface ClusterAccess {
  /** How a person calls it: the context, or "in-cluster". */
  readonly name: string;
  readonly server: URL;
  /** Namespace of the context; "default" if it names none. */
  readonly namespace: string;
  readonly tls: {
    readonly ca: string | undefined;
    readonly certificate: string | undefined;
    readonly key: string | undefined;
    readonly serverName: string | undefined;
    readonly insecure: boolean;
  };
  readonly credential: Credential;
  /** Proxy that the cluster's entry names. */
  readonly proxy: string | undefined;
  /** As whom to act, if the entry asks for that. */
  readonly impersonate: Impersonation | undefined;
}

export type Credential =
  | { readonly kind: "none" }
  | { readonly kind: "token"; readonly token: string }
  /** Read again for each use: the kubelet writes a new one there every hour. */
  | { readonly kind: "token-file"; readonly file: string }
  | { readonly kind: "basic"; readonly user: string; readonly password: string }
  | { readonly kind: "plugin"; readonly plugin: ExecPlugin };

/** A program that gives credentials, as kubeconfig's `exec` names it. */
export interface ExecPlugin {
  readonly apiVersion: string;
  /** A path, or a name to be found on PATH. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** What to do if the program is not there, in the words of who wrote the entry. */
  readonly installHint: string | undefined;
  /** It is told about the cluster. */
  readonly wantsCluster: boolean;
}

export interface Impersonation {
  readonly user: string;
  readonly groups: readonly string[];
  readonly uid: string | undefined;
}

/** What is wrong with the way to a cluster, for the person who set it up. */
export class AccessError extends Error {
  override readonly name = "AccessError";
}

export interface AccessOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** File that was named; else KUBECONFIG, else ~/.kube/config, else the pod's own account. */
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
}

/** Finds the way to the cluster that was asked for. Fails with AccessError. */
export async function findAccess(options: AccessOptions): Promise<ClusterAccess> {
  const files = filesOf(options);
  const entries = (await Promise.all(files.map((file) => readEntries(file, options)))).flat();
  if (entries.length > 0) return accessOf(entries, options.context);
  const inCluster = await accessInCluster(options.env);
  if (inCluster !== undefined && options.context === undefined) return inCluster;
  throw new AccessError(
    `No kubeconfig in ${files.join(", ")}; set KUBECONFIG, give --kubeconfig, or judge a saved ` +
      "dump with --bundle",
  );
}

function filesOf({ env, kubeconfig }: AccessOptions): string[] {
  if (kubeconfig !== undefined) return [resolve(kubeconfig)];
  const listed = (env.KUBECONFIG ?? "").split(delimiter).filter((each) => each !== "");
  if (listed.length > 0) return listed.map((each) => resolve(each));
  return env.HOME === undefined ? [] : [join(env.HOME, ".kube/config")];
}

/** What one file holds, with relative paths made whole by the file's folder. */
interface Entries {
  readonly file: string;
  readonly folder: string;
  readonly currentContext: string | undefined;
  readonly contexts: ReadonlyMap<string, Fields>;
  readonly clusters: ReadonlyMap<string, Fields>;
  readonly users: ReadonlyMap<string, Fields>;
}
type Fields = Readonly<Record<string, unknown>>;

async function readEntries(file: string, { kubeconfig }: AccessOptions): Promise<Entries[]> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // Of the files in KUBECONFIG some may be missing; one that was named may not.
    if (code === "ENOENT" && kubeconfig === undefined) return [];
    throw new AccessError(`Kubeconfig ${file} cannot be read: ${message}`);
  }
  const document = parseDocument(text, { logLevel: "silent" });
  // The parser's own words quote the text, which holds keys.
  if (document.errors.length > 0) {
    throw new AccessError(`Kubeconfig ${file} is no YAML; see with "kubectl config view"`);
  }
  const config = fields(document.toJS({ maxAliasCount: 100 }));
  return [
    {
      file,
      folder: dirname(file),
      currentContext: text_(config["current-context"]),
      contexts: named(config.contexts, "context"),
      clusters: named(config.clusters, "cluster"),
      users: named(config.users, "user"),
    },
  ];
}

function named(list: unknown, field: string): ReadonlyMap<string, Fields> {
  const found = new Map<string, Fields>();
  for (const each of Array.isArray(list) ? list.map(fields) : []) {
    const name = text_(each.name);
    // The first of a name wins, as in kubectl.
    if (name !== undefined && !found.has(name)) found.set(name, fields(each[field]));
  }
  return found;
}

async function accessOf(
  entries: readonly Entries[],
  wanted: string | undefined,
): Promise<ClusterAccess> {
  const files = entries.map((each) => each.file).join(", ");
  const name = wanted ?? first(entries, (each) => each.currentContext);
  if (name === undefined) {
    const names = entries.flatMap((each) => [...each.contexts.keys()]).join(", ");
    throw new AccessError(`No current context in ${files}; give --context, one of: ${names}`);
  }
  const context = pick(entries, "contexts", name);
  if (context === undefined) {
    throw new AccessError(`Context "${name}" does not exist in ${files}`);
  }
  const clusterName = text_(context.fields.cluster) ?? "";
  const cluster = pick(entries, "clusters", clusterName);
  if (cluster === undefined) {
    throw new AccessError(`Context "${name}" names cluster "${clusterName}", which is not there`);
  }
  const userName = text_(context.fields.user) ?? "";
  const user = pick(entries, "users", userName);
  if (user === undefined && userName !== "") {
    throw new AccessError(`Context "${name}" names user "${userName}", which is not there`);
  }
  return {
    name,
    server: serverOf(cluster.fields, clusterName),
    namespace: text_(context.fields.namespace) ?? "default",
    ...(await clusterSide(cluster)),
    ...(await userSide(user ?? { fields: {}, folder: "" }, userName, cluster)),
  };
}

interface Picked {
  readonly fields: Fields;
  readonly folder: string;
}

function pick(
  entries: readonly Entries[],
  list: "contexts" | "clusters" | "users",
  name: string,
): Picked | undefined {
  return first(entries, (each) => {
    const found = each[list].get(name);
    return found === undefined ? undefined : { fields: found, folder: each.folder };
  });
}

function first<T, R>(list: readonly T[], find: (each: T) => R | undefined): R | undefined {
  for (const each of list) {
    const found = find(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

function serverOf(cluster: Fields, name: string): URL {
  const server = text_(cluster.server) ?? "";
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new AccessError(`Cluster "${name}" has server "${server}", which is no http(s) URL`);
  }
  return url;
}

async function clusterSide(cluster: Picked) {
  return { proxy: text_(cluster.fields["proxy-url"]) };
}

async function userSide(user: Picked, userName: string, cluster: Picked) {
  const pem = (of: Picked, field: string) => pemOf(of, field);
  return {
    tls: {
      ca: await pem(cluster, "certificate-authority"),
      certificate: await pem(user, "client-certificate"),
      key: await pem(user, "client-key"),
      serverName: text_(cluster.fields["tls-server-name"]),
      insecure: cluster.fields["insecure-skip-tls-verify"] === true,
    },
    credential: credentialOf(user, userName),
    impersonate: impersonationOf(user.fields),
  };
}

/** `X-data` in base64, else the file that `X` names. */
async function pemOf({ fields: from, folder }: Picked, field: string): Promise<string | undefined> {
  const data = text_(from[`${field}-data`]);
  if (data !== undefined) return Buffer.from(data, "base64").toString("utf8");
  const file = text_(from[field]);
  if (file === undefined) return undefined;
  const path = isAbsolute(file) ? file : join(folder, file);
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new AccessError(`Kubeconfig's ${field} ${path}: ${(error as Error).message}`);
  }
}

function credentialOf({ fields: user, folder }: Picked, name: string): Credential {
  const token = text_(user.token);
  const file = text_(user.tokenFile);
  if (file !== undefined) {
    return { kind: "token-file", file: isAbsolute(file) ? file : join(folder, file) };
  }
  if (token !== undefined) return { kind: "token", token };
  const basic = text_(user.username);
  if (basic !== undefined) {
    return { kind: "basic", user: basic, password: text_(user.password) ?? "" };
  }
  if (user.exec !== undefined && user.exec !== null) {
    return { kind: "plugin", plugin: pluginOf(fields(user.exec), folder, name) };
  }
  const provider = fields(user["auth-provider"]);
  if (provider.name !== undefined) {
    throw new AccessError(
      `User "${name}" logs in by auth-provider "${provider.name}", which Kubernetes has dropped; ` +
        "use an exec plugin",
    );
  }
  return { kind: "none" };
}

function pluginOf(exec: Fields, folder: string, name: string): ExecPlugin {
  const command = text_(exec.command);
  if (command === undefined) throw new AccessError(`User "${name}" has an exec without a command`);
  const apiVersion = text_(exec.apiVersion) ?? "";
  if (!/^client\.authentication\.k8s\.io\/v1(beta1)?$/.test(apiVersion)) {
    throw new AccessError(
      `User "${name}" has an exec of apiVersion "${apiVersion}"; known are ` +
        "client.authentication.k8s.io/v1 and v1beta1",
    );
  }
  if (exec.interactiveMode === "Always") {
    throw new AccessError(`User "${name}" has an exec that needs a terminal; log in before`);
  }
  const env = (Array.isArray(exec.env) ? exec.env.map(fields) : []).map((each) => [
    text_(each.name) ?? "",
    text_(each.value) ?? "",
  ]);
  return {
    apiVersion,
    // A command with a slash is meant from the file's folder.
    command: /[/\\]/.test(command) && !isAbsolute(command) ? join(folder, command) : command,
    args: Array.isArray(exec.args) ? exec.args.map(String) : [],
    env: Object.fromEntries(env),
    installHint: text_(exec.installHint),
    wantsCluster: exec.provideClusterInfo === true,
  };
}

function impersonationOf(user: Fields): Impersonation | undefined {
  const name = text_(user.as);
  if (name === undefined) return undefined;
  const groups = user["as-groups"];
  return {
    user: name,
    groups: Array.isArray(groups) ? groups.map(String) : [],
    uid: text_(user["as-uid"]),
  };
}

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** As a pod's own account, from what the kubelet puts into every pod. */
async function accessInCluster(env: AccessOptions["env"]): Promise<ClusterAccess | undefined> {
  const host = env.KUBERNETES_SERVICE_HOST;
  const port = env.KUBERNETES_SERVICE_PORT;
  if (host === undefined || port === undefined) return undefined;
  const folder = env.NIGARI_SERVICE_ACCOUNT_DIR ?? ACCOUNT;
  const read = (name: string) => readFile(join(folder, name), "utf8").catch(() => undefined);
  if ((await read("token")) === undefined) return undefined;
  return {
    name: "in-cluster",
    server: new URL(`https://${host.includes(":") ? `[${host}]` : host}:${port}`),
    namespace: (await read("namespace"))?.trim() || "default",
    tls: {
      ca: await read("ca.crt"),
      ...{ certificate: undefined, key: undefined, serverName: undefined, insecure: false },
    },
    credential: { kind: "token-file", file: join(folder, "token") },
    proxy: undefined,
    impersonate: undefined,
  };
}

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : {};
}

function text_(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
