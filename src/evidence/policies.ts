import { at, type Fields, fields, keyOf, list, number, text, texts } from "./fields.ts";
import type { EvidenceObject, FlowEnd, PacketDrop } from "./model.ts";
import type { PodView } from "./pods.ts";

/** One end of a flow as policies see it. */
export interface PolicyEnd {
  readonly namespace: string | undefined;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly namespaceLabels: Readonly<Record<string, string>>;
  readonly ip: string | undefined;
  /** Names of the container's ports. */
  readonly ports: Readonly<Record<string, number>>;
  readonly pod: string | undefined;
}

export interface PolicyFlow {
  readonly source: PolicyEnd;
  readonly destination: PolicyEnd;
  readonly port: number;
  readonly protocol: string;
}

/** What the policies say of a flow in one direction. */
export interface Ruling {
  readonly verdict: "allowed" | "denied" | "unclear";
  /** Policies that select the end in question, `Kind/namespace/name`. */
  readonly by: readonly string[];
  /** A whole sentence. */
  readonly why: string;
}

/**
 * What all policies together say at the door of the destination (ingress) or of the source
 * (egress). What this does not know how to read makes it unclear, never allowed or denied.
 */
export function ruling(
  flow: PolicyFlow,
  direction: "ingress" | "egress",
  policies: readonly EvidenceObject[],
): Ruling {
  const own = direction === "ingress" ? flow.destination : flow.source;
  const where = direction === "ingress" ? "the destination" : "the source";
  if (own.labels === undefined || own.namespace === undefined) {
    return { verdict: "unclear", by: [], why: `It is not known which pod ${where} is.` };
  }
  const selecting = policies.flatMap((policy) => rulesOf(policy, own, direction));
  const by = [...new Set(selecting.map((each) => each.policy))];
  const answers = selecting.map((rule) => matches(rule, flow, direction));
  const denies = answers.find((each, index) => each === "yes" && selecting[index]?.deny === true);
  if (denies !== undefined) {
    return { verdict: "denied", by, why: `A deny rule at ${where} fits the flow.` };
  }
  if (selecting.length === 0) {
    return { verdict: "allowed", by, why: `No policy limits the ${direction} of ${where}.` };
  }
  if (answers.includes("unclear")) {
    return { verdict: "unclear", by, why: `A policy at ${where} uses what is not evaluated here.` };
  }
  if (answers.some((each, index) => each === "yes" && selecting[index]?.deny === false)) {
    return { verdict: "allowed", by, why: `A rule at ${where} allows the flow.` };
  }
  if (selecting.every((each) => each.lenient === true)) {
    return { verdict: "allowed", by, why: `No policy limits the ${direction} of ${where}.` };
  }
  return { verdict: "denied", by, why: `Policies select ${where} and no rule allows the flow.` };
}

type Answer = "yes" | "no" | "unclear";

/** One rule of a policy that selects the end; a policy that selects and has none counts too. */
interface Rule {
  readonly policy: string;
  readonly deny: boolean;
  /** It refuses nothing that it does not name (enableDefaultDeny is off). */
  readonly lenient?: boolean;
  readonly peers: (flow: PolicyFlow, direction: "ingress" | "egress") => Answer;
  readonly ports: (flow: PolicyFlow) => Answer;
}

function matches(rule: Rule, flow: PolicyFlow, direction: "ingress" | "egress"): Answer {
  return both(rule.peers(flow, direction), () => rule.ports(flow));
}

function both(one: Answer, two: () => Answer): Answer {
  if (one === "no") return "no";
  const other = two();
  if (other === "no") return "no";
  return one === "unclear" || other === "unclear" ? "unclear" : "yes";
}

function any(answers: readonly Answer[]): Answer {
  if (answers.includes("yes")) return "yes";
  return answers.includes("unclear") ? "unclear" : "no";
}

const nothing: Pick<Rule, "peers" | "ports"> = { peers: () => "no", ports: () => "no" };

