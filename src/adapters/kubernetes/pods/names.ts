/** Names by which a cluster knows what Nigari made for a run, and what it holds on to. */

/** Label: the run that a pod or Secret is of. */
export const RUN_LABEL = "nigari.dev/run";
/** Label, "true": a runner of Nigari; runners keep away from each other by it. */
export const RUNNER_LABEL = "nigari.dev/runner";
/** Gate: the pod is not placed before its certificate is there. */
export const CERTIFICATE_GATE = "nigari.dev/certificate";
/**
 * Finalizer: whoever deletes the pod, its object stays until the kubelet's word of the container's
 * end has been read. Without it, that word would be lost, and an apply could wait for ever.
 */
export const COLLECT_FINALIZER = "nigari.dev/collect";
/** Annotations of the pod: what the run is for, and the leadership that ordered it. */
export const OPERATION = "nigari.dev/operation";
export const OBJECT = "nigari.dev/terraform";
/** Annotations of the Secret, which outlives the pod: where the runner gave its last sign. */
export const POD_UID = "nigari.dev/pod-uid";
export const NODE = "nigari.dev/node";
export const BOOT_ID = "nigari.dev/boot-id";
/** Annotation of a node: the boot id whose processes a person vouches to be dead. */
export const FENCED = "nigari.dev/fenced";
/** Taint of a node by which a person vouches that it is off. */
export const OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";

export const CONTAINER = "tf-runner";
export const RUNNER_PORT = 30_000;

const NAME_MAX = 63;
/** Of a run id, its end is what chance made. */
const RUN_CHARACTERS = 12;

/**
 * The pod of a run, and its Secret too. An attempt has a name of its own, so a new one never waits
 * for an old one to go.
 */
export function podName(object: string, runId: string): string {
  const end = `-tf-runner-${runId.slice(-RUN_CHARACTERS).replace(/^[^a-z0-9]+/, "")}`;
  return `${object.slice(0, NAME_MAX - end.length).replace(/[^a-z0-9]+$/, "")}${end}`;
}
