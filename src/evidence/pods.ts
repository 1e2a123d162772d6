import {
  at,
  conditionOf,
  fields,
  keyOf,
  list,
  number,
  refOf,
  text,
  texts,
  time,
} from "./fields.ts";
import type { EvidenceObject, Place } from "./model.ts";

export interface ContainerView {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly ready: boolean;
  readonly restartCount: number;
  /** Of the life that runs now. */
  readonly runningSinceMs: number | undefined;
  readonly waitingReason: string | undefined;
  readonly waitingMessage: string | undefined;
  /** The life that ended: the last one, or of a container that is down this one. */
  readonly ended: EndedLife | undefined;
}
export interface EndedLife {
  readonly exitCode: number | undefined;
  readonly reason: string;
  readonly finishedMs: number | undefined;
  readonly startedMs: number | undefined;
  /** It is the state of now: nothing was started after it. */
  readonly now: boolean;
}

export interface PodView {
  readonly key: string;
  readonly ref: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly node: string | undefined;
  readonly phase: string;
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly ip: string | undefined;
  readonly createdMs: number | undefined;
  /** When its deletion was asked for; the API server's own field adds the grace period. */
  readonly deletedMs: number | undefined;
  readonly ready: boolean;
  /** When its sandbox, and with it its network, was last made. */
  readonly sandboxSinceMs: number | undefined;
  readonly unschedulable: string | undefined;
  /** Named ports of its containers. */
  readonly ports: Readonly<Record<string, number>>;
  readonly owner: { readonly kind: string; readonly name: string } | undefined;
  readonly containers: readonly ContainerView[];
  readonly place: Place;
}

export function podView(object: EvidenceObject): PodView {
  const { status, metadata } = object;
  const scheduled = conditionOf(object, "PodScheduled");
  const sandbox = conditionOf(object, "PodReadyToStartContainers");
  const owner = metadata.ownerReferences?.[0];
  return {
    key: keyOf(object),
    ref: refOf(object),
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    labels: metadata.labels ?? {},
    node: text(at(object.spec, "nodeName")),
    phase: text(at(status, "phase")) ?? "Unknown",
    reason: text(at(status, "reason")),
    message: text(at(status, "message")),
    ip: text(at(status, "podIP")),
    createdMs: time(metadata.creationTimestamp),
    deletedMs: deletedMs(object),
    ready: conditionOf(object, "Ready")?.status === "True",
    sandboxSinceMs: sandbox?.status === "True" ? sandbox.sinceMs : undefined,
    unschedulable: scheduled?.status === "False" ? scheduled.message : undefined,
    ports: namedPorts(object),
    owner: owner === undefined ? undefined : { kind: owner.kind, name: owner.name },
    containers: containersOf(object),
    place: object.place,
  };
}

function namedPorts(object: EvidenceObject): Record<string, number> {
  const ports: Record<string, number> = {};
  for (const container of list(at(object.spec, "containers"))) {
    for (const each of list(container.ports)) {
      const name = text(each.name);
      const port = number(each.containerPort);
      if (name !== undefined && port !== undefined) ports[name] = port;
    }
  }
  return ports;
}

function deletedMs({ metadata }: EvidenceObject): number | undefined {
  const end = time(metadata.deletionTimestamp);
  const grace = number(fields(metadata).deletionGracePeriodSeconds) ?? 0;
  return end === undefined ? undefined : end - grace * 1_000;
}

function containersOf(object: EvidenceObject): ContainerView[] {
  const statuses = list(at(object.status, "containerStatuses"));
  return list(at(object.spec, "containers")).map((spec) => {
    const name = text(spec.name) ?? "";
    const status = statuses.find((each) => each.name === name) ?? {};
    const waiting = fields(at(status.state, "waiting"));
    return {
      name,
      image: text(spec.image) ?? "",
      args: [...texts(spec.command), ...texts(spec.args)],
      ready: status.ready === true,
      restartCount: number(status.restartCount) ?? 0,
      runningSinceMs: time(at(status.state, "running", "startedAt")),
      waitingReason: text(waiting.reason),
      waitingMessage: text(waiting.message),
      ended:
        endedLife(at(status.state, "terminated"), true) ??
        endedLife(at(status.lastState, "terminated"), false),
    };
  });
}

function endedLife(value: unknown, now: boolean): EndedLife | undefined {
  if (value === undefined || value === null) return undefined;
  const ended = fields(value);
  return {
    exitCode: number(ended.exitCode),
    reason: text(ended.reason) ?? "",
    finishedMs: time(ended.finishedAt),
    startedMs: time(ended.startedAt),
    now,
  };
}

/** The kubelet does not know how it ended: it was away itself, as after a power loss. */
export function endedUnknown(ended: EndedLife | undefined): boolean {
  return ended?.reason === "Unknown" || ended?.reason === "ContainerStatusUnknown";
}

export interface NodeView {
  readonly name: string;
  readonly ready: boolean;
  readonly readySinceMs: number | undefined;
  readonly readyReason: string;
  readonly readyMessage: string;
  readonly bootId: string | undefined;
  readonly createdMs: number | undefined;
  readonly unschedulable: boolean;
  readonly place: Place;
}

export function nodeView(object: EvidenceObject): NodeView {
  const ready = conditionOf(object, "Ready");
  return {
    name: object.metadata.name,
    ready: ready?.status === "True",
    readySinceMs: ready?.sinceMs,
    readyReason: ready?.reason ?? "",
    readyMessage: ready?.message ?? "",
    bootId: text(at(object.status, "nodeInfo", "bootID")),
    createdMs: time(object.metadata.creationTimestamp),
    unschedulable: at(object.spec, "unschedulable") === true,
    place: object.place,
  };
}

export interface EventView {
  readonly reason: string;
  readonly message: string;
  readonly warning: boolean;
  readonly atMs: number;
  /** `Kind/namespace/name`; of cluster-wide kinds `Kind/name`. */
  readonly about: string;
  readonly component: string;
  readonly place: Place;
}

/** An event with a time, or undefined. */
export function eventView(object: EvidenceObject): EventView | undefined {
  const series = fields(object.series);
  const atMs =
    time(object.lastTimestamp) ??
    time(series.lastObservedTime) ??
    time(object.eventTime) ??
    time(object.firstTimestamp);
  if (atMs === undefined) return undefined;
  const about = fields(object.involvedObject ?? object.regarding);
  const namespace = text(about.namespace);
  const name = text(about.name) ?? "";
  const kind = text(about.kind) ?? "";
  return {
    reason: text(object.reason) ?? "",
    message: (text(object.message) ?? text(object.note) ?? "").slice(0, 1_000),
    warning: object.type === "Warning",
    atMs,
    about:
      namespace === undefined || kind === "Node"
        ? `${kind}/${name}`
        : `${kind}/${namespace}/${name}`,
    component: text(at(object.source, "component")) ?? text(object.reportingComponent) ?? "",
    place: object.place,
  };
}