function rulesOf(policy: EvidenceObject, own: PolicyEnd, direction: "ingress" | "egress"): Rule[] {
  if (policy.kind === "NetworkPolicy") return kubernetesRules(policy, own, direction);
  return ciliumRules(policy, own, direction);
}

// --- NetworkPolicy -----------------------------------------------------------------------------

function kubernetesRules(
  policy: EvidenceObject,
  own: PolicyEnd,
  direction: "ingress" | "egress",
): Rule[] {
  if (policy.metadata.namespace !== own.namespace) return [];
  if (selects(at(policy.spec, "podSelector"), own.labels ?? {}) !== "yes") return [];
  const types = texts(at(policy.spec, "policyTypes"));
  const hasEgress = at(policy.spec, "egress") !== undefined;
  const applies =
    direction === "ingress"
      ? types.length === 0 || types.includes("Ingress")
      : types.includes("Egress") || (types.length === 0 && hasEgress);
  if (!applies) return [];
  const name = `NetworkPolicy/${keyOf(policy)}`;
  const rules = list(at(policy.spec, direction));
  if (rules.length === 0) return [{ policy: name, deny: false, ...nothing }];
  return rules.map((rule) => ({
    policy: name,
    deny: false,
    peers: (flow) => {
      const peers = list(rule[direction === "ingress" ? "from" : "to"]);
      const other = direction === "ingress" ? flow.source : flow.destination;
      if (peers.length === 0) return "yes";
      return any(peers.map((peer) => kubernetesPeer(peer, other, policy.metadata.namespace)));
    },
    ports: (flow) => kubernetesPorts(list(rule.ports), flow),
  }));
}

function kubernetesPeer(peer: Fields, other: PolicyEnd, namespace: string | undefined): Answer {
  const block = fields(peer.ipBlock);
  const cidr = text(block.cidr);
  if (cidr !== undefined) {
    if (other.ip === undefined) return "unclear";
    const inside = inCidr(other.ip, cidr);
    if (inside !== "yes") return inside;
    const except = any(texts(block.except).map((each) => inCidr(other.ip ?? "", each)));
    if (except === "yes") return "no";
    // Whether a block of addresses takes in pods is left to the network; Cilium's does not.
    return except === "unclear" || other.labels !== undefined ? "unclear" : "yes";
  }
  if (other.labels === undefined) return other.pod === undefined ? "unclear" : "no";
  const ofNamespace =
    peer.namespaceSelector === undefined
      ? other.namespace === namespace
        ? "yes"
        : "no"
      : selects(peer.namespaceSelector, other.namespaceLabels);
  const { labels } = other;
  return both(ofNamespace, () =>
    peer.podSelector === undefined ? "yes" : selects(peer.podSelector, labels),
  );
}

function kubernetesPorts(ports: readonly Fields[], flow: PolicyFlow): Answer {
  if (ports.length === 0) return "yes";
  return any(
    ports.map((each) => {
      if ((text(each.protocol) ?? "TCP").toLowerCase() !== flow.protocol) return "no";
      const port = each.port;
      if (port === undefined) return "yes";
      const first = typeof port === "string" ? flow.destination.ports[port] : number(port);
      if (first === undefined) return "unclear";
      const last = number(each.endPort) ?? first;
      return flow.port >= first && flow.port <= last ? "yes" : "no";
    }),
  );
}

// --- Cilium ------------------------------------------------------------------------------------

/** Fields of a rule that narrow or widen it in ways that are not evaluated. */
const UNREAD = [
  "fromRequires",
  "toRequires",
  "fromNodes",
  "toNodes",
  "fromGroups",
  "toGroups",
  "toServices",
  "toFQDNs",
  "icmps",
  "authentication",
];
const PEERS = ["Endpoints", "Entities", "CIDR", "CIDRSet"];

