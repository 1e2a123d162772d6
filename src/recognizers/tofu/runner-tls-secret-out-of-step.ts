import { type ControllerView, flagOf } from "../../evidence/controllers.ts";
import type { EvidenceObject, LogLine, LogStream } from "../../evidence/model.ts";
import { type EndedLife, endedUnknown, type PodView } from "../../evidence/pods.ts";
import { isRunner } from "../../evidence/runners.ts";
import { citeLine, citePod } from "../cites.ts";
import { defineRecognizer, type Finding, type Undecided, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { stampOf } from "../words.ts";

/** A runner that ends because the Secret it was told to read does not exist. */
export const runnerTlsSecretOutOfStep = defineRecognizer({
  id: "tofu/runner-tls-secret-out-of-step",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for runners that end because their TLS Secret does not exist.",
  plural: "runners are told to read a TLS Secret that does not exist",
  needs: ["pods"],
  wants: ["secrets", "runnerLogs", "controllers"],
  lookAlikes: [
    {
      id: "tofu/reconcile-parked",
      tellApart: "There the runner is gone or restarted once; here it ends again and again.",
    },
  ],
  specialises: ["tofu/runner-restarting"],

  recognize({ pods, secrets, runnerLogs, controllers }) {
    const failing = pods.filter((pod) => isRunner(pod) && isFailing(pod));
    const findings: Finding[] = [];
    const undecided: Undecided[] = [];
    for (const pod of failing) {
      const name = secretOf(pod);
      if (name === undefined) continue;
      const line = refusal(pod, runnerLogs);
      const exists = existsIn(secrets, pod.namespace, name);
      if (exists === true) continue;
      if (line === undefined && exists === false && isUp(pod)) continue;
      if (line === undefined && exists === undefined) {
        const why = `${pod.key} ends again and again; neither its log nor the Secrets say why.`;
        undecided.push({ objects: [pod.ref], why, missing: [missing("secrets")] });
        continue;
      }
      findings.push(findingOf(pod, name, line, controllers?.[0]));
    }
    return verdictOf(findings, undecided, "No runner fails for a Secret that does not exist.");
  },

  remedies: [
    {
      do: "Restart the controller: it makes the Secret anew and tells the runners its name.",
      command: "kubectl -n {controllerNamespace} rollout restart {controllerWorkload}",
      risk: "disruptive",
      precondition: "No apply runs, or those that run may be cut.",
      effect: "The controller makes a new CA and new Secrets.",
      price: "Applies under way are cut: their runners carry the old Secret's name.",
      undo: "None needed.",
      verify: "Runner pods stay Running, with a tls-secret-name that exists.",
    },
  ],
  doesNotHelp: [
    "Deleting the runner pod: the next one is told the same name.",
    "Waiting: the controller believes that the Secret exists.",
  ],
  defect: {
    what: "The controller caches that it made a namespace's TLS Secret, even if that failed.",
    versions: "tofu-controller up to 0.16.5",
    files: ["mtls/rotator.go"],
    references: ["https://github.com/flux-iac/tofu-controller/issues/372"],
  },
  doc: {
    meaning: "The controller's memory of the TLS Secret and the cluster disagree.",
    impact: "No object of the namespace can run until the controller restarts.",
    symptoms: [
      'The runner\'s log: secrets "terraform-runner.tls-…" not found.',
      "Runner pods in CrashLoopBackOff.",
    ],
    limits: "A runner that runs already does not need the Secret; its name alone says nothing.",
  },
  firstSeen: "2025-11-19",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.5 (source)" },
});

/** It does not run, or not for long: the Secret is read once, at the start. */
function isFailing(pod: PodView): boolean {
  if (pod.phase === "Succeeded" || pod.deletedMs !== undefined) return false;
  return pod.containers.some(
    (each) =>
      each.waitingReason === "CrashLoopBackOff" ||
      (each.ended !== undefined && !isWell(each.ended) && pod.phase === "Running"),
  );
}

/** Its end was its own wish, or its node's: that tells nothing of a Secret. */
const isWell = (ended: EndedLife) => ended.exitCode === 0 || endedUnknown(ended);

/** It runs now: it has read its Secret, whatever became of that since. */
const isUp = (pod: PodView) => pod.containers.some((each) => each.runningSinceMs !== undefined);

function secretOf(pod: PodView): string | undefined {
  const args = pod.containers.flatMap((each) => each.args);
  return flagOf(args, "tls-secret-name") ?? pod.labels["tf.weave.works/tls-secret-name"];
}

function refusal(pod: PodView, logs: readonly LogStream[] | undefined): LogLine | undefined {
  const own = (logs ?? []).filter(
    (log) => log.name === pod.name && (log.namespace ?? pod.namespace) === pod.namespace,
  );
  return own.flatMap((log) => log.lines).findLast((line) => line.mark === "tls-secret-missing");
}

function existsIn(
  secrets: readonly EvidenceObject[] | undefined,
  namespace: string,
  name: string,
): boolean | undefined {
  return secrets?.some(
    ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
  );
}

function findingOf(
  pod: PodView,
  secret: string,
  line: LogLine | undefined,
  controller: ControllerView | undefined,
): Finding {
  const name = pod.owner?.name ?? pod.name.replace(/-tf-runner$/, "");
  return {
    objects: [`Terraform/${pod.namespace}/${name}`],
    says: `The runner of ${pod.namespace}/${name} ends: Secret ${secret} does not exist.`,
    facts: {
      secret,
      namespace: pod.namespace,
      pod: pod.key,
      controllerWorkload: controller?.workload ?? "",
      controllerNamespace: controller?.pod.namespace ?? "",
    },
    cites: [
      citePod(pod, `Pod ${pod.key} is told --tls-secret-name ${secret} and does not stay up`),
      ...(line === undefined ? [] : [citeLine(line)]),
    ],
    since: stampOf(pod.createdMs),
    causes: [],
  };
}
