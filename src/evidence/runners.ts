import type { NodeView, PodView } from "./pods.ts";
import { endedUnknown } from "./pods.ts";
import type { TerraformView } from "./terraforms.ts";

/**
 * What became of the runner that got a call at a time: `gone` means that the call can never be
 * answered; `alive`, that the very process still runs; `same-sandbox`, that the kubelet restarted
 * it at the same address, where a waiting call goes on; `starting`, that it has not begun yet;
 * `unknown`, that the evidence does not say.
 */
export type RunnerFate = "gone" | "alive" | "same-sandbox" | "starting" | "leaving" | "unknown";

/** How a runner that is gone went. */
export type GoneHow =
  | "no-pod"
  | "pod-ended"
  | "pod-replaced"
  | "node-not-ready"
  | "node-gone"
  | "restarted-in-new-sandbox";

export interface RunnerView {
  readonly pod: PodView | undefined;
  readonly fate: RunnerFate;
  readonly how: GoneHow | undefined;
  /** A whole sentence. */
  readonly says: string;
  /** When it went, as far as it is known. */
  readonly goneMs: number | undefined;
}

/** Pods that run tofu for Terraform objects, by the label and form that the controller gives. */
export function isRunner(pod: PodView): boolean {
  return (
    pod.labels["app.kubernetes.io/name"] === "tf-runner" ||
    pod.owner?.kind === "Terraform" ||
    pod.containers.some((each) => each.name === "tf-runner")
  );
}

export function runnerPodOf(
  object: Pick<TerraformView, "name" | "namespace">,
  pods: readonly PodView[],
): PodView | undefined {
  const own = pods.filter((pod) => pod.namespace === object.namespace && isRunner(pod));
  return (
    own.find((pod) => pod.owner?.kind === "Terraform" && pod.owner.name === object.name) ??
    own.find((pod) => pod.name === `${object.name}-tf-runner`)
  );
}

/** The fate of the runner that got a call at `calledMs`. Times have whole seconds. */
export function runnerFate(
  object: Pick<TerraformView, "name" | "namespace">,
  calledMs: number,
  pods: readonly PodView[],
  nodes: readonly NodeView[] | undefined,
): RunnerView {
  const pod = runnerPodOf(object, pods);
  if (pod === undefined) {
    return gone(undefined, "no-pod", "There is no runner pod any more.", undefined);
  }
  if (pod.phase === "Failed" || pod.phase === "Succeeded") {
    const why = [pod.reason, pod.message].filter((each) => each !== undefined).join(": ");
    const says = `Runner pod ${pod.key} is ${pod.phase}${why === "" ? "" : ` (${why})`}.`;
    return gone(pod, "pod-ended", says, endOf(pod));
  }
  const present = ofPresentPod(pod, calledMs, nodes);
  if (pod.createdMs === undefined || pod.createdMs <= calledMs) return present;
  if (pod.createdMs - calledMs > CLOCKS_MS) {
    const says = `Runner pod ${pod.key} was created after the call; the one that got it is gone.`;
    return gone(pod, "pod-replaced", says, undefined);
  }
  if (present.fate === "gone") return present;
  const says = `Runner pod ${pod.key} was created at the time of the call, as far as clocks agree.`;
  return plain(pod, "unknown", says);
}

/** The API server's clock, by which pods are created, and the controller's may differ by this. */
const CLOCKS_MS = 30_000;

function ofPresentPod(
  pod: PodView,
  calledMs: number,
  nodes: readonly NodeView[] | undefined,
): RunnerView {
  const container = pod.containers.find((each) => each.name === "tf-runner") ?? pod.containers[0];
  const node = nodes?.find((each) => each.name === pod.node);
  const startedMs = container?.runningSinceMs;
  if (nodes === undefined || pod.node === undefined) {
    if (pod.node === undefined) return plain(pod, "starting", "The runner pod has no node yet.");
    return plain(pod, "unknown", `Whether node ${pod.node} is ready could not be read.`);
  }
  if (node === undefined) {
    return gone(
      pod,
      "node-gone",
      `Node ${pod.node} of the runner does not exist any more.`,
      undefined,
    );
  }
  if (!node.ready) {
    const says = `Node ${node.name} of the runner is not Ready (${node.readyReason}).`;
    return gone(pod, "node-not-ready", says, node.readySinceMs);
  }
  const isRestarted = (container?.restartCount ?? 0) > 0 || container?.ended !== undefined;
  if (isRestarted && (startedMs === undefined || startedMs > calledMs)) {
    return ofRestarted(pod, calledMs, startedMs);
  }
  if (pod.deletedMs !== undefined) {
    return plain(pod, "leaving", `Runner pod ${pod.key} is being deleted on a Ready node.`);
  }
  if (startedMs === undefined) {
    return plain(pod, "starting", `The container of ${pod.key} has not started yet.`);
  }
  if (startedMs > calledMs) {
    return plain(pod, "starting", `The container of ${pod.key} started late, for the first time.`);
  }
  return plain(pod, "alive", `Runner ${pod.key} runs on Ready node ${node.name} since before.`);
}

/** Restarted since the call: with a new sandbox its address is gone, in the old one it is not. */
function ofRestarted(pod: PodView, calledMs: number, startedMs: number | undefined): RunnerView {
  const container = pod.containers.find((each) => each.name === "tf-runner") ?? pod.containers[0];
  const unknownEnd = endedUnknown(container?.ended);
  const newSandbox = pod.sandboxSinceMs !== undefined && pod.sandboxSinceMs > calledMs;
  const isUp = startedMs !== undefined;
  if (unknownEnd || newSandbox) {
    const sign = unknownEnd
      ? `its last life ended as ${container?.ended?.reason}/${container?.ended?.exitCode}`
      : "its sandbox was made anew";
    const says =
      `The container of ${pod.key} was restarted in a new sandbox after the call (${sign}): ` +
      `${isUp ? "it looks Running, " : "it is "}at another address and without the call.`;
    // When it went is not known: its node was away, and tells only when it began anew.
    return gone(pod, "restarted-in-new-sandbox", says, undefined);
  }
  const says = isUp
    ? `The kubelet restarted the container of ${pod.key} in the same sandbox.`
    : `The container of ${pod.key} is down and will be restarted.`;
  return plain(pod, "same-sandbox", says);
}

function endOf(pod: PodView): number | undefined {
  const ends = pod.containers.flatMap((each) => each.ended?.finishedMs ?? []);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

const gone = (
  pod: PodView | undefined,
  how: GoneHow,
  says: string,
  goneMs: number | undefined,
): RunnerView => ({ pod, fate: "gone", how, says, goneMs });

const plain = (pod: PodView, fate: RunnerFate, says: string): RunnerView => ({
  pod,
  fate,
  how: undefined,
  says,
  goneMs: undefined,
});