function ciliumRules(
  policy: EvidenceObject,
  own: PolicyEnd,
  direction: "ingress" | "egress",
): Rule[] {
  const name = `${policy.kind}/${keyOf(policy)}`;
  const namespace = policy.kind === "CiliumNetworkPolicy" ? policy.metadata.namespace : undefined;
  const specs = [
    ...(policy.spec === undefined ? [] : [fields(policy.spec)]),
    ...list(policy.specs),
  ];
  return specs.flatMap((spec) => {
    const selected = ciliumSelects(spec, own, namespace);
    if (selected === "no") return [];
    const rules = [false, true].flatMap((deny) =>
      ciliumRule({ name, namespace, spec, direction, deny }),
    );
    if (selected === "yes") return rules;
    return rules.length === 0 ? [] : [{ policy: name, deny: false, ...unclearRule }];
  });
}

const unclearRule: Pick<Rule, "peers" | "ports"> = { peers: () => "unclear", ports: () => "yes" };

function ciliumSelects(spec: Fields, own: PolicyEnd, namespace: string | undefined): Answer {
  if (spec.nodeSelector !== undefined) return "no";
  if (namespace !== undefined && namespace !== own.namespace) return "no";
  return selects(spec.endpointSelector, ciliumLabels(own));
}

interface CiliumRuleOf {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly spec: Fields;
  readonly direction: "ingress" | "egress";
  readonly deny: boolean;
}

function ciliumRule({ name, namespace, spec, direction, deny }: CiliumRuleOf): Rule[] {
  const section = spec[deny ? `${direction}Deny` : direction];
  if (!Array.isArray(section)) return [];
  const lenient = at(spec, "enableDefaultDeny", direction) === false;
  if (section.length === 0) return deny ? [] : [{ policy: name, deny, lenient, ...nothing }];
  return list(section).map((rule) => ({
    policy: name,
    deny,
    lenient,
    peers: (flow) => {
      // Unlike Kubernetes' own, a rule that names nothing allows nothing.
      if (Object.keys(rule).length === 0) return "no";
      if (UNREAD.some((key) => rule[key] !== undefined)) return "unclear";
      const other = direction === "ingress" ? flow.source : flow.destination;
      return ciliumPeers(rule, direction === "ingress" ? "from" : "to", other, namespace);
    },
    ports: (flow) => ciliumPorts(rule, flow),
  }));
}

function ciliumPeers(
  rule: Fields,
  side: "from" | "to",
  other: PolicyEnd,
  namespace: string | undefined,
): Answer {
  const given = PEERS.filter((each) => rule[`${side}${each}`] !== undefined);
  if (given.length === 0) return "yes";
  const answers = given.flatMap((each): Answer[] => {
    const peers = rule[`${side}${each}`];
    if (each === "Endpoints")
      return list(peers).map((one) => ciliumEndpoint(one, other, namespace));
    if (each === "Entities") return texts(peers).map((entity) => ciliumEntity(entity, other));
    // CIDR rules never fit pods of the cluster.
    return other.labels === undefined ? ["unclear"] : ["no"];
  });
  return any(answers);
}

function ciliumEndpoint(selector: Fields, other: PolicyEnd, namespace: string | undefined): Answer {
  if (other.labels === undefined) return other.pod === undefined ? "unclear" : "no";
  const keys = [
    ...Object.keys(fields(selector.matchLabels)),
    ...list(selector.matchExpressions).flatMap((each) => text(each.key) ?? []),
  ];
  const namesNamespace = keys.some((key) =>
    /io\.kubernetes\.pod\.namespace|io\.cilium\.k8s\.namespace\.labels/.test(key),
  );
  if (namespace !== undefined && !namesNamespace && other.namespace !== namespace) return "no";
  return selects(selector, ciliumLabels(other));
}

function ciliumEntity(entity: string, other: PolicyEnd): Answer {
  if (entity === "all") return "yes";
  const isPod = other.labels !== undefined;
  if (entity === "cluster") return isPod ? "yes" : "unclear";
  return isPod ? "no" : "unclear";
}

