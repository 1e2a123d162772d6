import { BOOT_ID, NODE, OBJECT, OPERATION, RUN_LABEL } from "../../../api/cluster-names.ts";
import type { Operation } from "../../../api/terraform.ts";
import type { SecretHead } from "./api.ts";
import type { RunTrace } from "./evidence.ts";
import { runnerStatus } from "./evidence.ts";
import { GREETED, POD_UID } from "./names.ts";
import type { NodeView, Pod } from "./pod.ts";

/** A node may be a moment late to tell its new boot id; older containers are of what it tells. */
const BOOT_CERTAIN_MS = 30_000;

/** A trace as it is kept: also on the pod's Secret, which stays when the pod's object goes. */
export interface KeptTrace extends RunTrace {
  /** Annotations of the Secret as they were last written. */
  readonly secret: Readonly<Record<string, string>>;
}

/** The trace of a pod of ours; undefined: it is none. */
export function traceOfPod(pod: Pod): KeptTrace | undefined {
  const { labels, annotations, namespace, name, uid } = pod.metadata;
  const runId = labels?.[RUN_LABEL];
  if (runId === undefined) return undefined;
  return {
    ...{ runId, namespace, pod: name, podUid: uid },
    object: annotations?.[OBJECT] ?? "",
    operation: operationOf(annotations?.[OPERATION]),
    node: pod.spec.nodeName,
    bootId: undefined,
    greeted: false,
    secret: {},
  };
}

/** The trace that a Secret keeps; undefined: it keeps none. */
export function traceOfSecret({ metadata }: SecretHead): KeptTrace | undefined {
  const { labels, annotations = {}, namespace, name } = metadata;
  const runId = labels?.[RUN_LABEL];
  const podUid = annotations[POD_UID];
  if (runId === undefined || podUid === undefined) return undefined;
  return {
    ...{ runId, namespace, pod: name, podUid },
    object: annotations[OBJECT] ?? "",
    operation: operationOf(annotations[OPERATION]),
    node: annotations[NODE],
    bootId: annotations[BOOT_ID],
    greeted: annotations[GREETED] === "true",
    secret: annotations,
  };
}

/** One that cannot be told is taken for the kind that may do harm. */
function operationOf(text: string | undefined): Operation {
  return text === "plan" ? "plan" : "apply";
}

/** What a Secret keeps of its pod from the beginning. */
export function keptOf(trace: RunTrace): Record<string, string> {
  return {
    [POD_UID]: trace.podUid,
    [OBJECT]: trace.object,
    [OPERATION]: trace.operation,
    ...(trace.node === undefined ? {} : { [NODE]: trace.node }),
    ...(trace.bootId === undefined ? {} : { [BOOT_ID]: trace.bootId }),
    ...(trace.greeted ? { [GREETED]: "true" } : {}),
  };
}

/**
 * The boot id that the node has for certain while the runner gives this sign of life: it is the
 * runner's own, or its container has run for long enough that the node must have told of it.
 */
export function bootIdAtSign(
  sign: { readonly own: string | undefined; readonly nowMs: number },
  pod: Pod,
  node: NodeView | undefined,
): string | undefined {
  if (node === undefined || node.bootId === "") return undefined;
  if (sign.own === node.bootId) return node.bootId;
  const began = Date.parse(runnerStatus(pod)?.state?.running?.startedAt ?? "");
  return sign.nowMs - began >= BOOT_CERTAIN_MS ? node.bootId : undefined;
}
