import { request } from "node:https";
import { pathOf, resources } from "../../adapters/kubernetes/resources.ts";

type Item = Readonly<Record<string, unknown>>;

/** An API server whose administrator we are. */
export interface Administered {
  readonly url: string;
  /** PEM of what signed the server's certificate. */
  readonly ca: string;
  readonly tokens: { readonly admin: string };
}

const SEND_LIMIT_MS = 20_000;

/** Makes objects, and then their status, for a new object has none whatever was sent. */
export async function createObjects(server: Administered, items: readonly Item[]): Promise<void> {
  for (const item of items) {
    const { namespace, name } = item.metadata as { namespace?: string; name: string };
    const path = collection(item, namespace);
    const made = (await send(server, "POST", path, withoutTimes(item))) as Item;
    if (item.status === undefined || item.kind === "Event") continue;
    const status = { ...made, status: item.status };
    await send(server, "PUT", `${path}/${name}/status`, status);
  }
}

/** Creates those that are not there; what is there stays as it is. */
export async function ensureObjects(server: Administered, items: readonly Item[]): Promise<void> {
  for (const item of items) {
    try {
      await createObjects(server, [item]);
    } catch (error) {
      if (!(error instanceof StatusError && error.status === 409)) throw error;
    }
  }
}

/** The server sets these itself. */
function withoutTimes(item: Item): Item {
  const { creationTimestamp, deletionTimestamp, ...metadata } = item.metadata as Item;
  return { ...item, metadata };
}

/** Path of the objects of this one's kind. */
export function collection({ kind, apiVersion }: Item, namespace: string | undefined): string {
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
export async function untilServed(server: Administered, path: string): Promise<void> {
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
export async function send(
  server: Administered,
  method: Method,
  path: string,
  body?: Item,
): Promise<unknown> {
  return JSON.parse(await sendForText(server, method, path, body));
}

/** PATCH is server-side apply, by the field manager that the path names. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What the API server answers with a status other than success. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Likewise for what is not JSON, such as logs. */
export function sendForText(
  server: Administered,
  method: Method,
  path: string,
  body?: Item,
): Promise<string> {
  const headers = {
    authorization: `Bearer ${server.tokens.admin}`,
    "content-type": `application/${method === "PATCH" ? "apply-patch+yaml" : "json"}`,
  };
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(SEND_LIMIT_MS);
    const options = { method, headers, ca: server.ca, signal };
    const sent = request(`${server.url}${path}`, options, async (answer) => {
      let text = "";
      try {
        for await (const chunk of answer) text += chunk;
      } catch (error) {
        return reject(error);
      }
      const status = answer.statusCode ?? 0;
      if (status < 300) resolve(text);
      else reject(new StatusError(status, `${method} ${path}: ${status}: ${text.slice(0, 500)}`));
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
