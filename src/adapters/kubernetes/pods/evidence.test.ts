import { describe, expect, test } from "vitest";
import { platformFact, provenEnd, type RunTrace } from "./evidence.ts";
import { type ContainerStatus, type NodeView, nodeView, type Pod } from "./pod.ts";

const trace: RunTrace = {
  ...{ runId: "r1", namespace: "team", object: "demo", pod: "demo-tf-runner-r1", podUid: "u1" },
  ...{ operation: "apply", node: "a", bootId: "boot-1" },
  greeted: true,
};
const node: NodeView = {
  ...{ name: "a", bootId: "boot-1", trouble: undefined, outOfService: false, fenced: undefined },
};

type State = NonNullable<ContainerStatus["state"]>;
const running: State = { running: { startedAt: "2026-01-01T00:00:00Z" } };
const ended = (exitCode: number, reason = "Error"): State => ({
  terminated: { exitCode, reason, finishedAt: "2026-01-01T00:01:00Z" },
});

interface Facets {
  readonly state?: State;
  readonly status?: Pod["status"];
  readonly metadata?: Partial<Pod["metadata"]>;
  readonly spec?: Pod["spec"];
}

function pod({ state, status, metadata, spec }: Facets = {}): Pod {
  const own = state === undefined ? [] : [{ name: "tf-runner", state }];
  return {
    metadata: {
      ...{ name: "demo-tf-runner-r1", namespace: "team", uid: "u1", resourceVersion: "1" },
      ...metadata,
    },
    spec: spec ?? { nodeName: "a" },
    status: { phase: "Running", containerStatuses: own, ...status },
  };
}

describe("a run has ended, on proof", () => {
  const deleted = { deletionTimestamp: "2026-01-01T00:00:30Z" };
  interface Case {
    readonly pod?: Pod;
    readonly node?: Partial<NodeView>;
    readonly greeted?: boolean;
    readonly proof: RegExp;
  }
  const cases: Record<string, Case> = {
    "its container was killed, says its kubelet": {
      pod: pod({ state: ended(137) }),
      proof: /^killed by signal 9$/,
    },
    "its container had no memory left": {
      pod: pod({ state: ended(137, "OOMKilled") }),
      proof: /^killed for want of memory/,
    },
    "its kubelet came back and found the container no more, whatever the phase still says": {
      pod: pod({ state: ended(255, "Unknown") }),
      proof: /^ended with its node a$/,
    },
    "its container exited": { pod: pod({ state: ended(0) }), proof: /^exited with code 0$/ },
    "a sidecar goes on, and the runner does not": {
      pod: pod({
        status: {
          phase: "Running",
          containerStatuses: [
            { name: "sidecar", state: running },
            { name: "tf-runner", state: ended(1) },
          ],
        },
      }),
      proof: /^exited with code 1$/,
    },
    "an init container of the user failed, so nothing is started after it": {
      pod: pod({
        status: {
          phase: "Failed",
          initContainerStatuses: [
            { name: "login", state: { terminated: { exitCode: 3, message: "no\naccess\n" } } },
          ],
          containerStatuses: [
            { name: "tf-runner", state: { waiting: { reason: "PodInitializing" } } },
          ],
        },
      }),
      proof: /^init container "login" failed with exit code 3: access$/,
    },
    "its kubelet refused the pod": {
      pod: pod({ status: { phase: "Failed", reason: "OutOfcpu", message: "no cpu" } }),
      proof: /^node a refused its pod \(OutOfcpu\): no cpu$/,
    },
    "it was deleted before it had a node": {
      pod: pod({ metadata: deleted, spec: {} }),
      proof: /before it had a node/,
    },
    "it was deleted before it ran, and before the runner answered": {
      pod: pod({ state: { waiting: { reason: "ErrImagePull" } }, metadata: deleted }),
      greeted: false,
      proof: /^its pod was deleted before the runner answered$/,
    },
    "its node has another boot id now, and the pod's object is gone": {
      node: { bootId: "boot-2" },
      proof: /^node a was started anew$/,
    },
    "its node bears the out-of-service taint": {
      pod: pod({ state: running }),
      node: { outOfService: true, trouble: "is not heard of" },
      proof: /out of service/,
    },
    "a person fenced this boot of its node": {
      pod: pod({ state: running }),
      node: { fenced: "boot-1", trouble: "is not heard of" },
      proof: /a person has vouched that node a is off/,
    },
  };
  test.each(Object.entries(cases))("%s", (_why, { pod: at, node: of, proof, greeted = true }) => {
    expect(provenEnd({ ...trace, greeted }, at, { ...node, ...of })?.proof).toMatch(proof);
  });
});

