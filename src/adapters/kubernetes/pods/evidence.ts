import type { Operation } from "../../../api/terraform.ts";
import type { RunnerPlace } from "../../../domain/facts.ts";
import type { PlatformFact } from "../../../ports/runner.ts";
import { CONTAINER, INSTALLER } from "./names.ts";
import type { ContainerStatus, NodeView, Pod, Terminated } from "./pod.ts";
import { stoppedBy, waitsFor } from "./trouble.ts";

/** What is remembered of a run even if its pod's object has gone. */
export interface RunTrace {
  readonly runId: string;
  readonly namespace: string;
  /** Of the Terraform object. */
  readonly object: string;
  /** Of the pod and of its Secret. */
  readonly pod: string;
  readonly podUid: string;
  readonly operation: Operation;
  /** Where the runner is or was, once that is known. */
  readonly node: string | undefined;
  /** That of the node at the runner's last sign of life; undefined: not known for certain. */
  readonly bootId: string | undefined;
  /** The runner has answered once; before that it is given no order. */
  readonly greeted: boolean;
}

/** An end that is proven, and how. */
export interface ProvenEnd {
  readonly proof: string;
  /** RFC 3339, as the kubelet says; undefined if nobody does. */
  readonly at: string | undefined;
  /** Nothing of the run had begun. */
  readonly neverRan: boolean;
}

/**
 * Whether the run has ended, and how that is known. The runner is the first process of its
 * container, so that with it everything of the run has ended. Not believed: the pod's phase (PodGC
 * sets it for pods whose container may run), a deletionTimestamp, the end of the pod's object, and
 * a Node object that is missing.
 */
export function provenEnd(
  trace: RunTrace,
  pod: Pod | undefined,
  node: NodeView | undefined,
): ProvenEnd | undefined {
  const byPod = pod === undefined ? undefined : (endByKubelet(pod) ?? endUnheard(trace, pod));
  const end = byPod ?? endByNode(trace, node);
  if (end === undefined || trace.greeted) return end;
  // A runner that never answered was given nothing to do.
  const hint = pod === undefined ? "" : foreignHint(pod);
  return { ...end, proof: `${end.proof}${hint}`, neverRan: true };
}

function endByKubelet(pod: Pod): ProvenEnd | undefined {
  const terminated = runnerStatus(pod)?.state?.terminated;
  if (terminated !== undefined) {
    const proof = terminatedText(terminated, pod.spec.nodeName);
    return { proof, at: terminated.finishedAt ?? undefined, neverRan: false };
  }
  const never = (proof: string): ProvenEnd => ({ proof, at: undefined, neverRan: true });
  const { nodeName } = pod.spec;
  if (nodeName === undefined && pod.metadata.deletionTimestamp !== undefined) {
    return never("its pod was deleted before it had a node");
  }
  if (hasRun(pod)) return undefined;
  const failed = failedInit(pod);
  if (failed !== undefined) {
    const { name, state } = failed;
    const why = state?.terminated?.message?.trim().split("\n").at(-1);
    const text = `init container "${name}" failed with exit code ${state?.terminated?.exitCode}`;
    return never(why === undefined || why === "" ? text : `${text}: ${why}`);
  }
  const { phase, reason, message } = pod.status ?? {};
  if (phase === "Failed" && reason !== undefined && REFUSED.test(reason)) {
    const why = `node ${nodeName} refused its pod (${reason})`;
    return never(message === undefined ? why : `${why}: ${message}`);
  }
  return undefined;
}

/** Nothing of a pod is started any more that is deleted, and what never answered has no order. */
function endUnheard({ greeted }: RunTrace, pod: Pod): ProvenEnd | undefined {
  if (greeted || pod.metadata.deletionTimestamp === undefined || hasRun(pod)) return undefined;
  const proof = "its pod was deleted before the runner answered";
  return { proof, at: undefined, neverRan: true };
}

/** What to do about an image of the user's own whose runner came to nothing. */
function foreignHint(pod: Pod): string {
  const installer = pod.status?.initContainerStatuses?.find(({ name }) => name === INSTALLER);
  const own = runnerStatus(pod);
  const code = own?.state?.terminated?.exitCode ?? 0;
  if (installer === undefined || code === 0 || code > SIGNALLED) return "";
  return (
    `; if its image cannot run Nigari's runner, which needs /bin/sh there, build one of three ` +
    `lines: "FROM ${installer.image}", ` +
    `"COPY --from=${own?.image} /path/of/tofu /usr/local/bin/", "USER 65532:65532"`
  );
}

