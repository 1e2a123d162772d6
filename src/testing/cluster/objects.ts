import { request } from "node:https";
import { pathOf, resources } from "../../adapters/kubernetes/resources.ts";
import type { ApiServer } from "./api-server.ts";

type Item = Readonly<Record<string, unknown>>;

/** Makes objects, and then their status, for a new object has none whatever was sent. */
export async function createObjects(server: ApiServer, items: readonly Item[]): Promise<void> {
  for (const item of items) {
    const { namespace, name } = item.metadata as { namespace?: string; name: string };
    const path = collection(item, namespace);
    const made = (await send(server, "POST", path, withoutTimes(item))) as Item;
    if (item.status === undefined || item.kind === "Event") continue;
    const status = { ...made, status: item.status };
    await send(server, "PUT", `${path}/${name}/status`, status);
  }
}

/** The server sets these itself. */
function withoutTimes(item: Item): Item {
  const { creationTimestamp, deletionTimestamp, ...metadata } = item.metadata as Item;
  return { ...item, metadata };
}

function collection({ kind, apiVersion }: Item, namespace: string | undefined): string {
  const known = resources.find((each) => each.kind === kind);
  const version = String(apiVersion).split("/").at(-1) ?? "";
  if (known !== undefined) return pathOf(known, version, namespace);
  const plural = `${String(kind).toLowerCase()}s`;
  const group = String(apiVersion).includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespace === undefined
    ? `${group}/${plural}`
    : `${group}/namespaces/${namespace}/${plural}`;
}

/** A kind that takes whatever is in it, as far as a doctor cares. */
export function customKind(kind: string, group: string, version: string): Item {
  const plural = resources.find((each) => each.kind === kind)?.plural ?? "";
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      scope: "Namespaced",
      versions: [
        {
          ...{ name: version, served: true, storage: true, subresources: { status: {} } },
          schema: { openAPIV3Schema: { type: "object", properties: { spec: open, status: open } } },
        },
      ],
    },
  };
}

/** A kind that was just defined is served a moment later. */
export async function untilServed(server: ApiServer, path: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await send(server, "GET", path);
      return;
    } catch (error) {
      if (attempt > 100) throw error;
      await new Promise<void>((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Sends as the administrator. Anything but success is an error with the server's own words. */
export function send(
  server: ApiServer,
  method: "GET" | "POST" | "PUT",
  path: string,
  body?: Item,
): Promise<unknown> {
  const headers = {
    authorization: `Bearer ${server.tokens.admin}`,
    "content-type": "application/json",
  };
  return new Promise((resolve, reject) => {
    const options = { method, headers, ca: server.ca, timeout: 20_000 };
    const sent = request(`${server.url}${path}`, options, async (answer) => {
      let text = "";
      for await (const chunk of answer) text += chunk;
      const status = answer.statusCode ?? 0;
      if (status < 300) resolve(JSON.parse(text));
      else reject(new Error(`${method} ${path}: ${status}: ${text.slice(0, 500)}`));
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
