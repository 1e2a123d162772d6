import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { evidenceKinds } from "../../evidence/kinds.ts";

/** What a fake API server has. */
export interface FakeCluster {
  /** With apiVersion, kind and metadata. */
  readonly objects: readonly Readonly<Record<string, unknown>>[];
  readonly logs: readonly FakeLog[];
  /** What programs in pods answer: path, as `/metrics`, to text. */
  readonly inPods: readonly {
    readonly namespace: string;
    readonly pod: string;
    readonly path: string;
    readonly text: string;
  }[];
  /** The server's clock. */
  readonly nowMs: number;
  /** Groups it does not have at all. */
  readonly withoutGroups?: readonly string[];
}
export interface FakeLog {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string | undefined;
  readonly previous: boolean;
  readonly lines: readonly string[];
}

/** What is wrong with it. The first row that fits a request decides. */
export interface FakeFault {
  /** Method and path with query, as "GET /api/v1/pods?limit=500". */
  readonly fits: RegExp;
  readonly does: "forbid" | "hang" | "gone" | "fail" | "cut" | "reset";
  /** For the first requests only. */
  readonly times?: number;
}

export interface FakeApiServer {
  readonly url: string;
  /** Every request so far, as "GET /api/v1/pods?limit=500". */
  readonly requests: readonly string[];
  /** Headers of the newest request. */
  headers(): IncomingMessage["headers"];
  close(): Promise<void>;
}

/** Serves lists (paged), logs, the pod proxy and port-forwards over HTTP. */
export async function startFakeApiServer(
  cluster: FakeCluster,
  faults: readonly FakeFault[] = [],
): Promise<FakeApiServer> {
  const requests: string[] = [];
  const used = new Map<FakeFault, number>();
  let headers: IncomingMessage["headers"] = {};
  const faultFor = (request: string) => {
    const found = faults.find(({ fits, times }, index) => {
      const fault = faults[index] as FakeFault;
      return fits.test(request) && (used.get(fault) ?? 0) < (times ?? Number.POSITIVE_INFINITY);
    });
    if (found !== undefined) used.set(found, (used.get(found) ?? 0) + 1);
    return found?.does;
  };
  const server = createServer((request, response) => {
    headers = request.headers;
    const line = `${request.method} ${request.url}`;
    requests.push(line);
    response.setHeader("date", new Date(cluster.nowMs).toUTCString());
    answer(cluster, request, response, faultFor(line));
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
    headers = request.headers;
    const line = `${request.method} ${request.url}`;
    requests.push(line);
    forward(cluster, request, socket, faultFor(line));
  });
  await listen(server);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    headers: () => headers,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const listen = (server: Server) =>
  new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));

function answer(
  cluster: FakeCluster,
  request: IncomingMessage,
  response: ServerResponse,
  fault: FakeFault["does"] | undefined,
): void {
  if (fault === "hang") return;
  if (fault === "reset") return void request.socket.destroy();
  if (fault === "forbid") return void status(response, 403, "is forbidden: User cannot do that");
  if (fault === "gone")
    return void status(response, 410, "The provided continue parameter is too old");
  if (fault === "fail") return void status(response, 500, "etcdserver: request timed out");
  const url = new URL(request.url ?? "/", "http://x");
  const found =
    groupsAt(cluster, url) ?? logAt(cluster, url) ?? inPodAt(cluster, url) ?? listAt(cluster, url);
  if (found === undefined) return void status(response, 404, "the server could not find it");
  const text = typeof found === "string" ? found : JSON.stringify(trimmed(found, request));
  response.setHeader("content-type", typeof found === "string" ? "text/plain" : "application/json");
  if (fault !== "cut") return void response.end(text);
  // Some of it, and then the connection is gone.
  response.setHeader("content-length", String(Buffer.byteLength(text) + 1));
  response.write(text.slice(0, Math.floor(text.length / 2)), () => request.socket.destroy());
}

function status(response: ServerResponse, code: number, message: string): void {
  response.statusCode = code;
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ kind: "Status", apiVersion: "v1", message, code }));
}

function groupsAt(cluster: FakeCluster, { pathname }: URL): object | undefined {
  if (pathname !== "/apis") return undefined;
  const groups = Map.groupBy(served, ([group]) => group);
  const listed = [...groups].filter(
    ([group]) => group !== "" && cluster.withoutGroups?.includes(group) !== true,
  );
  return {
    kind: "APIGroupList",
    groups: listed.map(([name, rows]) => ({
      name,
      versions: rows.map(([, version]) => ({ version, groupVersion: `${name}/${version}` })),
    })),
  };
}

/** Group, version and a kind of it. */
const served: readonly (readonly [string, string, string])[] = [
  ["", "v1", "Pod"],
  ["apps", "v1", "Deployment"],
  ["coordination.k8s.io", "v1", "Lease"],
  ["discovery.k8s.io", "v1", "EndpointSlice"],
  ["networking.k8s.io", "v1", "NetworkPolicy"],
  ["cilium.io", "v2", "CiliumEndpoint"],
  ["source.toolkit.fluxcd.io", "v1", "GitRepository"],
  ["infra.contrib.fluxcd.io", "v1alpha2", "Terraform"],
];

interface Item {
  readonly kind?: unknown;
  readonly metadata?: { readonly namespace?: string };
}