/** Exit codes from here on are signals. */
const SIGNALLED = 128;

/** Reasons by which a kubelet refuses a pod of which it has started nothing. */
const REFUSED =
  /^(OutOf\w+|NodeAffinity|NodeName|NodePorts|UnexpectedAdmissionError|\w+NotSupported)$/;

/** An init container that failed for good: with restartPolicy Never nothing is started after it. */
function failedInit(pod: Pod): ContainerStatus | undefined {
  return pod.status?.initContainerStatuses?.find(
    ({ state }) => state?.terminated !== undefined && state.terminated.exitCode !== 0,
  );
}

function endByNode(trace: RunTrace, node: NodeView | undefined): ProvenEnd | undefined {
  if (node === undefined || node.name !== trace.node) return undefined;
  const end = (proof: string): ProvenEnd => ({ proof, at: undefined, neverRan: false });
  if (node.outOfService) return end(`node ${node.name} was taken out of service`);
  const { bootId } = trace;
  if (node.fenced !== undefined && node.fenced === (bootId ?? node.bootId)) {
    return end(`a person has vouched that node ${node.name} is off`);
  }
  if (bootId !== undefined && node.bootId !== "" && node.bootId !== bootId) {
    return end(`node ${node.name} was started anew`);
  }
  return undefined;
}

/** The end of a container as the end of "The runner was …" or "The runner is gone (…)". */
function terminatedText(
  { exitCode, reason, message }: Terminated,
  node: string | undefined,
): string {
  if (reason === "OOMKilled") return "killed for want of memory (OOMKilled)";
  // What a kubelet says of containers that it does not find again.
  if (exitCode === 255 && reason === "Unknown") return `ended with its node ${node ?? ""}`.trim();
  if (reason === "ContainerStatusUnknown") return "ended without a trace, says its node";
  if (reason === "StartError" || reason === "ContainerCannotRun") {
    return `never started, for its image cannot run the runner: ${message ?? reason}`;
  }
  if (exitCode > 128 && exitCode < 160) return `killed by signal ${exitCode - 128}`;
  return `exited with code ${exitCode}`;
}

export function runnerStatus(pod: Pod): ContainerStatus | undefined {
  return pod.status?.containerStatuses?.find(({ name }) => name === CONTAINER);
}

/** Whether the runner's container has been seen to run. */
function hasRun(pod: Pod): boolean {
  const state = runnerStatus(pod)?.state;
  return state?.running !== undefined || state?.terminated !== undefined;
}

/** All that the cluster knows of a run. `end` is the proof of its end, if there is one. */
export function platformFact(
  trace: RunTrace,
  seen: { readonly pod: Pod | undefined; readonly node: NodeView | undefined },
  end: (ProvenEnd & { readonly at: string }) | undefined,
): PlatformFact {
  const { pod, node } = seen;
  if (end !== undefined) {
    return {
      runner: "gone",
      proof: end.proof,
      workersAlive: 0,
      goneAt: end.at,
      ...(end.neverRan ? { workersStage: "launch", orderTaken: false } : {}),
      place: placeOf(trace, seen),
    };
  }
  const unknown = { proof: undefined, goneAt: undefined, place: placeOf(trace, seen) };
  if (pod === undefined) {
    // Its object is gone, and whatever it stood for may live on its node.
    return { ...unknown, runner: "unknown", workersAlive: undefined, cutOff: true };
  }
  const cutOff = trace.node !== undefined && (node === undefined || node.trouble !== undefined);
  if (hasRun(pod)) return { ...unknown, runner: "running", workersAlive: undefined, cutOff };
  // A node that is heard of would have told that it runs.
  const workersAlive = cutOff ? undefined : 0;
  return { ...unknown, runner: "starting", workersAlive, cutOff };
}

function placeOf(
  trace: RunTrace,
  { pod, node }: { readonly pod: Pod | undefined; readonly node: NodeView | undefined },
): RunnerPlace {
  const { node: name } = trace;
  const isMissing = name !== undefined && node === undefined;
  const nodeTrouble = isMissing ? "is not known to the cluster any more" : node?.trouble;
  return {
    pod: `${trace.namespace}/${trace.pod}`,
    node: name,
    nodeTrouble,
    waitsFor: pod === undefined || hasRun(pod) ? undefined : waitsFor(pod),
    stoppedBy: pod === undefined ? "its pod's object was removed by force" : stoppedBy(pod),
  };
}
