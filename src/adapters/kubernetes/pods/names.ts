/** Names of what the platform alone makes and reads; people's tools know `api/cluster-names.ts`. */

/** Label, "true": a runner of Nigari; runners keep away from each other by it. */
export const RUNNER_LABEL = "nigari.dev/runner";
/** Gate: the pod is not placed before its certificate is there. */
export const CERTIFICATE_GATE = "nigari.dev/certificate";
/** Annotation of the Secret, which outlives the pod: the pod whose runner gave its last sign. */
export const POD_UID = "nigari.dev/pod-uid";
/** Annotation of the Secret, "true": the runner has answered, so it may have its order. */
export const GREETED = "nigari.dev/greeted";
/** Taint of a node by which a person vouches that it is off. */
export const OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";

export const CONTAINER = "tf-runner";
/** Init container that brings our runner beside a foreign image's tools. */
export const INSTALLER = "nigari-install";
export const RUNNER_PORT = 30_000;

const NAME_MAX = 63;

/**
 * The pod of a run, and its Secret too. An attempt has a name of its own, so a new one never waits
 * for an old one to go. The run stands in it as a whole: OpenTofu notes of who holds a lock nothing
 * but this name.
 */
export function podName(object: string, runId: string): string {
  const end = `-tf-runner-${runId}`;
  return `${object.slice(0, NAME_MAX - end.length).replace(/[^a-z0-9]+$/, "")}${end}`;
}

/** The run that a pod of this name is of; undefined: it is none of ours. */
export function runOfPod(name: string): string | undefined {
  return /-tf-runner-(\d+-[0-9a-f]+)$/.exec(name)?.[1];
}
