import { FENCED } from "../../../api/cluster-names.ts";
import { OUT_OF_SERVICE } from "./names.ts";

/** A pod as the API server has it, as far as it is read here. */
export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly (Readonly<Record<string, unknown>> & {
      readonly controller?: boolean;
    })[];
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly schedulingGates?: readonly { readonly name: string }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly podIP?: string;
    readonly conditions?: readonly PodCondition[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

export interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export interface ContainerStatus {
  readonly name: string;
  readonly image?: string;
  readonly restartCount?: number;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly running?: { readonly startedAt?: string };
    readonly terminated?: Terminated;
  };
}

export interface Terminated {
  readonly exitCode: number;
  readonly reason?: string;
  readonly message?: string;
  readonly finishedAt?: string;
}

/** What is kept of a node: a cluster has hundreds, and the rest of each is of no use here. */
export interface NodeView {
  readonly name: string;
  readonly bootId: string;
  /** What is wrong with it, as the end of a sentence; undefined: it is Ready. */
  readonly trouble: string | undefined;
  /** It bears the taint by which a person vouches that it is off. */
  readonly outOfService: boolean;
  /** Boot id whose processes a person vouches to be dead. */
  readonly fenced: string | undefined;
}

interface RawNode {
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly taints?: readonly { readonly key: string }[] };
  readonly status?: {
    readonly nodeInfo?: { readonly bootID?: string };
    readonly conditions?: readonly PodCondition[];
  };
}

export function nodeView(raw: unknown): NodeView {
  const { metadata, spec, status } = raw as RawNode;
  return {
    name: metadata.name,
    bootId: status?.nodeInfo?.bootID ?? "",
    trouble: nodeTrouble(status?.conditions ?? []),
    outOfService: spec?.taints?.some(({ key }) => key === OUT_OF_SERVICE) ?? false,
    fenced: metadata.annotations?.[FENCED],
  };
}

function nodeTrouble(conditions: readonly PodCondition[]): string | undefined {
  const ready = conditions.find(({ type }) => type === "Ready");
  if (ready?.status === "True") return undefined;
  if (ready === undefined) return "has not said that it is Ready";
  const since = ready.lastTransitionTime === undefined ? "" : ` since ${ready.lastTransitionTime}`;
  const why = ready.reason === undefined ? "" : ` (${ready.reason})`;
  const how = ready.status === "Unknown" ? "is not heard of" : "is not Ready";
  return `${how}${since}${why}`;
}
