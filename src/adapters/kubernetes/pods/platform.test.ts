import { X509Certificate } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { noLog } from "../../../ports/log.ts";
import type { RunnerLaunch } from "../../../ports/runner.ts";
import {
  type FakePodApi,
  type StoredObject,
  startFakePodApi,
} from "../../../testing/fakes/pod-api.ts";
import { memoryObjectStore } from "../../memory/object-store.ts";
import { createClock } from "../../system/clock.ts";
import { systemRandom } from "../../system/random.ts";
import { Authority } from "../authority.ts";
import { Connection } from "../connection.ts";
import { PodPlatform, type PodPlatformOptions } from "./platform.ts";

// A platform on a fake API server; the kubelet's part is played by the tests themselves.

const clock = createClock();
const authority = new Authority(
  { namespace: "flux-system", name: "ca" },
  { store: memoryObjectStore({ clock, random: systemRandom }), clock },
);
const call = (ms = 5_000) => ({ signal: AbortSignal.timeout(ms) });
const POD = "demo-tf-runner-5-aabbccddeeff";
const RUN = "5-aabbccddeeff";
let api: FakePodApi;
let ended: AbortController;
beforeEach(async () => {
  api = await startFakePodApi();
  ended = new AbortController();
  api.put("nodes", node("a"));
});
afterEach(async () => {
  ended.abort();
  await api.close();
});

function node(name: string, { bootId = "boot-1", ready = "True" } = {}) {
  return {
    metadata: { name, uid: name, resourceVersion: "" },
    status: {
      nodeInfo: { bootID: bootId },
      conditions: [{ type: "Ready", status: ready, lastTransitionTime: "2026-01-01T05:35:12Z" }],
    },
  };
}

async function begin(more: Partial<PodPlatformOptions> = {}): Promise<PodPlatform> {
  const unset = { ca: undefined, certificate: undefined, key: undefined, serverName: undefined };
  const connection = new Connection(
    {
      ...{ name: "x", namespace: "default", server: new URL(api.url) },
      tls: { ...unset, insecure: false },
      ...{ credential: { kind: "none" }, proxy: undefined, impersonate: undefined },
    },
    { clock, env: {}, userAgent: "nigari/test" },
  );
  const platform = new PodPlatform({
    ...{ connection, authority, namespace: undefined, clock, random: systemRandom, log: noLog },
    defaults: { image: "nigari/runner:1", imagePullSecrets: [], env: {} },
    ...more,
  });
  await platform.start(ended.signal);
  return platform;
}

function launch(operation: "plan" | "apply" = "plan"): RunnerLaunch {
  return {
    ...{ runId: RUN, namespace: "team", name: "demo", epoch: 5, env: {} },
    pod: {
      ...{ ownerUid: "tf-1", operation, revision: "main@sha1:0123456789", template: undefined },
      ...{ serviceAccountName: undefined, gracePeriodSeconds: undefined },
    },
  };
}

const only = (plural: string): StoredObject => {
  const [first, ...rest] = api.all(plural);
  if (first === undefined || rest.length > 0) throw new Error(`Not one of ${plural}`);
  return first;
};
type RawPod = StoredObject & {
  spec: { nodeName?: string; schedulingGates?: unknown };
  status: object;
};

/** What scheduler and kubelet do. */
function kubelet(state: object, more: object = {}): void {
  api.change("pods", POD, (raw) => {
    const pod = raw as RawPod;
    pod.spec.nodeName = "a";
    pod.status = { phase: "Running", containerStatuses: [{ name: "tf-runner", state }], ...more };
  });
}
const running = () => kubelet({ running: { startedAt: "2026-01-01T00:00:00Z" } });

async function until(what: string, holds: () => unknown | Promise<unknown>): Promise<void> {
  const untilMs = performance.now() + 5_000;
  while (!(await holds())) {
    if (performance.now() > untilMs) throw new Error(`It did not come about: ${what}`);
    await new Promise<void>((resolve) => setTimeout(resolve, 5));
  }
}
const seen = (platform: PodPlatform, runner: string) =>
  until(
    `the runner is ${runner}`,
    async () => (await platform.inspect(RUN, call())).runner === runner,
  );