describe("no proof is", () => {
  const pending = { waiting: { reason: "ContainerCreating" } };
  const target = { type: "DisruptionTarget", status: "True", reason: "DeletionByPodGC" };
  const cases: Record<string, { pod?: Pod; node?: NodeView | undefined }> = {
    "the phase that PodGC sets": {
      pod: pod({ state: running, status: { phase: "Failed", conditions: [target] } }),
      node,
    },
    "the phase that PodGC sets on a pod of which no container was told": {
      pod: pod({ state: pending, status: { phase: "Failed", conditions: [target] } }),
      node: undefined,
    },
    "a deletion": { pod: pod({ state: running, metadata: { deletionTimestamp: "x" } }), node },
    "a deletion of what has answered, although nobody has told yet that it runs": {
      pod: pod({ state: pending, metadata: { deletionTimestamp: "x" } }),
      node,
    },
    "the end of the pod's object": { node },
    "a missing Node": { pod: pod({ state: running }), node: undefined },
    "a node that is not heard of": {
      pod: pod({ state: running }),
      node: { ...node, trouble: "is not heard of" },
    },
    "the fence of an earlier boot": {
      pod: pod({ state: running }),
      node: { ...node, fenced: "0" },
    },
    "a boot id that a node has not told": {
      pod: pod({ state: running }),
      node: { ...node, bootId: "" },
    },
    "another node's new boot id": { node: { ...node, name: "b", bootId: "boot-2" } },
    "an init container that has not ended": {
      pod: pod({
        state: pending,
        status: { initContainerStatuses: [{ name: "i", state: running }] },
      }),
      node,
    },
  };
  test.each(Object.entries(cases))("%s", (_why, { pod: at, node: of }) => {
    expect(provenEnd(trace, at, of)).toBeUndefined();
  });
  test("another boot id, if that of before is not known for certain", () => {
    const now = { ...node, bootId: "boot-2" };
    expect(provenEnd({ ...trace, bootId: undefined }, undefined, now)).toBeUndefined();
  });
});

describe("what is known of a run", () => {
  const fact = (at: Pod | undefined, of: NodeView | undefined = node) =>
    platformFact(trace, { pod: at, node: of }, undefined);

  test("while its container runs: its processes cannot be counted", () => {
    const state = { runner: "running", workersAlive: undefined, cutOff: false };
    expect(fact(pod({ state: running }))).toMatchObject(state);
  });
  test("while its node is not Ready: it is cut off, and the node's trouble is told", () => {
    const trouble = "is not heard of since T (NodeStatusUnknown)";
    expect(fact(pod({ state: running }), { ...node, trouble })).toMatchObject({
      ...{ runner: "running", cutOff: true },
      place: { pod: "team/demo-tf-runner-r1", node: "a", nodeTrouble: trouble },
    });
  });
  test("before it has started on a node that is heard of: nothing of it lives", () => {
    expect(fact(pod({ state: { waiting: { reason: "ContainerCreating" } } }))).toMatchObject({
      ...{ runner: "starting", workersAlive: 0, cutOff: false },
      place: { waitsFor: "The pod is started on node a" },
    });
  });
  test("before it was heard to start on a node that is gone: it may have started", () => {
    const waiting = pod({ state: { waiting: { reason: "ContainerCreating" } } });
    const gone = platformFact(trace, { pod: waiting, node: undefined }, undefined);
    expect(gone).toMatchObject({ runner: "starting", workersAlive: undefined, cutOff: true });
  });
  test("once its object was removed without a word of its kubelet", () => {
    const state = { runner: "unknown", workersAlive: undefined, cutOff: true };
    expect(fact(undefined)).toMatchObject(state);
  });
  test("once it has ended and was never greeted: it had no order, so nothing had begun", () => {
    const silent = { ...trace, greeted: false };
    const end = provenEnd(silent, pod({ state: ended(1) }), node);
    expect(end).toMatchObject({ proof: "exited with code 1", neverRan: true });
  });
  test("once a foreign image could not run the runner: three lines build one that can", () => {
    const terminated = { exitCode: 128, reason: "StartError", message: "no such file" };
    const at = pod({
      status: {
        initContainerStatuses: [{ name: "nigari-install", image: "nigari/runner:1" }],
        containerStatuses: [{ name: "tf-runner", image: "corp/x:1", state: { terminated } }],
      },
    });
    expect(provenEnd({ ...trace, greeted: false }, at, node)?.proof).toMatch(
      /^never started.*no such file; .*"FROM nigari\/runner:1", "COPY --from=corp\/x:1 .*"USER/,
    );
    expect(provenEnd(trace, at, node)?.proof).not.toMatch(/FROM/);
  });
  test("once it never ran: nothing was ordered", () => {
    const end = { proof: "x", at: "2026-01-01T00:00:00Z", neverRan: true };
    expect(platformFact(trace, { pod: undefined, node }, end)).toMatchObject({
      ...{ runner: "gone", workersAlive: 0, workersStage: "launch", orderTaken: false },
    });
  });
});

