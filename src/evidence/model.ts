/**
 * What is known of a cluster at a time, live or saved: plain data, each piece with the time it was
 * read and the place it came from. Recognizers see nothing else.
 */
export interface Evidence {
  /** Kubernetes objects of every kind that could be read, without order. */
  readonly objects: readonly EvidenceObject[];
  readonly logs: readonly LogStream[];
  readonly metrics: readonly MetricSet[];
  readonly goroutines: readonly GoroutineDump[];
  readonly drops: readonly PacketDrop[];
  /** What could not be read, which is a fact too. */
  readonly gaps: readonly Gap[];
}

/** Where a piece of evidence can be looked up again: file and line, or the request that read it. */
export interface Place {
  readonly origin: string;
  readonly line?: number;
}

/** Any Kubernetes object: only apiVersion, kind and metadata.name are certain. */
export interface EvidenceObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly generation?: number;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly {
      readonly kind: string;
      readonly name: string;
      readonly uid?: string;
    }[];
  };
  readonly spec?: unknown;
  readonly status?: unknown;
  readonly data?: unknown;
  readonly [field: string]: unknown;
  /** When it was read, RFC 3339; undefined where only the whole dump has a time. */
  readonly readAt?: string;
  readonly place: Place;
}

/** Lines of one container, or of a program outside pods (etcd, API server). */
export interface LogStream {
  readonly namespace: string | undefined;
  /** Pod, or program. */
  readonly name: string;
  readonly container: string | undefined;
  /** Of the container's life before this one. */
  readonly previous: boolean;
  /** Oldest first; only lines that could be told a time, others lean on the line before. */
  readonly lines: readonly LogLine[];
  /** The stream begins later than its container, or was cut at the end. */
  readonly truncated: boolean;
  readonly place: Place;
}

export interface LogLine {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly level: "debug" | "info" | "warn" | "error" | undefined;
  readonly message: string;
  /** `namespace/name` of the object the line speaks of. */
  readonly object: string | undefined;
  readonly reconcileId: string | undefined;
  readonly error: string | undefined;
  readonly place: Place;
}

export interface MetricSet {
  readonly namespace: string | undefined;
  readonly pod: string;
  readonly samples: readonly MetricSample[];
  readonly place: Place;
}
export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface GoroutineDump {
  readonly namespace: string | undefined;
  readonly pod: string;
  /** Stacks with the same frames, and how many stand there. */
  readonly stacks: readonly { readonly count: number; readonly frames: readonly string[] }[];
  readonly place: Place;
}

/** A packet that a policy or the datapath dropped (Cilium's monitor or Hubble). */
export interface PacketDrop {
  readonly atMs: number | undefined;
  readonly reason: string;
  readonly source: FlowEnd;
  readonly destination: FlowEnd;
  readonly port: number | undefined;
  readonly protocol: string | undefined;
  readonly place: Place;
}
export interface FlowEnd {
  readonly ip: string | undefined;
  readonly identity: number | undefined;
  readonly namespace: string | undefined;
  readonly pod: string | undefined;
  readonly labels: Readonly<Record<string, string>> | undefined;
}

export interface Gap {
  /** What was wanted, such as "pods" or "logs flux-system/tofu-controller-…". */
  readonly what: string;
  readonly why: "not-permitted" | "timed-out" | "absent" | "damaged" | "too-large";
  readonly detail: string;
  /** The command that would get it. */
  readonly command: string | undefined;
}