function ciliumPorts(rule: Fields, flow: PolicyFlow): Answer {
  const groups = list(rule.toPorts);
  if (groups.length === 0) return "yes";
  return any(
    groups.map((group) => {
      const ports = list(group.ports);
      const fits = ports.length === 0 ? "yes" : any(ports.map((each) => ciliumPort(each, flow)));
      // Rules of layer 7 refuse with an answer of their own, they do not drop packets.
      return fits;
    }),
  );
}

function ciliumPort(each: Fields, flow: PolicyFlow): Answer {
  const protocol = (text(each.protocol) ?? "ANY").toLowerCase();
  if (protocol !== "any" && protocol !== flow.protocol) return "no";
  const word = text(each.port) ?? String(each.port ?? "0");
  const first = /^\d+$/.test(word) ? Number(word) : flow.destination.ports[word];
  if (first === undefined) return "unclear";
  if (first === 0) return "yes";
  const last = number(each.endPort) ?? first;
  return flow.port >= first && flow.port <= last ? "yes" : "no";
}

/** A pod's labels as Cilium names them, with those of its namespace. */
function ciliumLabels(end: PolicyEnd): Record<string, string> {
  const labels: Record<string, string> = { ...end.labels };
  if (end.namespace !== undefined) labels["io.kubernetes.pod.namespace"] = end.namespace;
  for (const [key, value] of Object.entries(end.namespaceLabels)) {
    labels[`io.cilium.k8s.namespace.labels.${key}`] = value;
  }
  return labels;
}

// --- selectors and addresses -------------------------------------------------------------------

/** Does a label selector select these labels? An operator that is not known makes it unclear. */
export function selects(selector: unknown, labels: Readonly<Record<string, string>>): Answer {
  const plain = (key: string) => key.replace(/^(k8s|any|reserved)[:.]/, "");
  for (const [key, value] of Object.entries(fields(fields(selector).matchLabels))) {
    if (labels[plain(key)] !== value) return "no";
  }
  for (const each of list(fields(selector).matchExpressions)) {
    const answer = expression(each, labels[plain(text(each.key) ?? "")]);
    if (answer !== "yes") return answer;
  }
  return "yes";
}

function expression(each: Fields, value: string | undefined): Answer {
  const values = texts(each.values);
  const is = (fits: boolean): Answer => (fits ? "yes" : "no");
  switch (each.operator) {
    case "In":
      return is(value !== undefined && values.includes(value));
    case "NotIn":
      return is(value === undefined || !values.includes(value));
    case "Exists":
      return is(value !== undefined);
    case "DoesNotExist":
      return is(value === undefined);
    default:
      return "unclear";
  }
}

/** IPv4 alone; an IPv6 block is unclear. */
function inCidr(ip: string, cidr: string): Answer {
  const [base = "", bits = "32"] = cidr.split("/");
  const own = ipv4(ip);
  const network = ipv4(base);
  if (own === undefined || network === undefined) return "unclear";
  const size = 2 ** (32 - Number(bits));
  return Math.floor(own / size) === Math.floor(network / size) ? "yes" : "no";
}

function ipv4(text: string): number | undefined {
  const parts = text.split(".").map(Number);
  if (parts.length !== 4 || parts.some((each) => !(each >= 0 && each <= 255))) return undefined;
  return parts.reduce((sum, each) => sum * 256 + each, 0);
}

// --- from a dropped packet to a flow -----------------------------------------------------------

export interface FlowFacts {
  readonly pods: readonly PodView[];
  readonly services: readonly EvidenceObject[];
  readonly endpoints: readonly EvidenceObject[];
  readonly namespaces: readonly EvidenceObject[];
  readonly identities: readonly EvidenceObject[];
}

/** The flow of a dropped packet with its ends named, behind a ClusterIP on the target's port. */
export function flowOf(drop: PacketDrop, facts: FlowFacts): PolicyFlow | undefined {
  if (drop.port === undefined) return undefined;
  const protocol = drop.protocol ?? "tcp";
  const behind = behindService(drop.destination.ip, drop.port, facts);
  const destination =
    behind === undefined
      ? policyEnd(drop.destination, facts)
      : policyEnd({ ...drop.destination, ...behind.end }, facts);
  const port = behind?.port ?? drop.port;
  return { source: policyEnd(drop.source, facts), destination, port, protocol };
}

