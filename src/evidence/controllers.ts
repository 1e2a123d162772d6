import { parseDuration } from "../api/duration.ts";
import { at, number, text, time } from "./fields.ts";
import type { EvidenceObject, MetricSet, Place } from "./model.ts";
import type { ContainerView, PodView } from "./pods.ts";

export interface LeaseView {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly holder: string | undefined;
  readonly acquiredMs: number | undefined;
  readonly renewedMs: number | undefined;
  readonly durationMs: number | undefined;
  readonly transitions: number;
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly place: Place;
}

export function leaseView(object: EvidenceObject): LeaseView {
  const { spec, metadata } = object;
  const seconds = number(at(spec, "leaseDurationSeconds"));
  return {
    key: `${metadata.namespace ?? ""}/${metadata.name}`,
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    holder: text(at(spec, "holderIdentity")),
    acquiredMs: time(at(spec, "acquireTime")),
    renewedMs: time(at(spec, "renewTime")),
    durationMs: seconds === undefined ? undefined : seconds * 1_000,
    transitions: number(at(spec, "leaseTransitions")) ?? 0,
    annotations: metadata.annotations ?? {},
    labels: metadata.labels ?? {},
    place: object.place,
  };
}

/** One process that may reconcile Terraform objects: a container of a controller's pod. */
export interface ControllerView {
  readonly pod: PodView;
  readonly container: ContainerView;
  /** When the process that runs now began. */
  readonly startedMs: number | undefined;
  /** As in `0.16.5`; undefined if the image says none, as by digest. */
  readonly version: string | undefined;
  /** Workers it was told to have. */
  readonly concurrent: number;
  readonly electsLeader: boolean;
  /** Namespaces it looks at; undefined means all. */
  readonly watches: string | undefined;
  readonly gracefulShutdownMs: number;
  readonly rpcTimeoutMs: number;
  /** What to restart: "deployment/NAME" where that can be told, else "pod/NAME". */
  readonly workload: string;
}

/** Who leads, and how that is known. */
export interface LeaderView {
  readonly controller: ControllerView;
  readonly by: "lease" | "metrics" | "only-one";
  readonly lease: LeaseView | undefined;
}

const IMAGE = /(^|\/)(tofu-controller|tf-controller)([:@]|$)/;
const ARGUMENTS = /^--?runner-(grpc-port|creation-timeout|rpc-timeout|grpc-max-message-size)\b/;

/**
 * Controllers by image, arguments, or the Lease that they hold, never by a Deployment's name: an
 * image may be a mirror's digest and the arguments few.
 */
export function controllersOf(
  pods: readonly PodView[],
  leases: readonly LeaseView[] = [],
): ControllerView[] {
  const own = leases.filter((lease) => lease.name.endsWith(LEASE_SUFFIX));
  return pods.flatMap((pod) => {
    if (pod.phase === "Failed" || pod.phase === "Succeeded") return [];
    const container =
      pod.containers.find(
        (each) => IMAGE.test(each.image) || each.args.some((argument) => ARGUMENTS.test(argument)),
      ) ?? (own.some((lease) => holds(lease, pod)) ? pod.containers[0] : undefined);
    return container === undefined ? [] : [controllerView(pod, container)];
  });
}

/** The Lease is named by a hash and this, whatever the release is called. */
const LEASE_SUFFIX = ".contrib.fluxcd.io";

function controllerView(pod: PodView, container: ContainerView): ControllerView {
  const flag = (name: string) => flagOf(container.args, name);
  const watchAll = flag("watch-all-namespaces");
  const version = /:v?(\d+\.\d+\.\d+[\w.-]*)(@|$)/.exec(container.image)?.[1];
  return {
    pod,
    container,
    startedMs: container.runningSinceMs,
    version,
    concurrent: Number(flag("concurrent") ?? 4) || 4,
    electsLeader: isOn(flag("enable-leader-election")),
    watches: watchAll === "false" ? pod.namespace : undefined,
    gracefulShutdownMs: parseDuration(flag("graceful-shutdown-timeout") ?? "") ?? 240_000,
    workload: workloadOf(pod),
    rpcTimeoutMs: parseDuration(flag("runner-rpc-timeout") ?? "") ?? 30 * 60_000,
  };
}

