import type { PodView } from "../../evidence/pods.ts";
import { isRunner, runnerPodOf } from "../../evidence/runners.ts";
import { citePod } from "../cites.ts";
import { defineRecognizer, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { stampOf } from "../words.ts";

/** Failed runner pods that nobody removes. */
export const runnerPodsFailedLeftBehind = defineRecognizer({
  id: "tofu/runner-pods-failed-left-behind",
  since: "0.1.0",
  maturity: "trial",
  severity: "risk",
  summary: "Checks for runner pods in phase Failed that nobody removed.",
  plural: "Failed runner pods were left behind",
  needs: ["pods"],
  wants: ["terraforms"],
  lookAlikes: [
    {
      id: "tofu/runner-restarting",
      tellApart: "The pod is Running and its container ends again and again.",
    },
    {
      id: "tofu/runner-never-ready",
      tellApart: "The pod never ran: its container has not started once.",
    },
  ],
  accompanies: ["tofu/reconcile-parked", "node/rebooted"],

  recognize({ pods, terraforms }) {
    const failed = pods.filter((pod) => isRunner(pod) && pod.phase === "Failed");
    const findings = failed.map((pod) => ({
      objects: [pod.ref],
      says: `Runner pod ${pod.key} is Failed (${pod.reason ?? "no reason given"}) and was left.`,
      short: `${pod.key} (${pod.reason ?? "no reason given"}) on node ${pod.node ?? "unknown"}`,
      facts: {
        reason: pod.reason ?? "",
        node: pod.node ?? "",
        object: ownerKey(pod),
        objectExists: terraforms?.some((each) => each.key === ownerKey(pod)) ?? "unknown",
      },
      cites: [citePod(pod, `Pod ${pod.key} is Failed: ${pod.message ?? pod.reason ?? ""}`)],
      since: stampOf(pod.containers[0]?.ended?.finishedMs),
      causes: pod.node === undefined ? [] : [`Node/${pod.node}`],
    }));
    const bare = (terraforms ?? []).filter(
      (each) => each.inCall !== undefined && runnerPodOf(each, pods) === undefined,
    );
    const undecided = bare.map((each) => ({
      objects: [each.ref],
      why: `Whether ${each.key}, which is in a call, had a Failed pod is not known any more.`,
      missing: [missing("events")],
    }));
    return verdictOf(findings, undecided, "No runner pod is Failed.");
  },

  remedies: [
    {
      do: "Delete the runner pods in phase Failed.",
      command:
        "kubectl delete pods -A -l app.kubernetes.io/name=tf-runner " +
        "--field-selector=status.phase=Failed",
      risk: "reversible",
      precondition: "If reconciles are parked, the controller was restarted first.",
      effect: "They are gone; the next pass of their objects makes new ones.",
      price: "Their logs are gone with them.",
      undo: "None needed.",
      verify: "kubectl get pods -A --field-selector=status.phase=Failed shows no runner.",
    },
  ],
  doesNotHelp: ["Deleting them while a reconcile is parked: it does not wait for the pod."],
  defect: {
    what: "A runner pod in phase Failed matched none of the controller's branches.",
    versions: "tofu-controller up to 0.16.4; from 0.16.5 the next due pass deletes it",
    files: ["controllers/tf_controller_runner.go"],
    references: ["https://github.com/flux-iac/tofu-controller/pull/1838"],
  },
  doc: {
    meaning: "A node's orderly shutdown or an eviction ended the pods; nobody deleted them.",
    impact: "They count against quotas and hide what happens; they do no work.",
    symptoms: ["kubectl get pods shows *-tf-runner in Error, phase Failed, reason Terminated."],
    limits: "A power loss leaves none: there the pods are restarted in place.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.4, Kubernetes 1.36" },
  origin: "2026_07_03_reconcile_parked_after_node_rebooted.md",
});

const ownerKey = (pod: PodView) =>
  `${pod.namespace}/${pod.owner?.name ?? pod.name.replace(/-tf-runner$/, "")}`;
