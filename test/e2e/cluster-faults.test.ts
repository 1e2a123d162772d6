import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Cluster } from "../../src/testing/cluster/cluster.ts";
import { run } from "../../src/testing/cluster/commands.ts";
import type { ClusterNode } from "../../src/testing/cluster/node.ts";
import { send } from "../../src/testing/cluster/objects.ts";
import { FOREIGN_IMAGE } from "../../src/testing/images/contents.ts";
import { inPhase, logOf, makeNamespace, makePod, untilPod } from "./support/pods.ts";
import { noCluster, sharedCluster } from "./support/shared.ts";

const namespace = "cluster-faults";
const waits = ["sh", "-c", "trap 'echo asked to end; exit 0' TERM; echo begun; sleep 1000 & wait"];

/** Each fault does what its name says, so that a test which strikes with it proves something. */
describe.skipIf(noCluster())("a fault of the test cluster", () => {
  let cluster: Cluster;
  let b: ClusterNode;
  let pod: { readonly namespace: string; readonly name: string };
  let count = 0;

  beforeAll(async () => {
    cluster = sharedCluster();
    b = cluster.node("b");
    await makeNamespace(cluster, namespace);
  });
  beforeEach(async () => {
    count += 1;
    pod = { namespace, name: `victim-${count}` };
    const wish = { ...pod, node: "b", image: FOREIGN_IMAGE, command: waits };
    // Else it would be deleted from a node that is away for long.
    await makePod(cluster, { ...wish, more: { tolerations: [{ operator: "Exists" }] } });
    await untilPod(cluster, pod, inPhase("Running"));
  });
  afterEach(async () => {
    if (!b.isOn()) await b.start();
    b.join();
    await b.thaw();
    b.startKubelet();
    await cluster.untilReady("b");
  });

  test("power: a node is Unknown within 15 s; started again it has another boot id", async () => {
    const before = await bootIdOf("b");
    await b.powerOff();
    await cluster.untilUnknown("b", 15_000);
    await b.start();
    await cluster.untilReady("b");
    expect(await bootIdOf("b")).not.toBe(before);
    expect(await bootIdOf("b")).not.toBe(await bootIdOf("a"));
    // Nobody asked it to end: what it was when the power went, it says itself.
    const { status } = await untilPod(cluster, pod, inPhase("Failed"));
    expect(status.containerStatuses?.[0]?.state.terminated?.exitCode).toBe(255);
  });

  test("a reboot in order asks every container to end", async () => {
    const before = await bootIdOf("b");
    await b.reboot();
    await cluster.untilReady("b");
    expect(await bootIdOf("b")).not.toBe(before);
    // Its kubelet looks at it anew after the start.
    await untilPod(cluster, pod, ({ status }) => status.phase !== "Running");
    expect(await logOf(cluster, pod)).toBe("begun\nasked to end\n");
  });

  test("a frozen node is Unknown, and thawed it goes on as the same machine", async () => {
    const before = await bootIdOf("b");
    await b.freeze();
    await cluster.untilUnknown("b", 15_000);
    await b.thaw();
    await cluster.untilReady("b");
    expect(await bootIdOf("b")).toBe(before);
  });

  test("a node that is cut off is Unknown while its containers run on", async () => {
    b.cut();
    await cluster.untilUnknown("b", 15_000);
    expect(b.inside("pgrep", "-f", "sleep 1000")).toMatch(/^\d+/);
    b.join();
    await cluster.untilReady("b");
  });

  test("without its kubelet a node is Unknown and reachable", async () => {
    const { status } = await untilPod(cluster, pod, inPhase("Running"));
    await b.stopKubelet();
    await cluster.untilUnknown("b", 15_000);
    expect(run("busybox", "ping", "-c1", `${status.podIP}`)).toContain("1 packets received");
    b.startKubelet();
    await cluster.untilReady("b");
  });

  test("a killed container is Failed with the signal's exit code", async () => {
    (await cluster.pod(namespace, pod.name)).kill();
    const { status } = await untilPod(cluster, pod, inPhase("Failed"));
    expect(status.containerStatuses?.[0]?.state.terminated?.exitCode).toBe(137);
  });

  test("a frozen pod is Running, and goes on when thawed", async () => {
    const processes = await cluster.pod(namespace, pod.name);
    await processes.freeze();
    processes.kill("SIGTERM");
    await untilPod(cluster, pod, inPhase("Running"));
    expect(await logOf(cluster, pod)).toBe("begun\n");
    await processes.thaw();
    await untilPod(cluster, pod, inPhase("Succeeded"));
  });

  test("an API server that is stopped answers nothing; started it knows everything", async () => {
    await cluster.stopProcess("kube-apiserver");
    await expect(send(cluster, "GET", "/readyz")).rejects.toThrow("ECONNREFUSED");
    await cluster.startProcess("kube-apiserver");
    await untilPod(cluster, pod, inPhase("Running"));
  });

  async function bootIdOf(name: string): Promise<string> {
    const node = (await send(cluster, "GET", `/api/v1/nodes/${name}`)) as {
      readonly status: { readonly nodeInfo: { readonly bootID: string } };
    };
    return node.status.nodeInfo.bootID;
  }
});