function policyEnd(end: FlowEnd, facts: FlowFacts): PolicyEnd {
  const pod = podOf(end, facts);
  const identity = facts.identities.find(
    (each) => each.kind === "CiliumIdentity" && each.metadata.name === String(end.identity),
  );
  const byIdentity = securityLabels(identity);
  const labels = pod?.labels ?? end.labels ?? byIdentity?.labels;
  const namespace = pod?.namespace ?? end.namespace ?? byIdentity?.namespace;
  const object = facts.namespaces.find((each) => each.metadata.name === namespace);
  return {
    namespace,
    labels,
    namespaceLabels: {
      ...(namespace === undefined ? {} : { "kubernetes.io/metadata.name": namespace }),
      ...object?.metadata.labels,
    },
    ip: end.ip,
    ports: pod?.ports ?? {},
    pod: pod?.key ?? (end.pod === undefined ? undefined : `${end.namespace}/${end.pod}`),
  };
}

/** Cilium keeps identities below this for what is no pod. */
const OWN_IDENTITY = 256;

/** By name, by address, or by the endpoint that has this identity if it is the only one. */
function podOf(end: FlowEnd, facts: FlowFacts): PodView | undefined {
  // The node itself, and programs that use its network, have its address and no pod's identity.
  const isReserved = end.identity !== undefined && end.identity > 0 && end.identity < OWN_IDENTITY;
  if (isReserved) return undefined;
  if (end.pod !== undefined) {
    return facts.pods.find((pod) => pod.name === end.pod && pod.namespace === end.namespace);
  }
  const byAddress = facts.pods.filter((pod) => end.ip !== undefined && pod.ip === end.ip);
  if (byAddress.length === 1) return byAddress[0];
  const endpoints = facts.identities.filter(
    (each) =>
      each.kind === "CiliumEndpoint" &&
      number(at(each.status, "identity", "id")) === end.identity &&
      end.identity !== undefined,
  );
  const [only] = endpoints;
  if (endpoints.length !== 1 || only === undefined) return undefined;
  return facts.pods.find((pod) => pod.key === keyOf(only));
}

function securityLabels(identity: EvidenceObject | undefined) {
  if (identity === undefined) return undefined;
  const labels: Record<string, string> = {};
  let namespace: string | undefined;
  for (const [key, value] of Object.entries(fields(identity["security-labels"]))) {
    const name = key.replace(/^k8s:/, "");
    if (name === "io.kubernetes.pod.namespace") namespace = text(value);
    else if (key.startsWith("k8s:") && typeof value === "string") labels[name] = value;
  }
  return { labels, namespace };
}

/** A pod and port behind a Service's address, if all its endpoints have the same labels. */
function behindService(ip: string | undefined, port: number, facts: FlowFacts) {
  const service = facts.services.find(
    (each) => ip !== undefined && at(each.spec, "clusterIP") === ip,
  );
  if (service === undefined) return undefined;
  const entry = list(at(service.spec, "ports")).find((each) => each.port === port);
  const slices = facts.endpoints.filter(
    (each) =>
      each.metadata.namespace === service.metadata.namespace &&
      each.metadata.labels?.["kubernetes.io/service-name"] === service.metadata.name,
  );
  const [endpoint] = slices.flatMap((each) => list(each.endpoints));
  const ports = slices.flatMap((each) => list(each.ports));
  const target = ports.find((each) => each.name === entry?.name) ?? ports[0];
  const name = text(at(endpoint?.targetRef, "name"));
  const targetPort = number(target?.port) ?? number(entry?.targetPort);
  if (name === undefined || targetPort === undefined) return undefined;
  return { end: { pod: name, namespace: service.metadata.namespace }, port: targetPort };
}