function listAt(cluster: FakeCluster, url: URL): object | undefined {
  const form = /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)$/;
  const found = form.exec(url.pathname);
  if (found === null) return undefined;
  const [, group = "", version, namespace, plural] = found;
  if (cluster.withoutGroups?.includes(group) === true) return undefined;
  if (!served.some(([name, each]) => name === group && each === version)) return undefined;
  const kind = Object.entries(evidenceKinds).find(([, each]) => each === plural)?.[0];
  if (kind === undefined) return undefined;
  const items = (cluster.objects as readonly Item[]).filter(
    (each) =>
      each.kind === kind && (namespace === undefined || each.metadata?.namespace === namespace),
  );
  const limit = Number(url.searchParams.get("limit") ?? 0) || items.length;
  const from = Number(url.searchParams.get("continue") ?? 0);
  const rest = from + limit < items.length ? { continue: String(from + limit) } : {};
  return {
    ...{ kind: `${kind}List`, apiVersion: group === "" ? "v1" : `${group}/${version}` },
    metadata: { resourceVersion: "1", ...rest },
    items: items.slice(from, from + limit).map(({ kind: _, ...each }) => each),
  };
}

/** Only metadata, for who asks for that. */
function trimmed(found: object, request: IncomingMessage): object {
  if (request.headers.accept?.includes("PartialObjectMetadataList") !== true) return found;
  const { items = [], ...list } = found as { items?: { metadata?: unknown }[] };
  const kind = "PartialObjectMetadataList";
  return { ...list, kind, items: items.map(({ metadata }) => ({ metadata })) };
}

function logAt(cluster: FakeCluster, url: URL): string | undefined {
  const found = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/log$/.exec(url.pathname);
  if (found === null) return undefined;
  const [, namespace, pod] = found;
  const container = url.searchParams.get("container");
  const previous = url.searchParams.get("previous") === "true";
  const log = cluster.logs.find(
    (each) =>
      each.namespace === namespace &&
      each.pod === pod &&
      each.previous === previous &&
      (each.container === undefined || each.container === container),
  );
  if (log === undefined) return undefined;
  const tail = Number(url.searchParams.get("tailLines") ?? log.lines.length);
  const lines = tail === 0 ? [] : log.lines.slice(-tail);
  return lines.map((line) => `${line}\n`).join("");
}

function inPodAt(cluster: FakeCluster, url: URL): string | undefined {
  const form = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/:]+):8080\/proxy(\/.*)$/;
  const found = form.exec(url.pathname);
  if (found === null) return undefined;
  const [, namespace, pod, path] = found;
  return textInPod(cluster, { namespace, pod, path });
}

function textInPod(
  cluster: FakeCluster,
  at: Readonly<Record<"namespace" | "pod" | "path", string | undefined>>,
): string | undefined {
  return cluster.inPods.find(
    (each) =>
      each.namespace === at.namespace &&
      each.pod === at.pod &&
      each.path.split("?")[0] === at.path?.split("?")[0],
  )?.text;
}

/** A port-forward as kubelets speak it: each frame's first byte is its channel. */
function forward(
  cluster: FakeCluster,
  request: IncomingMessage,
  socket: Duplex,
  fault: FakeFault["does"] | undefined,
): void {
  const form = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/portforward\?ports=(\d+)$/;
  const found = form.exec(request.url ?? "");
  if (fault === "hang") return;
  if (fault !== undefined || found === null) {
    socket.end(`HTTP/1.1 ${fault === "forbid" ? 403 : 404} No\r\ncontent-length: 0\r\n\r\n`);
    return;
  }
  const [, namespace = "", pod = "", port = "0"] = found;
  const protocol = request.headers["sec-websocket-protocol"] ?? "";
  socket.write(
    "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n" +
      `sec-websocket-protocol: ${protocol}\r\n\r\n`,
  );
  for (const channel of [0, 1]) socket.write(frame([channel, Number(port) & 255, +port >> 8]));
  socket.once("data", (bytes: Buffer) => {
    const asked = unmasked(bytes).subarray(1).toString("utf8");
    const path = /^GET (\S+)/.exec(asked)?.[1] ?? "";
    const text = textInPod(cluster, { namespace, pod, path });
    const head = text === undefined ? "HTTP/1.0 404 Not Found" : "HTTP/1.0 200 OK";
    const whole = Buffer.from(`${head}\r\ncontent-type: text/plain\r\n\r\n${text ?? ""}`);
    for (let at = 0; at < whole.length; at += 40_000) {
      socket.write(frame([0, ...whole.subarray(at, at + 40_000)]));
    }
    socket.end(Buffer.from([0x88, 0]));
  });
}

function frame(bytes: readonly number[]): Buffer {
  const payload = Buffer.from(bytes);
  const head =
    payload.length < 126
      ? Buffer.from([0x82, payload.length])
      : Buffer.from([0x82, 126, payload.length >> 8, payload.length & 255]);
  return Buffer.concat([head, payload]);
}

function unmasked(bytes: Buffer): Buffer {
  const short = bytes.readUInt8(1) & 0x7f;
  const from = short === 126 ? 4 : 2;
  const mask = bytes.subarray(from, from + 4);
  return Buffer.from(bytes.subarray(from + 4).map((byte, i) => byte ^ (mask[i % 4] ?? 0)));
}
