import { calm, failed, type RecognizerCases } from "../case.ts";

const refusal = (id: string, who: string, since: string) =>
  failed(
    "DriftDetectionFailed",
    "error running Plan: rpc error: code = Internal desc = error acquiring the state lock: " +
      `Lock Info:\n  ID:        ${id}\n  Path:      \n  Operation: OperationTypeApply\n` +
      `  Who:       ${who}\n  Version:   1.12.6\n  Created:   2026-03-02 10:00:00.5 +0000 UTC\n`,
    since,
  );

/** Of 56 characters. */
const LONG = "the-warehouse-of-the-northern-region-and-all-its-shelves";

export const stateLockOrphanedCases: RecognizerCases = {
  recognized: [
    {
      why: "the runner was killed in apply, and every pass since is refused",
      scene: calm("10:20:00")
        .terraform("apps/store", refusal("0c1e", "runner@store-tf-runner", "10:19:40"))
        .lock("apps/store", { created: "10:00:00" }),
      objects: ["Terraform/apps/store"],
      facts: { lockId: "0c1e", operation: "Apply", refused: true },
    },
    {
      why: "the container that runs now began after the lock was taken",
      scene: calm("10:20:00")
        .terraform("apps/store", { ready: ["Unknown", "Initializing", "10:19:50"] })
        .runner("apps/store", { node: "beta", created: "10:19:45" })
        .lock("apps/store", { created: "10:00:00", operation: "Plan" })
        .log([["10:19:51", "apps/store", "generated template"]]),
      objects: ["Terraform/apps/store"],
      facts: { operation: "Plan", refused: false },
    },
    {
      why: "the backend is no Lease, and the refusal alone tells",
      scene: calm("10:20:00").terraform("apps/store", {
        ...refusal("77aa", "runner@store-tf-runner", "10:19:40"),
        spec: { backendConfig: { customConfiguration: 'backend "s3" {}' } },
      }),
      objects: ["Terraform/apps/store"],
      facts: { lockId: "77aa" },
    },
    {
      why: "with subdomains a runner's host is called after its object",
      scene: calm("10:20:00")
        .terraform("apps/store", refusal("0c1e", "runner@store", "10:19:40"))
        .lock("apps/store", { created: "10:00:00", who: "runner@store" }),
      objects: ["Terraform/apps/store"],
    },
    {
      why: "a host's name is cut at 63 characters, a pod's is not",
      scene: calm("10:20:00")
        .terraform(`apps/${LONG}`, refusal("0c1e", `runner@${LONG}-tf-run`, "10:19:40"))
        .lock(`apps/${LONG}`, { created: "10:00:00", who: `runner@${LONG}-tf-run` }),
      objects: [`Terraform/apps/${LONG}`],
    },
  ],
  ruledOut: [
    {
      why: "the runner of another object, which shares the state, holds it and is alive",
      scene: calm("10:20:00")
        .terraform("apps/store", {
          ...refusal("77aa", "runner@depot-tf-runner", "10:19:40"),
          spec: { backendConfig: { customConfiguration: 'backend "s3" {}' } },
        })
        .terraform("apps/depot", { ready: ["Unknown", "Applying", "09:59:59"] })
        .runner("apps/depot", { node: "beta", created: "09:59:50" }),
      also: ["tofu/apply-long", "tofu/state-lock-held"],
    },
    {
      why: "the lock is that of a live apply",
      scene: calm("10:10:00")
        .terraform("apps/store", { ready: ["Unknown", "Applying", "10:00:00"] })
        .runner("apps/store", { node: "beta", created: "09:59:50" })
        .lock("apps/store", { created: "10:00:00" }),
      also: ["tofu/apply-long", "tofu/state-lock-held"],
    },
    {
      why: "a CI job holds it: who that is cannot be told dead",
      scene: calm("10:20:00")
        .terraform("apps/store", refusal("0c1e", "ci@build-7", "10:19:40"))
        .lock("apps/store", { created: "10:00:00", who: "ci@build-7" }),
      also: ["tofu/state-lock-held"],
    },
    {
      why: "the refusal is old: the Lease has no holder any more",
      scene: calm("10:20:00")
        .terraform("apps/store", refusal("0c1e", "runner@store-tf-runner", "10:19:40"))
        .object("Lease", "apps/lock-tfstate-default-store", { spec: {} }),
    },
  ],
  inconclusive: [
    {
      why: "a runner holds it that is of no object here: of another cluster, for all that is known",
      scene: calm("10:20:00").terraform("apps/store", {
        ...refusal("77aa", "runner@depot-tf-runner", "10:19:40"),
        spec: { backendConfig: { customConfiguration: 'backend "s3" {}' } },
      }),
      objects: ["Terraform/apps/store"],
    },
    {
      why: "the runner's node is not Ready: it may still write",
      scene: calm("10:20:00")
        .terraform("apps/store", refusal("0c1e", "runner@store-tf-runner", "10:19:40"))
        .node("gamma", { ready: false, since: "10:19:00" })
        .runner("apps/store", { node: "gamma", created: "09:59:50" })
        .lock("apps/store", { created: "10:00:00" }),
      objects: ["Terraform/apps/store"],
      also: ["node/lost"],
    },
    {
      why: "the pods of its namespace could not be read",
      scene: calm("10:20:00")
        .terraform("apps/store", refusal("0c1e", "runner@store-tf-runner", "10:19:40"))
        .lock("apps/store", { created: "10:00:00" })
        .gap({
          ...{ what: "pods in apps", kind: "Pod", namespace: "apps", why: "not-permitted" },
          ...{ detail: "forbidden", command: "kubectl -n apps get pods" },
        }),
      objects: ["Terraform/apps/store"],
    },
    {
      why: "the Leases could not be read, and nobody was refused so far",
      scene: calm("09:05:00").terraform("apps/store").without("Lease"),
    },
    {
      why: "a pass was refused, and the Lease that would say whether it still is could not be read",
      scene: calm("10:20:00")
        .terraform("apps/store", refusal("0c1e", "runner@store-tf-runner", "10:19:40"))
        .without("Lease"),
      objects: ["Terraform/apps/store"],
    },
  ],
};
