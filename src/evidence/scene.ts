import { LogDigest } from "./log-digest.ts";
import type {
  Evidence,
  EvidenceObject,
  Gap,
  GoroutineStack,
  LogStream,
  MetricSet,
  PacketDrop,
} from "./model.ts";

/**
 * A small cluster in words, for the cases that recognizers are tested on and that the runbook
 * shows: objects, logs and metrics in the form in which a real cluster gives them. Times are
 * times of the scene's day, such as "10:14:24".
 */
export class Scene {
  readonly #day: string;
  readonly #asOf: string;
  readonly #objects: EvidenceObject[] = [];
  readonly #kinds = new Set<string>(USUAL_KINDS);
  readonly #logs: LogStream[] = [];
  readonly #texts: SceneText[] = [];
  readonly #metrics: MetricSet[] = [];
  readonly #stacks: GoroutineStack[] = [];
  readonly #drops: PacketDrop[] = [];
  readonly #gaps: Gap[] = [];
  #dropsRecorded = false;

  /** `asOf` is the whole time, RFC 3339. */
  constructor(asOf: string) {
    this.#asOf = asOf;
    this.#day = asOf.slice(0, 10);
  }

  get asOfMs(): number {
    return Date.parse(this.#asOf);
  }

  /** A time of the scene's day, RFC 3339; a whole time stays as it is. */
  time(clock: string): string {
    return clock.includes("T") ? clock : `${this.#day}T${clock}Z`;
  }

  object(kind: string, key: string, rest: Readonly<Record<string, unknown>> = {}): this {
    const slash = key.indexOf("/");
    const namespace = slash < 0 ? undefined : key.slice(0, slash);
    const { metadata, ...body } = rest;
    this.#kinds.add(kind);
    // The same object told again replaces what was told before.
    const before = this.#objects.findIndex(
      ({ kind: own, metadata: named }) =>
        own === kind && named.namespace === namespace && named.name === key.slice(slash + 1),
    );
    if (before >= 0) this.#objects.splice(before, 1);
    this.#objects.push({
      apiVersion: apiVersions[kind] ?? "v1",
      kind,
      metadata: {
        name: key.slice(slash + 1),
        ...(namespace === undefined ? {} : { namespace }),
        creationTimestamp: this.time("08:00:00"),
        ...(metadata as object | undefined),
      },
      ...body,
      place: { origin: `objects/${kind.toLowerCase()}s.json` },
    });
    return this;
  }

  /** Nodes that are Ready since the morning. */
  nodes(...names: readonly string[]): this {
    for (const name of names) this.node(name);
    return this;
  }

  node(name: string, { ready = true, since = "08:00:00", reason = "" }: NodeFacts = {}): this {
    const word = ready ? "KubeletReady" : "NodeStatusUnknown";
    return this.object("Node", name, {
      status: {
        conditions: [
          {
            ...{ type: "Ready", status: ready ? "True" : "Unknown", reason: reason || word },
            lastTransitionTime: this.time(since),
          },
        ],
        nodeInfo: { bootID: `boot-of-${name}` },
      },
    });
  }

  /** A Terraform object; `ready` is status, message, time and reason of its Ready condition. */
  terraform(key: string, facts: TerraformFacts = {}): this {
    const { ready = ["True", "No drift: main@sha1:1", "09:00:00", "NoDrift"] } = facts;
    const [status, message, since, reason = "Progressing"] = ready;
    const condition = (type: string, [state, text, at, why]: ConditionWords) => ({
      ...{ type, status: state, reason: why ?? "Progressing", message: text },
      lastTransitionTime: this.time(at),
    });
    const more = Object.entries(facts.conditions ?? {}).map(([type, each]) =>
      condition(type, each),
    );
    return this.object("Terraform", key, {
      metadata: { generation: 1, ...facts.metadata },
      spec: {
        ...{ approvePlan: "auto", interval: "5m0s", retryInterval: "30s", path: "./" },
        ...{ sourceRef: { kind: "GitRepository", name: "code" } },
        ...facts.spec,
      },
      status: {
        conditions: [condition("Ready", [status, message, since, reason]), ...more],
        observedGeneration: 1,
        lastAttemptedRevision: "main@sha1:1",
        lastAppliedRevision: "main@sha1:1",
        lastPlannedRevision: "main@sha1:1",
        lastPlanAt: this.time("09:00:00"),
        lastSuccessfulReconcileAt: this.time("09:00:00"),
        ...facts.status,
      },
    });
  }

  /** A source with an artifact. */
  source(key: string, revision = "main@sha1:1", updated = "08:30:00"): this {
    return this.object("GitRepository", key, {
      spec: { interval: "1m0s" },
      status: {
        artifact: { revision, lastUpdateTime: this.time(updated), url: "http://source/x.tar.gz" },
        conditions: [
          {
            ...{ type: "Ready", status: "True", reason: "Succeeded", message: "stored" },
            lastTransitionTime: this.time(updated),
          },
        ],
      },
    });
  }

  /** A pod; its container runs since `started` unless `state` says otherwise. */
  pod(key: string, facts: PodFacts = {}): this {
    const { node = "n1", created = "08:00:00", phase = "Running", started = created } = facts;
    const state = facts.state ?? (phase === "Running" ? this.#running(started) : {});
    const conditions = [
      { type: "Ready", status: phase === "Running" ? "True" : "False" },
      ...(facts.unschedulable === undefined
        ? []
        : [{ type: "PodScheduled", status: "False", message: facts.unschedulable }]),
      ...(facts.sandbox === undefined
        ? []
        : [
            {
              ...{ type: "PodReadyToStartContainers", status: "True" },
              lastTransitionTime: this.time(facts.sandbox),
            },
          ]),
    ];
    const name = facts.container ?? "main";
    return this.object("Pod", key, {
      metadata: { creationTimestamp: this.time(created), ...facts.metadata },
      spec: {
        ...(node === "" ? {} : { nodeName: node }),
        containers: [{ name, image: facts.image ?? "busybox", args: facts.args ?? [] }],
      },
      status: {
        ...{ phase, conditions, ...facts.status },
        containerStatuses: [
          {
            ...{ name, restartCount: facts.restarts ?? 0, ready: "running" in state, state },
            lastState: facts.lastState ?? {},
          },
        ],
      },
    });
  }

  #running(started: string) {
    return { running: { startedAt: this.time(started) } };
  }

  /** The runner pod of an object. */
  runner(key: string, facts: PodFacts = {}): this {
    const [namespace = "", name = ""] = key.split("/");
    return this.pod(`${namespace}/${name}-tf-runner`, {
      container: "tf-runner",
      image: "ghcr.io/flux-iac/tf-runner:v0.16.5",
      ...facts,
      metadata: {
        labels: {
          "app.kubernetes.io/name": "tf-runner",
          "tf.weave.works/tls-secret-name": "terraform-runner.tls-1",
        },
        ownerReferences: [{ kind: "Terraform", name }],
        ...facts.metadata,
      },
    });
  }

  /** A runner that an orderly shutdown of its node ended at `at`. */
  failedRunner(key: string, node: string, created: string, at: string): this {
    return this.runner(key, {
      ...{ node, created, phase: "Failed" },
      state: {
        terminated: {
          ...{ exitCode: 137, reason: "Error" },
          ...{ startedAt: this.time(created), finishedAt: this.time(at) },
        },
      },
      status: {
        reason: "Terminated",
        message: "Pod was terminated in response to imminent node shutdown.",
      },
    });
  }

  /** A runner that a power loss struck: started anew in place, at another address. */
  revivedRunner(key: string, node: string, created: string, back: string): this {
    return this.runner(key, {
      ...{ node, created, started: back, restarts: 1, sandbox: back },
      lastState: {
        terminated: {
          ...{ exitCode: 255, reason: "Unknown" },
          ...{ startedAt: this.time(created), finishedAt: this.time(back) },
        },
      },
    });
  }

  /** The controller's pod and the Lease by which it leads. */
  controller(facts: ControllerFacts = {}): this {
    const { name = "tc-7f9-abcde", namespace = "ops", started = "08:00:00", node = "n1" } = facts;
    const { version = "0.16.5", concurrent = 8, leads = true } = facts;
    this.pod(`${namespace}/${name}`, {
      ...{ node, started, created: facts.created ?? started, container: "manager" },
      image: `ghcr.io/flux-iac/tofu-controller:v${version}`,
      args: ["--enable-leader-election", `--concurrent=${concurrent}`, ...(facts.args ?? [])],
      restarts: facts.restarts ?? 0,
      metadata: {
        ownerReferences: [{ kind: "ReplicaSet", name: name.replace(/-[^-]+$/, "") }],
        ...facts.metadata,
      },
      ...(facts.lastState === undefined ? {} : { lastState: facts.lastState }),
    });
    if (!leads) return this;
    return this.object("Lease", `${namespace}/1953de50.contrib.fluxcd.io`, {
      spec: {
        holderIdentity: `${name}_5c1d`,
        acquireTime: this.time(facts.leadsSince ?? started),
        renewTime: this.#asOf,
        leaseDurationSeconds: 35,
      },
    });
  }

  sourceController(facts: PodFacts = {}): this {
    return this.pod("ops/source-controller-1", {
      ...{ container: "manager", image: "ghcr.io/fluxcd/source-controller:v1.9.6" },
      args: ["--storage-adv-addr=source-controller.ops.svc.cluster.local."],
      ...facts,
      metadata: { labels: { app: "source-controller" }, ...facts.metadata },
    });
  }

  /** A state lock held in a Lease. */
  lock(key: string, facts: LockFacts): this {
    const [namespace = "", name = ""] = key.split("/");
    const { id = "0c1e", operation = "Apply", created, who = `runner@${name}-tf-runner` } = facts;
    return this.object("Lease", `${namespace}/lock-tfstate-default-${name}`, {
      metadata: {
        labels: { tfstateSecretSuffix: name, tfstateWorkspace: "default" },
        annotations: {
          "app.terraform.io/lock-info": JSON.stringify({
            ...{ ID: id, Operation: `OperationType${operation}`, Who: who },
            Created: this.time(created),
          }),
        },
      },
      spec: { holderIdentity: id },
    });
  }

  event(about: string, reason: string, at: string, message = ""): this {
    const [kind = "", ...rest] = about.split("/");
    const [namespace, name] = rest.length === 2 ? rest : [undefined, rest[0]];
    return this.object("Event", `${namespace ?? "default"}/${reason.toLowerCase()}-${at}`, {
      ...{ reason, message, type: "Warning", lastTimestamp: this.time(at) },
      involvedObject: { kind, name, ...(namespace === undefined ? {} : { namespace }) },
    });
  }

  /** Lines of the controller's log: time, object, message and, of an error, its text. */
  log(lines: readonly LogWords[], pod: LogOf = {}): this {
    const passes = new Map<string, number>();
    return this.text(
      lines.map(([at, object, message, error]) => {
        const [namespace, name] = object.split("/");
        const number = (passes.get(object) ?? 0) + (message.startsWith(">> Started") ? 1 : 0);
        passes.set(object, number);
        return JSON.stringify({
          ...{ level: error === undefined ? "info" : "error", ts: this.time(at), msg: message },
          ...(name === undefined
            ? {}
            : { controller: "terraform", namespace, name, reconcileID: `${name}-${number}` }),
          ...(error === undefined ? {} : { error }),
        });
      }),
      pod,
    );
  }

  /** Lines of any log as they are. */
  text(lines: readonly string[], pod: LogOf = {}): this {
    const { namespace = "ops", name = "tc-7f9-abcde", previous = false } = pod;
    const digest = new LogDigest({
      ...{ namespace, name, previous, container: pod.container },
      origin: `logs/${namespace}_${name}${previous ? ".previous" : ""}.log`,
      nearMs: this.asOfMs,
    });
    for (const line of lines) digest.add(line);
    this.#logs.push(digest.finish(false));
    this.#texts.push({ namespace, name, container: pod.container, previous, lines });
    return this;
  }

  /** The logs as their programs wrote them. */
  get texts(): readonly SceneText[] {
    return this.#texts;
  }

  /** The controller's metrics; times in seconds. */
  workers(facts: WorkerFacts, pod: LogOf = {}): this {
    const { namespace = "ops", name = "tc-7f9-abcde" } = pod;
    const sample = (series: string, value: number | undefined) =>
      value === undefined
        ? []
        : [{ name: series, labels: { controller: "terraform" }, value: value }];
    this.#metrics.push({
      ...{ namespace, pod: name, place: { origin: `metrics/${name}.txt` } },
      samples: [
        ...sample("controller_runtime_active_workers", facts.active),
        ...sample("controller_runtime_max_concurrent_reconciles", facts.maximum),
        ...sample("workqueue_longest_running_processor_seconds", facts.longest),
        ...sample("workqueue_unfinished_work_seconds", facts.unfinished),
        ...sample("workqueue_depth", facts.depth ?? 0),
      ],
    });
    return this;
  }

  /** Goroutines of the controller that stand in a call of the runner's client. */
  goroutines(method: string, count: number): this {
    const frames = [
      "internal/poll.runtime_pollWait",
      method === "download"
        ? "github.com/hashicorp/go-retryablehttp.(*Client).Do"
        : `github.com/flux-iac/tofu-controller/runner.(*runnerClient).${method}`,
      "github.com/flux-iac/tofu-controller/controllers.(*TerraformReconciler).reconcile",
    ];
    this.#stacks.push({ count, waitMinutes: undefined, frames });
    return this;
  }

  drop(drop: Omit<PacketDrop, "place" | "atMs"> & { readonly at?: string }): this {
    const { at, ...rest } = drop;
    this.#dropsRecorded = true;
    this.#drops.push({
      ...rest,
      atMs: at === undefined ? undefined : Date.parse(this.time(at)),
      place: { origin: "cilium/drops.txt", line: this.#drops.length + 1 },
    });
    return this;
  }

  /** A recording of drops was taken and holds none. */
  noDrops(): this {
    this.#dropsRecorded = true;
    return this;
  }

  /** These kinds could not be listed at all. */
  without(...kinds: readonly string[]): this {
    for (const kind of kinds) this.#kinds.delete(kind);
    return this;
  }

  /** These kinds were listed, and there is none. */
  none(...kinds: readonly string[]): this {
    for (const kind of kinds) this.#kinds.add(kind);
    return this;
  }

  gap(gap: Gap): this {
    this.#gaps.push(gap);
    return this;
  }

  evidence(): Evidence {
    return {
      objects: this.#objects.filter((object) => this.#kinds.has(object.kind)),
      kinds: [...this.#kinds].sort(),
      logs: this.#logs,
      metrics: this.#metrics,
      goroutines:
        this.#stacks.length === 0
          ? []
          : [
              {
                ...{ namespace: "ops", pod: "tc-7f9-abcde", stacks: this.#stacks },
                place: { origin: "metrics/goroutines.txt" },
              },
            ],
      drops: this.#drops,
      dropsRecorded: this.#dropsRecorded,
      gaps: this.#gaps,
      taken: { atMs: this.asOfMs, from: "manifest" },
      readAtMs: new Map(),
    };
  }
}

/** Kinds that every dump lists, even if there is none of them. */
const USUAL_KINDS = ["Terraform", "Pod", "Node", "Lease", "Event", "GitRepository"] as const;

const apiVersions: Readonly<Record<string, string>> = {
  Terraform: "infra.contrib.fluxcd.io/v1alpha2",
  Lease: "coordination.k8s.io/v1",
  GitRepository: "source.toolkit.fluxcd.io/v1",
  NetworkPolicy: "networking.k8s.io/v1",
  EndpointSlice: "discovery.k8s.io/v1",
  CiliumNetworkPolicy: "cilium.io/v2",
  CiliumClusterwideNetworkPolicy: "cilium.io/v2",
};

/** Status, message, time and reason. */
export type ConditionWords = readonly [string, string, string, string?];
/** Time, object (or "" for none), message, error. */
export type LogWords = readonly [string, string, string, string?];

export interface TerraformFacts {
  readonly ready?: ConditionWords;
  readonly conditions?: Readonly<Record<string, ConditionWords>>;
  readonly spec?: object;
  readonly status?: object;
  readonly metadata?: object;
}
export interface NodeFacts {
  readonly ready?: boolean;
  readonly since?: string;
  readonly reason?: string;
}
export interface PodFacts {
  readonly node?: string;
  readonly created?: string;
  readonly started?: string;
  readonly phase?: string;
  readonly state?: object;
  readonly lastState?: object;
  readonly restarts?: number;
  readonly sandbox?: string;
  readonly unschedulable?: string;
  readonly container?: string;
  readonly image?: string;
  readonly args?: readonly string[];
  readonly status?: object;
  readonly metadata?: object;
}
export interface ControllerFacts {
  readonly name?: string;
  readonly namespace?: string;
  readonly node?: string;
  readonly created?: string;
  readonly started?: string;
  readonly version?: string;
  readonly concurrent?: number;
  readonly leads?: boolean;
  readonly leadsSince?: string;
  readonly restarts?: number;
  readonly args?: readonly string[];
  readonly metadata?: object;
  readonly lastState?: object;
}
export interface LockFacts {
  readonly created: string;
  readonly id?: string;
  readonly operation?: string;
  readonly who?: string;
}
export interface WorkerFacts {
  readonly active: number;
  readonly maximum: number;
  readonly longest?: number;
  readonly unfinished?: number;
  readonly depth?: number;
}
export interface SceneText {
  readonly namespace: string;
  readonly name: string;
  readonly container: string | undefined;
  readonly previous: boolean;
  readonly lines: readonly string[];
}
export interface LogOf {
  readonly namespace?: string;
  readonly name?: string;
  readonly container?: string;
  readonly previous?: boolean;
}
