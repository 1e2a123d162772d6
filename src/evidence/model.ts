/**
 * What is known of a cluster at a time, live or saved: plain data, each piece with the time it was
 * read and the place it came from. Recognizers see nothing else.
 */
export interface Evidence {
  /** Kubernetes objects of every kind that could be read, without order. */
  readonly objects: readonly EvidenceObject[];
  /** Kinds that were listed, an empty list included: only then does "there is none" mean it. */
  readonly kinds: readonly string[];
  readonly logs: readonly LogStream[];
  readonly metrics: readonly MetricSet[];
  readonly goroutines: readonly GoroutineDump[];
  readonly drops: readonly PacketDrop[];
  /** A recording of dropped packets was taken, even if it holds none. */
  readonly dropsRecorded: boolean;
  /** What could not be read, which is a fact too. */
  readonly gaps: readonly Gap[];
  /** When it was taken; undefined if nothing in it has a time. */
  readonly taken: Taken | undefined;
  /**
   * When each origin was read, milliseconds since 1970; what is missing here was read at some time
   * until `taken`.
   */
  readonly readAtMs: ReadonlyMap<string, number>;
}

/** When the evidence was read, and how that is known. */
export interface Taken {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly from: "manifest" | "newest-time";
}

/** Where a piece of evidence can be looked up again: file and line, or the request that read it. */
export interface Place {
  readonly origin: string;
  /** From 1. */
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
  readonly place: Place;
}

/**
 * What is kept of the log of one container, or of a program outside pods (etcd, API server). A
 * log may have millions of lines: kept are the last lines of each object, and lines that are a
 * sign of something (`mark`); the rest is counted.
 */
export interface LogStream {
  readonly namespace: string | undefined;
  /** Pod, or program. */
  readonly name: string;
  readonly container: string | undefined;
  /** Of the container's life before this one. */
  readonly previous: boolean;
  /** In the order of the log. Only lines that have a time, or lean on the line before. */
  readonly lines: readonly LogLine[];
  /** How many lines the log has, kept or not. */
  readonly lineCount: number;
  /** Of how many lines with each mark only the first and last were kept. */
  readonly marks: Readonly<Partial<Record<LogMark, MarkCount>>>;
  /** Times of the first and last line, kept or not; undefined if no line has one. */
  readonly span: { readonly firstMs: number; readonly lastMs: number } | undefined;
  /** The log breaks off in the middle of a line. */
  readonly brokenOff: boolean;
  readonly place: Place;
}

export interface MarkCount {
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

export interface LogLine {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly level: "debug" | "info" | "warn" | "error" | undefined;
  /** At most a few hundred characters. */
  readonly message: string;
  /** `namespace/name` of the object the line speaks of. */
  readonly object: string | undefined;
  readonly reconcileId: string | undefined;
  /** When the pass that wrote it began. */
  readonly passBeganMs: number | undefined;
  readonly error: string | undefined;
  /** What the line is a sign of, see log-marks.ts. */
  readonly mark: LogMark | undefined;
  /** The few structured fields that somebody reads, such as `state` or `worker count`. */
  readonly fields: Readonly<Record<string, string>> | undefined;
  readonly place: Place;
}

export type LogMark =
  | "workers-started"
  | "lease-trouble"
  | "leader-lost"
  | "leader-won"
  | "etcd-trouble"
  | "api-server-trouble"
  | "slow-request"
  | "artifact-unreachable"
  | "artifact-refused"
  | "setup-failed"
  | "deadline-exceeded"
  | "session-lost"
  | "state-lock-refused"
  | "tls-secret-missing"
  | "ids-gone"
  | "access-refused"
  | "runner-not-created"
  | "shutdown"
  | "failure";

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
  readonly stacks: readonly GoroutineStack[];
  readonly place: Place;
}
export interface GoroutineStack {
  readonly count: number;
  /** The longest wait of these, in minutes, as the dump says it; undefined below one minute. */
  readonly waitMinutes: number | undefined;
  /** Function names, innermost first. */
  readonly frames: readonly string[];
}

/** A packet that a policy or the datapath dropped (Cilium's monitor or Hubble). */
export interface PacketDrop {
  readonly atMs: number | undefined;
  readonly reason: string;
  readonly source: FlowEnd;
  readonly destination: FlowEnd;
  /** Destination port. */
  readonly port: number | undefined;
  readonly protocol: string | undefined;
  /** Where it was dropped: at the destination's door or the source's; undefined if not said. */
  readonly direction: "ingress" | "egress" | undefined;
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
  /** What was wanted: a kind, or such as "logs flux-system/tofu-controller-…". */
  readonly what: string;
  /** The kind that could not be listed, whole or in one namespace. */
  readonly kind?: string;
  readonly namespace?: string;
  readonly why: "not-permitted" | "timed-out" | "absent" | "damaged" | "too-large";
  readonly detail: string;
  /** The command that would get it. */
  readonly command: string | undefined;
}
