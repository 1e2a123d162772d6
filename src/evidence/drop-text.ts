import { timeMs } from "./log-line.ts";
import type { FlowEnd, PacketDrop, Place } from "./model.ts";

/*
 * Dropped packets as two tools tell them: `cilium-dbg monitor --type drop` in lines of text, and
 * Hubble in lines of JSON.
 */

/** Reason, endpoint it went to, identities, addresses, protocol. */
const MONITOR = new RegExp(
  [
    /xx drop \(([^)]*)\)(?: flow \S+)?(?: to endpoint (\d+))?/,
    /.*?identity (\S+?)->(\S+?): (\S+) -> (\S+)(?: (tcp|udp|sctp|icmp\S*))?/,
  ]
    .map(({ source }) => source)
    .join(""),
  "i",
);

const NOBODY: FlowEnd = {
  ip: undefined,
  identity: undefined,
  namespace: undefined,
  pod: undefined,
  labels: undefined,
};

/** A drop of the monitor's text, or undefined. Its endpoint 0 or none means the sender's door. */
export function readMonitorDrop(line: string, place: Place): PacketDrop | undefined {
  if (!line.includes("xx drop (")) return undefined;
  const found = MONITOR.exec(line.slice(0, 2_000));
  if (found === null) return undefined;
  const [, reason = "", endpoint, from, to, source = "", target = "", protocol] = found;
  const destination = address(target);
  const stamp = /\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)/.exec(line.slice(0, 80))?.[0];
  return {
    atMs: timeMs(stamp),
    reason,
    source: { ...NOBODY, ip: address(source).ip, identity: identityOf(from) },
    destination: { ...NOBODY, ip: destination.ip, identity: identityOf(to) },
    port: destination.port,
    protocol: protocol?.toLowerCase(),
    direction: endpoint === undefined ? undefined : endpoint === "0" ? "egress" : "ingress",
    place,
  };
}

/** `10.0.0.1:80`, `[fd00::1]:80` or an address alone. */
function address(text: string): { ip: string; port: number | undefined } {
  const six = /^\[([^\]]+)\](?::(\d+))?$/.exec(text);
  const four = /^([\d.]+)(?::(\d+))?$/.exec(text);
  const found = six ?? four;
  if (found === null) return { ip: text, port: undefined };
  return { ip: found[1] ?? text, port: found[2] === undefined ? undefined : Number(found[2]) };
}

const reservedIdentities: Readonly<Record<string, number>> = {
  unknown: 0,
  host: 1,
  world: 2,
  unmanaged: 3,
  health: 4,
  init: 5,
  "remote-node": 6,
  "kube-apiserver": 7,
  ingress: 8,
};

/** A numeric identity, from its number or the name of a reserved one. */
function identityOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  return Number.isInteger(number) ? number : reservedIdentities[text];
}

/** A dropped flow of Hubble's JSON, or undefined for anything else. */
export function readHubbleDrop(record: unknown, place: Place): PacketDrop | undefined {
  const flow = field(record, "flow") ?? record;
  if (field(flow, "verdict") !== "DROPPED") return undefined;
  const layer4 = field(flow, "l4");
  const tcp = field(layer4, "TCP");
  const udp = field(layer4, "UDP");
  const port = field(tcp ?? udp, "destination_port");
  const direction = field(flow, "traffic_direction");
  const reason = field(flow, "drop_reason_desc") ?? field(flow, "drop_reason");
  return {
    atMs: timeMs(field(flow, "time") ?? field(record, "time")),
    reason: typeof reason === "string" ? reason.toLowerCase().replaceAll("_", " ") : "",
    source: flowEnd(field(flow, "source"), field(field(flow, "IP"), "source")),
    destination: flowEnd(field(flow, "destination"), field(field(flow, "IP"), "destination")),
    port: typeof port === "number" ? port : undefined,
    protocol: tcp !== undefined ? "tcp" : udp !== undefined ? "udp" : undefined,
    direction: direction === "INGRESS" ? "ingress" : direction === "EGRESS" ? "egress" : undefined,
    place,
  };
}

function flowEnd(end: unknown, ip: unknown): FlowEnd {
  const identity = field(end, "identity");
  const labels = field(end, "labels");
  return {
    ip: string(ip),
    identity: typeof identity === "number" ? identity : undefined,
    namespace: string(field(end, "namespace")),
    pod: string(field(end, "pod_name")),
    labels: Array.isArray(labels) ? podLabels(labels) : undefined,
  };
}

/** Cilium writes a label as `k8s:app=web`; others are not of the pod. */
function podLabels(labels: readonly unknown[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const label of labels) {
    const match = typeof label === "string" ? /^k8s:([^=]+)=(.*)$/.exec(label) : null;
    if (match?.[1] !== undefined) found[match[1]] = match[2] ?? "";
  }
  return found;
}

function field(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Record<string, unknown>)[key];
}

const string = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