/** A Deployment names its ReplicaSets after itself and a hash. */
function workloadOf({ owner, name }: PodView): string {
  const hashed = owner?.kind === "ReplicaSet" ? /^(.+)-[a-z0-9]{1,10}$/.exec(owner.name) : null;
  if (hashed !== null) return `deployment/${hashed[1]}`;
  return owner === undefined ? `pod/${name}` : `${owner.kind.toLowerCase()}/${owner.name}`;
}

/** `--name=value`, `--name value` or `--name` alone, which gives "". */
export function flagOf(args: readonly string[], name: string): string | undefined {
  const index = args.findIndex((each) => new RegExp(`^--?${name}(=|$)`).test(each));
  const found = args[index];
  if (found === undefined) return undefined;
  const equals = found.indexOf("=");
  if (equals >= 0) return found.slice(equals + 1);
  const next = args[index + 1];
  return next === undefined || next.startsWith("-") ? "" : next;
}

const isOn = (flag: string | undefined) => flag !== undefined && flag !== "false";

/** The source-controllers, by image or arguments. */
export function sourceControllersOf(pods: readonly PodView[]): PodView[] {
  return pods.filter((pod) =>
    pod.containers.some(
      (each) =>
        /(^|\/)source-controller([:@]|$)/.test(each.image) ||
        each.args.some((argument) => /^--?storage-adv-addr\b/.test(argument)),
    ),
  );
}

/** The Lease by which the pods of a controller elect their leader; its holder names a pod. */
function leaseOf(controllers: readonly ControllerView[], leases: readonly LeaseView[]) {
  const elect = leases.filter((lease) => !lease.name.startsWith("lock-tfstate-"));
  const ours = elect.filter((lease) => lease.name.endsWith(LEASE_SUFFIX));
  const held = elect.filter((lease) => controllers.some(({ pod }) => holds(lease, pod)));
  return [...new Set([...ours, ...held])];
}

const holds = (lease: LeaseView, pod: PodView) =>
  lease.namespace === pod.namespace && lease.holder?.startsWith(`${pod.name}_`) === true;

export interface LeadershipView {
  readonly leaders: readonly LeaderView[];
  /** A Lease of theirs whose holder is no pod that exists. */
  readonly vacant: readonly LeaseView[];
}

/** Who leads, of each Lease; without leases what metrics say, or that there is only one. */
export function leadershipOf(
  controllers: readonly ControllerView[],
  leases: readonly LeaseView[] | undefined,
  metrics: readonly MetricSet[],
): LeadershipView | undefined {
  const own = leases === undefined ? [] : leaseOf(controllers, leases);
  const leaders: LeaderView[] = [];
  const vacant: LeaseView[] = [];
  for (const lease of own) {
    const controller = controllers.find(({ pod }) => holds(lease, pod));
    if (controller !== undefined) leaders.push({ controller, by: "lease", lease });
    else if (lease.holder !== undefined) vacant.push(lease);
  }
  if (leaders.length > 0 || vacant.length > 0) return { leaders, vacant };
  const elected = controllers.filter((each) => each.electsLeader);
  if (leases !== undefined && elected.length > 0) return { leaders: [], vacant: [] };
  const byMetrics = controllers.filter(({ pod }) => leadsByMetrics(metrics, pod));
  if (byMetrics.length > 0) {
    return { leaders: byMetrics.map((each) => led(each, "metrics")), vacant: [] };
  }
  if (elected.length === 0 && controllers.length > 0) {
    return { leaders: controllers.map((each) => led(each, "only-one")), vacant: [] };
  }
  return undefined;
}

const led = (controller: ControllerView, by: LeaderView["by"]): LeaderView => ({
  controller,
  by,
  lease: undefined,
});

function leadsByMetrics(metrics: readonly MetricSet[], pod: PodView): boolean {
  return metrics.some(
    (set) =>
      set.pod === pod.name &&
      (set.namespace ?? pod.namespace) === pod.namespace &&
      set.samples.some((each) => each.name === "leader_election_master_status" && each.value === 1),
  );
}

/** The leader that looks at this namespace, if one does. */
export function leaderFor(leadership: LeadershipView, namespace: string): LeaderView | undefined {
  return (
    leadership.leaders.find(({ controller }) => controller.watches === namespace) ??
    leadership.leaders.find(({ controller }) => controller.watches === undefined)
  );
}
