/** Names by which a cluster knows what Nigari made for a run, and whose its objects are. */

/** Label: the run that a pod or Secret is of. */
export const RUN_LABEL = "nigari.dev/run";
/**
 * Finalizer: whoever deletes the pod, its object stays until the kubelet's word of the container's
 * end has been read. Without it, that word would be lost, and an apply could wait for ever.
 */
export const COLLECT_FINALIZER = "nigari.dev/collect";
/** Annotations of a runner's pod and Secret: what the run is for. */
export const OPERATION = "nigari.dev/operation";
export const OBJECT = "nigari.dev/terraform";
/** Annotations of the Secret, which outlives the pod: where the runner gave its last sign. */
export const NODE = "nigari.dev/node";
export const BOOT_ID = "nigari.dev/boot-id";
/** Annotation of a node: the boot id whose processes a person vouches to be dead. */
export const FENCED = "nigari.dev/fenced";

/**
 * The Lease by which tofu-controller elects its leader. Nigari's controller holds it too, so that
 * never both of them lead.
 */
export const UPSTREAM_LEASE = "1953de50.contrib.fluxcd.io";
/** Every Nigari's identity begins so; tofu-controller's begins with a host's name, which cannot. */
export const OWN_IDENTITY = "nigari/";
