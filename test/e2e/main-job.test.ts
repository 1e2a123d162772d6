import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Cluster } from "../../src/testing/cluster/cluster.ts";
import { until } from "../../src/testing/cluster/commands.ts";
import { send } from "../../src/testing/cluster/objects.ts";
import { endController, get, install, Job, makeTeam } from "./support/nigari.ts";
import { noCluster, sharedCluster } from "./support/shared.ts";

const TEAM = "main-job";
let jobs = 0;

const module = (word: string) => ({
  "main.tf": `resource "terraform_data" "word" {
  input = "${word}"
}
output "word" {
  value = terraform_data.word.output
}
`,
});

/** The whole way with everything real: Git, source-controller, runner pods, Secrets. */
describe.skipIf(noCluster())("a Terraform object on a cluster", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = sharedCluster();
    await install(cluster);
    await makeTeam(cluster, TEAM);
  });
  // Another file has controllers of its own.
  afterAll(() => endController(cluster));

  test("a commit is planned, approved, applied, and its outputs are in a Secret", async () => {
    const job = newJob();
    await job.commit(module("one"));
    const wanted = { approvePlan: "", writeOutputsToSecret: { name: `${job.name}-outputs` } };
    await job.create(wanted);
    const planned = await job.untilReady(/^Unknown TerraformPlannedWithChanges: Plan generated/);
    const plan = planned.status?.plan?.pending ?? "";
    expect(plan).toMatch(/^plan-main-/);
    expect(await job.secret(`tfplan-default-${job.name}`)).toBeDefined();

    await job.change({ approvePlan: plan });
    await job.untilReady(/^True TerraformOutputsWritten/);
    expect(await job.secret(`${job.name}-outputs`)).toEqual({
      word: Buffer.from("one").toString("base64"),
    });
    // Where OpenTofu's own backend keeps it, so that another controller finds it there.
    expect(await job.secret(`tfstate-default-${job.name}`)).toHaveProperty("tfstate");
    expect(await runnerPods()).toEqual([]);

    await job.change({ approvePlan: "auto" });
    const hash = await job.commit(module("two"));
    const applied = await job.untilReady(new RegExp(`^True .*${hash}`));
    expect(applied.status?.lastAppliedRevision).toContain(hash);
    expect(await job.secret(`${job.name}-outputs`)).toEqual({
      word: Buffer.from("two").toString("base64"),
    });
  });

  test("a deletion destroys what there is, and nothing is left behind", async () => {
    const job = newJob();
    await job.commit(module("one"));
    await job.create({ destroyResourcesOnDeletion: true });
    await job.untilReady(/^True/);
    await job.remove();
    await until("the object to be gone", 60_000, async () => (await job.isGone()) || undefined);
    expect(await runnerPods()).toEqual([]);
    const secrets = await send(cluster, "GET", `/api/v1/namespaces/${TEAM}/secrets`);
    const names = (secrets as { items: { metadata: { name: string } }[] }).items.map(
      ({ metadata }) => metadata.name,
    );
    // An empty state stays, as it does with tofu-controller.
    const left = names.filter((name) => name.includes(job.name));
    expect(left).toEqual([`tfstate-default-${job.name}`]);
  });

  /** A name of its own for each attempt: what is left of one must not help another. */
  function newJob(): Job {
    jobs += 1;
    return new Job(cluster, TEAM, `job-${jobs}`);
  }

  async function runnerPods(): Promise<string[]> {
    const label = encodeURIComponent("app.kubernetes.io/name=tf-runner");
    const path = `/api/v1/namespaces/${TEAM}/pods?labelSelector=${label}`;
    const pods = await until("runner pods to be gone", 30_000, async () => {
      const found = (await get(cluster, path)) as { items: { metadata: { name: string } }[] };
      return found.items.length === 0 ? found.items : undefined;
    });
    return pods.map(({ metadata }) => metadata.name);
  }
});