describe("what a pod waits for", () => {
  const image = { name: "tf-runner", image: "corp/x:1" };
  const waiting = (reason: string, message?: string) =>
    pod({
      status: {
        containerStatuses: [
          { ...image, state: { waiting: { reason, ...(message ? { message } : {}) } } },
        ],
      },
    });
  const cases: Record<string, { pod: Pod; says: RegExp }> = {
    "its certificate": {
      pod: pod({ spec: { schedulingGates: [{ name: "nigari.dev/certificate" }] } }),
      says: /certificate/,
    },
    "somebody else's gate": {
      pod: pod({ spec: { schedulingGates: [{ name: "kueue/x" }] } }),
      says: /gate "kueue\/x"/,
    },
    "a node that takes it": {
      pod: pod({
        spec: {},
        status: {
          conditions: [
            {
              ...{ type: "PodScheduled", status: "False", reason: "Unschedulable" },
              message: "0/2 nodes are available: 2 Insufficient cpu.",
            },
          ],
        },
      }),
      says: /^No node takes the pod: 0\/2 nodes are available: 2 Insufficient cpu\.$/,
    },
    "an image that cannot be pulled": {
      pod: waiting("ImagePullBackOff", "Back-off pulling image"),
      says: /^Image corp\/x:1 of container "tf-runner" cannot be had \(ImagePullBackOff\): B/,
    },
    "a container that cannot be made": {
      pod: waiting("CreateContainerConfigError", 'secret "x" not found'),
      says: /cannot be started \(CreateContainerConfigError\): secret "x" not found \(node a\)$/,
    },
    "an init container that goes on": {
      pod: pod({ status: { initContainerStatuses: [{ name: "login", state: running }] } }),
      says: /^Init container "login" goes on/,
    },
  };
  test.each(Object.entries(cases))("%s", (_what, { pod: at, says }) => {
    expect(platformFact(trace, { pod: at, node }, undefined).place?.waitsFor).toMatch(says);
  });
});

test.each([
  ["EvictionByEvictionAPI", /evicted, as a drain/],
  ["DeletionByTaintManager", /taint/],
  ["Strange", /sent away \(Strange\)/],
])("a pod that goes because of %s says so", (reason, says) => {
  const conditions = [{ type: "DisruptionTarget", status: "True", reason }];
  const at = pod({
    ...{ state: running, metadata: { deletionTimestamp: "x" }, status: { conditions } },
    ...{},
  });
  const whole = { ...at, status: { ...at.status, containerStatuses: [{ name: "tf-runner" }] } };
  expect(platformFact(trace, { pod: whole, node }, undefined).place?.stoppedBy).toMatch(says);
});

test("of a node is kept what tells whether its processes live", () => {
  const raw = {
    metadata: { name: "a", annotations: { "nigari.dev/fenced": "boot-0" } },
    spec: { taints: [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }] },
    status: {
      nodeInfo: { bootID: "boot-1" },
      conditions: [
        {
          ...{ type: "Ready", status: "Unknown", reason: "NodeStatusUnknown" },
          lastTransitionTime: "2026-01-01T05:35:12Z",
        },
      ],
    },
  };
  expect(nodeView(raw)).toEqual({
    ...{ name: "a", bootId: "boot-1", outOfService: true, fenced: "boot-0" },
    trouble: "is not heard of since 2026-01-01T05:35:12Z (NodeStatusUnknown)",
  });
});