describe("a launch", () => {
  test("makes the pod, gives it a certificate of its uid, and lets it be placed", async () => {
    const platform = await begin();
    expect(await platform.inspect(RUN, call())).toEqual({
      ...{ runner: "unknown", proof: undefined, workersAlive: 0, goneAt: undefined },
    });
    await platform.launch(launch(), call());
    const pod = only("pods") as RawPod;
    expect(pod.spec.schedulingGates).toBeUndefined();
    const secret = only("secrets") as StoredObject & { data: Record<string, string> };
    const leaf = new X509Certificate(Buffer.from(secret.data["tls.crt"] ?? "", "base64"));
    expect(leaf.subjectAltName).toBe(`URI:nigari://run/${RUN}/pod/${pod.metadata.uid}`);
    expect(secret.metadata).toMatchObject({
      ...{ name: POD, namespace: "team", labels: { "nigari.dev/run": RUN } },
      ownerReferences: [
        { kind: "Pod", uid: pod.metadata.uid },
        { kind: "Terraform", uid: "tf-1" },
      ],
    });
    expect(await platform.inspect(RUN, call())).toMatchObject({ runner: "starting" });
    expect(await platform.list(call())).toEqual([RUN]);
  });

  test("is done once, however often it is asked for, and by whom", async () => {
    const platform = await begin();
    await Promise.all([platform.launch(launch(), call()), platform.launch(launch(), call())]);
    await (await begin()).launch(launch(), call());
    expect(
      api.requests.filter((each) => each === "POST /api/v1/namespaces/team/pods"),
    ).toHaveLength(1);
  });

  test("whose answer was lost is found again", async () => {
    const platform = await begin();
    api.put("pods", { ...structuredClone(podOf("x")), spec: {} });
    await until("the pod is seen", async () => (await platform.list(call())).length === 1);
    await platform.launch(launch(), call());
    expect(api.requests).not.toContain("POST /api/v1/namespaces/team/pods");
  });

  test("that a dead controller began is ended by the next", async () => {
    api.refuse(/^POST .*secrets$/, { status: 500, message: "etcdserver: request timed out" });
    const first = await begin();
    await expect(first.launch(launch(), call())).rejects.toThrow(/request timed out/);
    expect((only("pods") as RawPod).spec.schedulingGates).toBeDefined();
    ended.abort();
    ended = new AbortController();
    await begin();
    await until(
      "the gate is open",
      () => (only("pods") as RawPod).spec.schedulingGates === undefined,
    );
    expect(api.all("secrets")).toHaveLength(1);
  });

  test.each([
    [
      "the quota has no room",
      { status: 403, message: 'pods "x" is forbidden: exceeded quota: q, requested: pods=1' },
      /^the quota of namespace team has no room for its pod \(exceeded quota: q, requested/,
    ],
    ["it is not allowed", { status: 403, message: "forbidden: no" }, /does not admit.*RBAC/],
    ["the template is wrong", { status: 422, message: "spec.x: bad" }, /^spec.runnerPodTemplate/],
  ])("says in words that %s", async (_why, answer, says) => {
    api.refuse(/^POST .*pods$/, answer);
    const platform = await begin();
    await expect(platform.launch(launch(), call())).rejects.toThrow(says);
    expect(await platform.inspect(RUN, call())).toMatchObject({
      runner: "unknown",
      workersAlive: 0,
    });
  });

  test("that the quota has no room for waits, and others behind it", async () => {
    const quota = { status: 403, message: 'pods "x" is forbidden: exceeded quota: q, used: 1' };
    api.refuse(/^POST .*pods$/, quota);
    const platform = await begin();
    await expect(platform.launch(launch(), call())).rejects.toThrow(/has no room/);
    const second = { ...launch(), runId: "5-000000000002" };
    await expect(platform.launch(second, call())).rejects.toThrow(/number 2 of 2 that wait/);
    expect(api.all("pods")).toEqual([]);
  });

  test("ends with its call, whatever the API server does", async () => {
    const platform = await begin();
    api.refuse(/^POST .*pods$/, undefined);
    await expect(platform.launch(launch(), call(200))).rejects.toMatchObject({
      ...{ name: "RunnerError", code: "DeadlineExceeded" },
    });
  });

  test("by a leader of before is refused", async () => {
    const platform = await begin({ newestEpoch: async () => 6 });
    const by = { ...call(), epoch: 5 };
    await expect(platform.launch(launch(), by)).rejects.toMatchObject({ code: "Refused" });
    await expect(platform.remove(RUN, by)).rejects.toMatchObject({ code: "Refused" });
    expect(api.all("pods")).toEqual([]);
  });
});

function podOf(uid: string): StoredObject {
  return {
    metadata: {
      ...{ name: POD, namespace: "team", uid, resourceVersion: "" },
      labels: { "nigari.dev/run": RUN },
      annotations: { "nigari.dev/operation": "apply", "nigari.dev/terraform": "demo" },
      finalizers: ["nigari.dev/collect"],
    },
  };
}

describe("an apply whose pod was removed by force", () => {
  async function removed(): Promise<PodPlatform> {
    await (await begin()).launch(launch("apply"), call());
    running();
    // It was greeted, so it may have its order; and its controller has died.
    api.change("secrets", POD, ({ metadata }) => {
      const kept = { "nigari.dev/greeted": "true", "nigari.dev/node": "a" };
      metadata.annotations = { ...metadata.annotations, ...kept };
    });
    const platform = await begin();
    await seen(platform, "running");
    api.drop("pods", POD);
    await seen(platform, "unknown");
    return platform;
  }
  const lost = { runner: "unknown", workersAlive: undefined, cutOff: true };

  test("is not gone, also for a controller that comes later", async () => {
    const platform = await removed();
    expect(await platform.inspect(RUN, call())).toMatchObject(lost);
    await expect(platform.remove(RUN, call())).rejects.toMatchObject({ code: "StillAlive" });
    await expect(platform.collect(RUN, call())).rejects.toMatchObject({ code: "StillAlive" });
    const later = await begin();
    expect(await later.inspect(RUN, call())).toMatchObject(lost);
    // It was begun, so it is never begun again.
    await later.launch(launch("apply"), call());
    expect(api.all("pods")).toEqual([]);
  });

  test("is gone once a person vouches for its node; nothing is left to tell of it", async () => {
    const platform = await removed();
    api.change("nodes", "a", ({ metadata }) => {
      metadata.annotations = { "nigari.dev/fenced": "boot-1" };
    });
    await seen(platform, "gone");
    await expect(platform.collect(RUN, call())).rejects.toMatchObject({ code: "NotFound" });
    await platform.remove(RUN, call());
    expect(api.all("secrets")).toEqual([]);
    expect(await platform.list(call())).toEqual([]);
  });
});

describe("a pod that somebody deletes", () => {
  test("is held until its kubelet's word is read, and collected by its own", async () => {
    const platform = await begin();
    await platform.launch(launch("apply"), call());
    running();
    await seen(platform, "running");
    api.change("pods", POD, ({ metadata }) => {
      metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
    });
    const message = JSON.stringify({ stage: "apply", inFlight: ["x.y"], created: [] });
    kubelet({
      terminated: { exitCode: 137, reason: "Error", message, finishedAt: "2026-01-01T00:00:09Z" },
    });
    await seen(platform, "gone");
    expect(await platform.inspect(RUN, call())).toMatchObject({
      ...{ proof: "killed by signal 9", workersAlive: 0, goneAt: "2026-01-01T00:00:09Z" },
    });
    expect(await platform.collect(RUN, call())).toMatchObject({
      ...{ kind: "orphaned", stage: "apply", unrecorded: ["x.y"] },
    });
    await platform.remove(RUN, call());
    expect([api.all("pods"), api.all("secrets")]).toEqual([[], []]);
  });
});

describe("a plan on a node that is not heard of", () => {
  test("is left to itself at once", async () => {
    const platform = await begin();
    await platform.launch(launch("plan"), call());
    running();
    await seen(platform, "running");
    api.put("nodes", node("a", { ready: "Unknown" }));
    await until("it is cut off", async () => (await platform.inspect(RUN, call())).cutOff);
    await platform.signal(RUN, "terminate", call());
    await platform.remove(RUN, call());
    expect([api.all("pods"), api.all("secrets")]).toEqual([[], []]);
  });
  test("unlike an apply", async () => {
    const platform = await begin();
    await platform.launch(launch("apply"), call());
    running();
    await seen(platform, "running");
    api.put("nodes", node("a", { ready: "Unknown" }));
    await until("it is cut off", async () => (await platform.inspect(RUN, call())).cutOff);
    await expect(platform.remove(RUN, call())).rejects.toMatchObject({ code: "StillAlive" });
    expect(only("pods").metadata.finalizers).toEqual(["nigari.dev/collect"]);
  });
});

test("what was removed is not heard of again, whatever is still told of its pod", async () => {
  const platform = await begin();
  await platform.launch(launch(), call());
  running();
  await seen(platform, "running");
  kubelet({ terminated: { exitCode: 0 } });
  await seen(platform, "gone");
  // The watch is behind: what happens to the pod on its way out is told later.
  await Promise.all([platform.remove(RUN, call()), platform.remove(RUN, call())]);
  await new Promise<void>((resolve) => setTimeout(resolve, 100));
  expect(await platform.list(call())).toEqual([]);
  expect([api.all("pods"), api.all("secrets")]).toEqual([[], []]);
});

test("a removal that fails in its middle is ended by the next", async () => {
  const platform = await begin();
  await platform.launch(launch(), call());
  kubelet({ terminated: { exitCode: 0 } });
  await seen(platform, "gone");
  api.refuse(/^PATCH .*pods/, { status: 500, message: "etcdserver: request timed out" });
  await expect(platform.remove(RUN, call())).rejects.toThrow(/timed out/);
  expect(api.all("pods")).toHaveLength(1);
  await platform.remove(RUN, call());
  expect([api.all("pods"), api.all("secrets"), await platform.list(call())]).toEqual([[], [], []]);
});

test("terminate deletes the pod and returns when its end is proven", async () => {
  const platform = await begin();
  await platform.launch(launch("apply"), call());
  running();
  await seen(platform, "running");
  const ending = platform.signal(RUN, "terminate", call());
  await until("it is deleted", () => only("pods").metadata.deletionTimestamp);
  kubelet({ terminated: { exitCode: 137, reason: "Error" } });
  await ending;
  expect(await platform.inspect(RUN, call())).toMatchObject({ runner: "gone" });
});

test("terminate fails in time where no end is told", async () => {
  const platform = await begin();
  await platform.launch(launch("apply"), call());
  running();
  await seen(platform, "running");
  await expect(platform.signal(RUN, "terminate", call(300))).rejects.toMatchObject({
    code: "DeadlineExceeded",
  });
});

test("what happens to pod and node is news, also after a watch broke", async () => {
  const platform = await begin();
  await platform.launch(launch(), call());
  const heard: string[] = [];
  const stop = new AbortController();
  void (async () => {
    for await (const runId of platform.changes({ signal: stop.signal })) heard.push(runId);
  })();
  await until("the run is told at first", () => heard.length > 0);
  heard.length = 0;
  running();
  await until("its start is news", () => heard.length > 0);
  await seen(platform, "running");
  heard.length = 0;
  api.breakWatches();
  api.put("nodes", node("a", { bootId: "boot-2" }));
  await until("its node's new start is news", () => heard.length > 0);
  stop.abort();
});

test("the output of a container is its log and its journal", async () => {
  const platform = await begin();
  await platform.launch(launch(), call());
  running();
  await seen(platform, "running");
  api.logs.set(POD, "nigari-runner: hello\none\ntwo\n");
  const lines = await platform.readLog(RUN, 0, call());
  expect(lines).toEqual([
    { type: "log", offset: 4, line: "one" },
    { type: "log", offset: 8, line: "two" },
  ]);
  expect(await platform.readLog(RUN, 4, call())).toEqual(lines.slice(1));
});

test("a certificate that is due is made anew where it lies", async () => {
  const platform = await begin();
  await platform.launch(launch(), call());
  running();
  await seen(platform, "running");
  const before = only("secrets") as StoredObject & { data: Record<string, string> };
  ended.abort();
  ended = new AbortController();
  api.change("secrets", POD, ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, "nigari.dev/trusted": "of before" };
  });
  await begin();
  const crt = () =>
    (only("secrets") as StoredObject & { data: Record<string, string> }).data["tls.crt"];
  await until("there is another", () => crt() !== before.data["tls.crt"]);
});
