import { type ControlPlaneView, controlPlaneOf } from "./control-plane.ts";
import {
  type ControllerView,
  controllersOf,
  type LeadershipView,
  type LeaseView,
  leadershipOf,
  leaseView,
} from "./controllers.ts";
import { fields } from "./fields.ts";
import { type LockView, locksOf } from "./locks.ts";
import type { Evidence, EvidenceObject, Gap, LogStream, PacketDrop } from "./model.ts";
import { type PassesView, passesOf } from "./passes.ts";
import {
  type EventView,
  eventView,
  type NodeView,
  nodeView,
  type PodView,
  podView,
} from "./pods.ts";
import { type RebootView, rebootsOf } from "./reboots.ts";
import { type SourceView, sourceKinds, sourceView } from "./sources.ts";
import { type TerraformView, terraformView } from "./terraforms.ts";
import { type CallsView, callsOf, type WorkersView, workersOf } from "./workers.ts";

/**
 * What follows from the evidence, in parts that recognizers name as needed or wanted. A part is
 * undefined if the evidence does not hold what it is made of: "not known" is never "none".
 */
export interface Knowledge {
  readonly terraforms: readonly TerraformView[];
  readonly pods: readonly PodView[];
  readonly nodes: readonly NodeView[];
  readonly events: readonly EventView[];
  readonly leases: readonly LeaseView[];
  readonly sources: readonly SourceView[];
  readonly secrets: readonly EvidenceObject[];
  readonly services: readonly EvidenceObject[];
  readonly endpoints: readonly EvidenceObject[];
  readonly policies: readonly EvidenceObject[];
  readonly namespaces: readonly EvidenceObject[];
  readonly identities: readonly EvidenceObject[];
  readonly controllers: readonly ControllerView[];
  readonly leadership: LeadershipView;
  /** Newest pass of each object, by the leader's log. */
  readonly passes: PassesView;
  readonly workers: readonly WorkersView[];
  /** Whether work goes on: by metrics or by the log. */
  readonly activity: { readonly passes?: PassesView; readonly workers?: readonly WorkersView[] };
  readonly calls: CallsView;
  readonly locks: readonly LockView[];
  readonly reboots: readonly RebootView[];
  readonly controlPlane: ControlPlaneView;
  readonly runnerLogs: readonly LogStream[];
  readonly drops: readonly PacketDrop[];
  /** Kinds that were listed, but not in every namespace: what is not there may yet exist. */
  readonly unread: UnreadView;
}

export interface UnreadView {
  /** Namespaces whose pods could not be read. */
  readonly podsIn: readonly string[];
}

export type Part = keyof Knowledge;
export type Known = { readonly [P in Part]?: Knowledge[P] };

export interface PartWords {
  /** What it is, for "… could not be read". */
  readonly says: string;
  /** The command that gets it. */
  readonly command: string;
  /** Collected by habit: its absence means that something could not be read. */
  readonly usual: boolean;
}

