import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { type Administered, send } from "./objects.ts";

const CONFIG = join(import.meta.dirname, "../../../config");
const CLUSTER_WIDE = ["CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"];

type Item = Readonly<Record<string, unknown>>;

/** Objects of a file of config/, with the namespace that kustomize would give them. */
export function shippedObjects(file: string, namespace: string): Item[] {
  const text = readFileSync(join(CONFIG, file), "utf8");
  return parseAllDocuments(text).map((document) => {
    const item = document.toJS() as { kind: string; metadata: Item; subjects?: readonly Item[] };
    const where = CLUSTER_WIDE.includes(item.kind) ? {} : { namespace };
    const subjects = item.subjects?.map((subject) => ({ namespace, ...subject }));
    return {
      ...item,
      metadata: { ...item.metadata, ...where },
      ...(subjects === undefined ? {} : { subjects }),
    };
  });
}

/** Writes a kubeconfig by which one is this ServiceAccount, and nobody else, for two hours. */
export async function writeAccountKubeconfig(
  server: Administered,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  file: string,
): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const spec = { expirationSeconds: 7_200 };
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec };
  const made = (await send(server, "POST", path, request)) as { status: { token: string } };
  const authority = Buffer.from(server.ca).toString("base64");
  const cluster = { server: server.url, "certificate-authority-data": authority };
  const config = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "test" },
    clusters: [{ name: "test", cluster }],
    users: [{ name, user: { token: made.status.token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: name } }],
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
}
