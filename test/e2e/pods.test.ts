import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { PodPlatform } from "../../src/adapters/kubernetes/pods/platform.ts";
import type { Cluster } from "../../src/testing/cluster/cluster.ts";
import { send } from "../../src/testing/cluster/objects.ts";
import { FOREIGN_IMAGE } from "../../src/testing/images/contents.ts";
import { call, inTheMaking, outcomeOf, PodRuns, type Run, untilFact } from "./support/pod-runs.ts";
import { noCluster, sharedCluster } from "./support/shared.ts";

const NAMESPACE = "pods";
const QUICK = { "main.tf": 'resource "terraform_data" "a" {}\noutput "x" { value = "y" }\n' };
const SLOW = {
  "main.tf": `
resource "terraform_data" "quick" {}
resource "terraform_data" "slow" {
  depends_on = [terraform_data.quick]
  provisioner "local-exec" { command = "sleep 600" }
}
`,
};

/** The runner in pods of real kubelets, with real tofu, over mutual TLS. */
describe.skipIf(noCluster())("a run in a pod", () => {
  let cluster: Cluster;
  let runs: PodRuns;
  let platform: PodPlatform;
  const gone = (run: Run, limitMs?: number) =>
    untilFact(platform, run, ({ runner }) => runner === "gone", limitMs);

  beforeAll(async () => {
    cluster = sharedCluster();
    runs = await PodRuns.open(cluster, NAMESPACE);
    platform = await runs.platform();
  });
  afterEach(async () => {
    for (const runId of await platform.list(call())) {
      await platform.signal(runId, "terminate", call()).catch(() => undefined);
      await platform.remove(runId, call());
    }
  });
  afterAll(() => runs?.close());

  /** An apply that is in the middle of its slow resource. */
  async function applying(more: Partial<Parameters<PodRuns["run"]>[0]> = {}) {
    const plan = await runs.plan(platform, SLOW);
    const run = runs.run({ operation: "apply", files: SLOW, ...more });
    const connection = await runs.begin(platform, run, plan);
    await inTheMaking(connection, "terraform_data.slow");
    return { run, connection };
  }

  test("goes from launch to removal, and leaves nothing", async () => {
    const run = runs.run({ files: QUICK });
    const { runId } = run.launch;
    const connection = await runs.begin(platform, run);
    const outcome = await outcomeOf(connection);
    expect(outcome).toMatchObject({ kind: "planned", changes: true });
    expect((await platform.readFile(runId, "plan.bin", call()))?.length).toBeGreaterThan(100);
    await connection.release(call());
    connection.close();
    expect(await gone(run)).toMatchObject({ proof: "exited with code 0", workersAlive: 0 });
    // Its files are gone; its word is not.
    expect(await platform.collect(runId, call())).toEqual(outcome);
    expect(await platform.readLog(runId, 0, call())).not.toEqual([]);
    await platform.remove(runId, call());
    expect(await runs.left(run)).toEqual([]);
  });

  test("is known to a controller that comes later, which goes on with it", async () => {
    const run = runs.run({ files: QUICK });
    const first = await runs.begin(platform, run);
    first.close();
    const later = await runs.platform();
    expect(await later.list(call())).toEqual([run.launch.runId]);
    const connection = later.connect(run.launch.runId, 8);
    expect(await outcomeOf(connection)).toMatchObject({ kind: "planned" });
    connection.close();
  });

  test("whose container is killed in an apply names what may exist unrecorded", async () => {
    const { run, connection } = await applying();
    (await cluster.pod(NAMESPACE, run.pod)).kill();
    expect(await gone(run, 10_000)).toMatchObject({ proof: "killed by signal 9" });
    connection.close();
    expect(await platform.collect(run.launch.runId, call())).toMatchObject({
      ...{ kind: "orphaned", stage: "apply", exitCode: undefined },
      unrecorded: ["terraform_data.quick", "terraform_data.slow"],
    });
  });

  test("whose pod is deleted by force stays until its end is proven", async () => {
    const { run, connection } = await applying();
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${run.pod}`;
    await send(cluster, "DELETE", `${path}?gracePeriodSeconds=0`);
    expect(await runs.left(run)).toContain("Pod");
    const fact = await gone(run, 20_000);
    expect(fact.proof).toMatch(/^(killed by signal|exited with code)/);
    connection.close();
    // A kubelet lets it have a second even then, in which tofu may end in order.
    expect(await platform.collect(run.launch.runId, call())).toMatchObject({ stage: "apply" });
    await platform.remove(run.launch.runId, call());
    expect(await runs.left(run)).toEqual([]);
  });

  test("that is evicted ends tofu in order, tells its outcome, and is collected", async () => {
    const { run, connection } = await applying({ gracePeriodSeconds: 60 });
    const ended = outcomeOf(connection);
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${run.pod}/eviction`;
    await send(cluster, "POST", path, {
      ...{ apiVersion: "policy/v1", kind: "Eviction" },
      metadata: { name: run.pod, namespace: NAMESPACE },
    });
    await untilFact(platform, run, ({ place }) => /drain/.test(place?.stoppedBy ?? ""), 10_000);
    expect(await ended).toMatchObject({ stage: "apply" });
    await connection.release(call());
    connection.close();
    expect(await gone(run)).toMatchObject({ proof: "exited with code 0" });
    await platform.remove(run.launch.runId, call());
    expect(await runs.left(run)).toEqual([]);
  });

  test("works in a user's own image, with that image's tofu", async () => {
    const securityContext = { runAsUser: 1_000, runAsNonRoot: true };
    const template = { image: FOREIGN_IMAGE, securityContext };
    const run = runs.run({ files: QUICK, template });
    const connection = await runs.begin(platform, run);
    expect(await outcomeOf(connection)).toMatchObject({ kind: "planned", changes: true });
    connection.close();
  });

  test("whose user's init container fails is over, and says which one", async () => {
    const login = {
      ...{ name: "login", image: FOREIGN_IMAGE },
      command: ["sh", "-c", "echo no access >/dev/termination-log; exit 3"],
    };
    const run = runs.run({ files: QUICK, template: { initContainers: [login] } });
    await platform.launch(run.launch, call());
    expect(await gone(run)).toMatchObject({
      proof: 'init container "login" failed with exit code 3: no access',
      workersStage: "launch",
    });
  });

  test.each([
    ["no such image", { image: "nigari.test/none:1" }, /^Image nigari.test\/none:1 of container/],
    ["no node", { nodeSelector: { none: "such" } }, /^No node takes the pod: 0\/2 nodes/],
  ])("that has %s says so, and goes when told to", async (_what, template, says) => {
    const run = runs.run({ files: QUICK, template });
    await platform.launch(run.launch, call());
    const waits = ({ place }: { place?: { waitsFor?: string | undefined } | undefined }) =>
      says.test(place?.waitsFor ?? "");
    // Where no name server answers, a kubelet takes its time to find that out.
    expect(await untilFact(platform, run, waits, 90_000)).toMatchObject({ runner: "starting" });
    await platform.signal(run.launch.runId, "terminate", call());
    expect(await gone(run)).toMatchObject({ workersStage: "launch" });
    await platform.remove(run.launch.runId, call());
    expect(await runs.left(run)).toEqual([]);
  });

  test("on a node without power: a plan is left at once, an apply waits for proof", async () => {
    const b = cluster.node("b");
    try {
      const { run: apply, connection } = await applying({ node: "b" });
      const plan = runs.run({ files: QUICK, node: "b" });
      (await runs.begin(platform, plan)).close();
      await b.powerOff();
      const cutOff = await untilFact(platform, apply, (fact) => fact.cutOff === true, 20_000);
      expect(cutOff).toMatchObject({
        runner: "running",
        place: { node: "b", nodeTrouble: expect.stringMatching(/^is not heard of since/) },
      });
      await platform.remove(plan.launch.runId, call());
      expect(await runs.left(plan)).toEqual([]);
      const removing = platform.remove(apply.launch.runId, call());
      await expect(removing).rejects.toMatchObject({ code: "StillAlive" });
      connection.close();
      await b.start();
      const end = await gone(apply, 60_000);
      expect(end.proof).toMatch(/^(ended with its node b|node b was started anew)$/);
      expect(await platform.collect(apply.launch.runId, call())).toMatchObject({
        ...{ kind: "orphaned", stage: "apply" },
      });
    } finally {
      if (!b.isOn()) await b.start();
      await cluster.untilReady("b");
    }
  });
});