/** Of each part what it is called and how to get it. */
export const parts: Readonly<Record<Part, PartWords>> = {
  terraforms: usual("the Terraform objects", "kubectl get terraforms -A -o json"),
  pods: usual("the pods", "kubectl get pods -A -o json"),
  nodes: usual("the nodes", "kubectl get nodes -o json"),
  events: extra("the events", "kubectl get events -A -o json"),
  leases: usual("the Leases", "kubectl get leases -A -o json"),
  sources: usual(
    "the Flux sources",
    "kubectl get gitrepositories,ocirepositories,buckets -A -o json",
  ),
  secrets: extra(
    "the names of the Secrets",
    "kubectl get secrets -A -o custom-columns=NS:.metadata.namespace,NAME:.metadata.name",
  ),
  services: extra("the Services", "kubectl get services -A -o json"),
  endpoints: extra("the EndpointSlices", "kubectl get endpointslices -A -o json"),
  policies: extra(
    "the network policies of every kind in use",
    "kubectl get networkpolicies,ciliumnetworkpolicies,ciliumclusterwidenetworkpolicies -A -o json",
  ),
  namespaces: extra("the namespaces", "kubectl get namespaces -o json"),
  identities: extra(
    "Cilium's endpoints and identities",
    "kubectl get ciliumendpoints,ciliumidentities -A -o json",
  ),
  controllers: usual("the controller's pod", "kubectl get pods -A -o json"),
  leadership: usual("who leads (the controller's Lease)", "kubectl get leases -A -o json"),
  passes: usual("the log of the controller that leads", "kubectl -n NAMESPACE logs POD"),
  workers: usual(
    "the controller's metrics",
    "kubectl get --raw /api/v1/namespaces/NAMESPACE/pods/POD:8080/proxy/metrics",
  ),
  activity: usual(
    "the controller's metrics or its log",
    "kubectl get --raw /api/v1/namespaces/NAMESPACE/pods/POD:8080/proxy/metrics",
  ),
  calls: extra(
    "the controller's goroutines",
    "kubectl get --raw " +
      "'/api/v1/namespaces/NAMESPACE/pods/POD:8080/proxy/debug/pprof/goroutine?debug=2'",
  ),
  locks: usual("the state locks", "kubectl get leases,terraforms -A -o json"),
  reboots: usual("the nodes and pods", "kubectl get nodes,pods -A -o json"),
  controlPlane: usual(
    "the logs of the controllers, of etcd or of the API server",
    "kubectl -n NAMESPACE logs POD --previous",
  ),
  runnerLogs: extra("the logs of the runners", "kubectl -n NAMESPACE logs NAME-tf-runner"),
  drops: extra("a recording of dropped packets", "cilium-dbg monitor --type drop"),
  unread: extra("what could not be read", "nigari collect"),
};

function usual(says: string, command: string): PartWords {
  return { says, command, usual: true };
}
function extra(says: string, command: string): PartWords {
  return { says, command, usual: false };
}

/** When the evidence is judged, and when it was read. */
export interface Moment {
  readonly asOfMs: number;
  /** When it was taken; silence after that is not known. */
  readonly takenMs: number;
}

/** Derives the parts. Pure: the same evidence gives the same knowledge, in any order. */
export function know(evidence: Evidence, moment: Moment): Known {
  const objects = of(evidence);
  const events = objects.some("Event", eventView)?.sort((one, two) => one.atMs - two.atMs);
  const pods = objects.map("Pod", podView);
  const nodes = objects.map("Node", nodeView);
  const leases = objects.map("Lease", leaseView);
  const terraforms = objects.map("Terraform", terraformView);
  const logs = untilAsOf(sorted(evidence.logs), moment.asOfMs);
  const controllers = pods === undefined ? undefined : controllersOf(pods, leases);
  const leadership =
    controllers === undefined ? undefined : leadershipOf(controllers, leases, evidence.metrics);
  const passes = passesOf(logs, leadership, Math.min(moment.takenMs, moment.asOfMs));
  const workers = nonEmpty(workersOf(evidence.metrics, leadership));
  return dropUndefined({
    terraforms,
    pods,
    nodes,
    events,
    leases,
    sources: sourcesIn(objects),
    secrets: objects.map("Secret", same),
    services: objects.map("Service", same),
    endpoints: objects.map("EndpointSlice", same) ?? objects.map("Endpoints", same),
    policies: policiesIn(objects, evidence),
    namespaces: objects.map("Namespace", same),
    identities: both(objects.map("CiliumEndpoint", same), objects.map("CiliumIdentity", same)),
    controllers: nonEmpty(controllers),
    leadership,
    passes,
    workers,
    activity: activityOf(passes, workers),
    calls: callsOf(evidence.goroutines),
    locks: terraforms === undefined ? undefined : locksOf(leases, terraforms),
    reboots:
      nodes === undefined || pods === undefined ? undefined : rebootsOf(nodes, pods, events ?? []),
    controlPlane: controlPlaneOf(logs, events ?? [], pods ?? []),
    runnerLogs: nonEmpty(logs.filter((log) => log.name.endsWith("-tf-runner"))),
    drops: evidence.dropsRecorded || evidence.drops.length > 0 ? evidence.drops : undefined,
    unread: unreadIn(evidence.gaps),
  });
}

const same = (object: EvidenceObject) => object;

function both<T>(one: readonly T[] | undefined, two: readonly T[] | undefined) {
  return one === undefined && two === undefined ? undefined : [...(one ?? []), ...(two ?? [])];
}

