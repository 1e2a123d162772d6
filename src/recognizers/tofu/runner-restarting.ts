import type { ContainerView, PodView } from "../../evidence/pods.ts";
import { isRunner } from "../../evidence/runners.ts";
import { citePod } from "../cites.ts";
import { defineRecognizer, verdictOf } from "../define.ts";
import { HARMLESS, MINUTE_MS, stampOf } from "../words.ts";

const RESTARTS = 3;
const WITHIN_MS = 10 * MINUTE_MS;

/** A runner that ends again and again. */
export const runnerRestarting = defineRecognizer({
  id: "tofu/runner-restarting",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for runners that end and are restarted again and again.",
  plural: "runners end again and again",
  needs: ["pods"],
  wants: [],
  lookAlikes: [
    {
      id: "tofu/runner-never-ready",
      tellApart: "Its container has never started; here it starts and ends.",
    },
    {
      id: "tofu/runner-pods-failed-left-behind",
      tellApart: "The pod is Failed and is not restarted.",
    },
  ],

  recognize({ pods }, { asOfMs }) {
    const findings = pods
      .filter((pod) => isRunner(pod) && pod.phase !== "Failed" && pod.deletedMs === undefined)
      .flatMap((pod) => {
        const container = pod.containers.find((each) => restarts(each, pod, asOfMs));
        return container === undefined ? [] : [findingOf(pod, container)];
      });
    return verdictOf(findings, [], "No runner is restarted again and again.");
  },

  remedies: [
    {
      do: "Read why it ends: the log of the life before.",
      command: "kubectl -n {namespace} logs {pod} --previous --tail=30",
      risk: "read-only",
      precondition: "None.",
      effect: "You know what to mend: memory, image, Secret, arguments.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "The last lines name a cause.",
    },
    {
      do: "Mend that in spec.runnerPodTemplate, then delete the pod.",
      command: "kubectl -n {namespace} delete pod {pod}",
      risk: "disruptive",
      precondition: "No apply is under way in it.",
      effect: "The next pass makes a runner by the new template.",
      price: "What runs in it is cut.",
      undo: "Change the template back.",
      verify: "The new pod stays Running.",
    },
  ],
  doesNotHelp: ["Waiting: what ends it does not change by itself."],
  doc: {
    meaning:
      "The runner's process ends soon after each start: out of memory, or refused something.",
    impact: "Each pass fails or burns its time limit; a worker is held meanwhile.",
    symptoms: ["CrashLoopBackOff, or a restart count that grows within minutes."],
    limits: "A container killed once or twice during a run is not this.",
  },
  firstSeen: "2025-11-19",
  lastVerified: { on: "2026-11-30", against: "Kubernetes 1.36" },
});

function restarts(container: ContainerView, pod: PodView, asOfMs: number): boolean {
  if (container.waitingReason === "CrashLoopBackOff") return true;
  if (container.restartCount < RESTARTS) return false;
  const lastMs = container.runningSinceMs ?? container.ended?.finishedMs;
  if (lastMs === undefined || asOfMs - lastMs > WITHIN_MS) return false;
  // Restarts are counted since the pod began: of an old pod only their mean is known.
  const age = asOfMs - (pod.createdMs ?? asOfMs);
  return container.restartCount * WITHIN_MS >= RESTARTS * Math.max(age, WITHIN_MS);
}

function findingOf(pod: PodView, container: ContainerView) {
  const { ended } = container;
  const name = pod.owner?.name ?? pod.name.replace(/-tf-runner$/, "");
  const how = ended === undefined ? "" : ` (${ended.reason}, exit ${ended.exitCode ?? "unknown"})`;
  return {
    objects: [`Terraform/${pod.namespace}/${name}`],
    says: `The runner of ${pod.namespace}/${name} restarts, ${container.restartCount} times${how}.`,
    facts: {
      pod: pod.name,
      namespace: pod.namespace,
      restarts: container.restartCount,
      reason: ended?.reason ?? container.waitingReason ?? "",
      exitCode: ended?.exitCode ?? "unknown",
    },
    cites: [citePod(pod, `Pod ${pod.key}: ${container.restartCount} restarts${how}`)],
    since: stampOf(pod.createdMs),
    causes: pod.node === undefined ? [] : [`Node/${pod.node}`],
  };
}
