import { CERTIFICATE_GATE, CONTAINER } from "./names.ts";
import type { ContainerStatus, Pod } from "./pod.ts";

/** Longest text of a scheduler or registry that is passed on. */
const TEXT_MAX = 300;

/** What a pod waits for that has not started its runner, in words. */
export function waitsFor(pod: Pod): string {
  const { conditions = [] } = pod.status ?? {};
  if (pod.spec.schedulingGates?.some(({ name }) => name === CERTIFICATE_GATE)) {
    return "The pod waits for its certificate";
  }
  const gate = pod.spec.schedulingGates?.[0]?.name;
  if (gate !== undefined) return `The pod waits until somebody removes its gate "${gate}"`;
  if (pod.spec.nodeName === undefined) {
    const scheduled = conditions.find(({ type }) => type === "PodScheduled");
    if (scheduled?.reason !== "Unschedulable") return "The pod waits for a node";
    return `No node takes the pod: ${short(scheduled.message ?? "no reason is given")}`;
  }
  const { nodeName } = pod.spec;
  const inits = pod.status?.initContainerStatuses ?? [];
  const init = inits.find(({ state }) => state?.terminated === undefined);
  const own = pod.status?.containerStatuses?.find(({ name }) => name === CONTAINER);
  for (const status of [init, own]) {
    const why = status === undefined ? undefined : trouble(status);
    if (why !== undefined) return `${why} (node ${nodeName})`;
  }
  if (init?.state?.running !== undefined) {
    return `Init container "${init.name}" goes on (node ${nodeName})`;
  }
  return `The pod is started on node ${nodeName}`;
}

/** What is wrong with a container that waits; undefined where it is on its way. */
function trouble({ name, image, state }: ContainerStatus): string | undefined {
  const { reason, message } = state?.waiting ?? {};
  const says = message === undefined || message === "" ? "" : `: ${short(message)}`;
  switch (reason) {
    case undefined:
    case "ContainerCreating":
    case "PodInitializing":
      return undefined;
    case "ErrImagePull":
    case "ImagePullBackOff":
    case "InvalidImageName":
    case "ErrImageNeverPull":
      return `Image ${image ?? ""} of container "${name}" cannot be had (${reason})${says}`;
    default:
      return `Container "${name}" cannot be started (${reason})${says}`;
  }
}

/** Why a pod goes that nobody of us sends away, as the end of a sentence. */
export function stoppedBy({ metadata, status }: Pod): string | undefined {
  const { deletionTimestamp } = metadata;
  if (deletionTimestamp === undefined) return undefined;
  const target = status?.conditions?.find(
    ({ type, status: is }) => type === "DisruptionTarget" && is === "True",
  );
  switch (target?.reason) {
    case "EvictionByEvictionAPI":
      return "its pod is evicted, as a drain of its node does";
    case "DeletionByTaintManager":
      return "its pod is sent away by a taint of its node";
    case "PreemptionByScheduler":
      return "its pod makes room for one of a higher priority";
    case "TerminationByKubelet":
      return "its node shuts down or is short of resources";
    case undefined:
      return "its pod is deleted";
    default:
      return `its pod is sent away (${target?.reason})`;
  }
}

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= TEXT_MAX ? line : `${line.slice(0, TEXT_MAX)}…`;
}