function unreadIn(gaps: readonly Gap[]): UnreadView {
  const pods = gaps.filter((gap) => gap.kind === "Pod" && gap.namespace !== undefined);
  return { podsIn: [...new Set(pods.map((gap) => gap.namespace ?? ""))].sort() };
}

/** Objects by kind; a kind that was not listed gives undefined, an empty one gives none. */
function of(evidence: Evidence) {
  const byKind = new Map<string, EvidenceObject[]>(evidence.kinds.map((kind) => [kind, []]));
  for (const object of evidence.objects) {
    const found = byKind.get(object.kind);
    if (found === undefined) byKind.set(object.kind, [object]);
    else found.push(object);
  }
  const unique = (kind: string) => {
    const found = byKind.get(kind);
    if (found === undefined) return undefined;
    const byName = new Map<string, EvidenceObject>();
    for (const each of found) {
      const key = `${each.metadata.namespace}/${each.metadata.name}`;
      const known = byName.get(key);
      if (known === undefined || newer(each, known)) byName.set(key, each);
    }
    return [...byName.entries()]
      .sort(([one], [two]) => (one < two ? -1 : one > two ? 1 : 0))
      .map(([, object]) => object);
  };
  return {
    has: (kind: string) => byKind.has(kind),
    map: <T>(kind: string, view: (object: EvidenceObject) => T): T[] | undefined =>
      unique(kind)?.map(view),
    some: <T>(kind: string, view: (object: EvidenceObject) => T | undefined): T[] | undefined =>
      unique(kind)?.flatMap((object) => view(object) ?? []),
  };
}

type Objects = ReturnType<typeof of>;

/** Of two readings of one object the later one, whichever file was read first. */
function newer(one: EvidenceObject, two: EvidenceObject): boolean {
  const version = (object: EvidenceObject) => Number(fields(object.metadata).resourceVersion) || 0;
  if (version(one) !== version(two)) return version(one) > version(two);
  return JSON.stringify(one) > JSON.stringify(two);
}

function sourcesIn(objects: Objects): SourceView[] | undefined {
  const found = sourceKinds.map((kind) => objects.map(kind, sourceView));
  if (found.every((each) => each === undefined)) return undefined;
  return found.flatMap((each) => each ?? []);
}

const CILIUM_POLICIES = ["CiliumNetworkPolicy", "CiliumClusterwideNetworkPolicy"] as const;

/**
 * Policies of every kind that is in use: where Cilium tells of drops, its own kinds must have been
 * listed too, for a policy that was not read may allow what another one does not.
 */
function policiesIn(objects: Objects, evidence: Evidence): EvidenceObject[] | undefined {
  const own = objects.map("NetworkPolicy", same);
  const cilium = CILIUM_POLICIES.map((kind) => objects.map(kind, same));
  if (own === undefined) return undefined;
  const withCilium = evidence.dropsRecorded || evidence.drops.length > 0;
  if (withCilium && cilium.some((each) => each === undefined)) return undefined;
  return [...own, ...cilium.flatMap((each) => each ?? [])];
}

function activityOf(
  passes: PassesView | undefined,
  workers: readonly WorkersView[] | undefined,
): Knowledge["activity"] | undefined {
  if (passes === undefined && workers === undefined) return undefined;
  return {
    ...(passes === undefined ? {} : { passes }),
    ...(workers === undefined ? {} : { workers }),
  };
}

/** The order in which files were read must not matter. */
function sorted(logs: readonly LogStream[]): LogStream[] {
  return logs.toSorted((one, two) =>
    one.place.origin < two.place.origin ? -1 : one.place.origin > two.place.origin ? 1 : 0,
  );
}

/** Lines later than the moment of judgement are the future, or a wrong clock. */
function untilAsOf(logs: readonly LogStream[], asOfMs: number): LogStream[] {
  const limit = asOfMs + 60_000;
  return logs.map((log) =>
    (log.span?.lastMs ?? 0) <= limit
      ? log
      : { ...log, lines: log.lines.filter((line) => line.atMs <= limit) },
  );
}

function nonEmpty<T>(found: readonly T[] | undefined): readonly T[] | undefined {
  return found === undefined || found.length === 0 ? undefined : found;
}

function dropUndefined(known: { [P in Part]: Knowledge[P] | undefined }): Known {
  return Object.fromEntries(
    Object.entries(known).filter(([, value]) => value !== undefined),
  ) as Known;
}
