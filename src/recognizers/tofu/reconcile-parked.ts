import { type CallView, callsInProgress, untoldPasses } from "../../evidence/parked.ts";
import { citeLeader, citeLine, citePod, citeReady, citeWorkers } from "../cites.ts";
import { type Cite, defineRecognizer, type Finding, type Undecided, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { clock, HARMLESS, span, stamp } from "../words.ts";

/** A pass that waits for ever for a runner that is gone. */
export const reconcileParked = defineRecognizer({
  id: "tofu/reconcile-parked",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for reconciles that wait for ever for a runner that is gone.",
  plural: "objects are parked in a call to a runner that is gone",
  sum(findings) {
    const workers = findings[0]?.facts.workers;
    const of = workers === 0 || workers === undefined ? "" : ` of ${workers}`;
    return `${findings.length}${of} workers are lost to them.`;
  },
  needs: ["terraforms", "pods", "leadership", "activity"],
  wants: ["nodes", "sources", "calls", "controlPlane", "unread"],
  lookAlikes: [
    {
      id: "tofu/apply-long",
      tellApart: "The runner's container started before the apply and still runs on a Ready node.",
    },
    {
      id: "tofu/waits-for-dependency",
      tellApart: "Ready is False with DependencyNotReady, and the log says so again and again.",
    },
    {
      id: "flux/artifact-fetch-transient",
      tellApart:
        'The runner is alive and the last line is "setting up terraform": the artifact is being ' +
        "fetched, which ends by itself.",
    },
    {
      id: "tofu/runner-tls-secret-out-of-step",
      tellApart: "The runner's container ends again and again for a Secret that does not exist.",
    },
    {
      id: "tofu/runner-never-ready",
      tellApart: "The runner's container has not started at all; its pod says why.",
    },
    {
      id: "tofu/requeue-lost",
      tellApart: "No worker is on the object; here one is held for ever.",
    },
  ],
  specialises: ["tofu/source-moved-on-unseen", "tofu/requeue-lost"],
  accompanies: [
    "node/rebooted",
    "node/lost",
    "tofu/runner-pods-failed-left-behind",
    "tofu/worker-pool-exhausted",
    "tofu/state-lock-orphaned",
  ],

  recognize(known, { asOfMs }) {
    const calls = callsInProgress(known, asOfMs);
    const findings = calls
      .filter((call) => call.verdict === "parked")
      .map((call) => findingOf(call, runningApplies(calls), asOfMs));
    const undecided = [
      ...calls.filter((call) => call.verdict === "undecided").map(undecidedOf),
      ...untoldPasses(known, calls, asOfMs).map(untoldOf),
    ];
    const running = calls.find((call) => call.verdict !== "parked");
    return verdictOf(findings, undecided, running?.why ?? "No object is in a call to a runner.");
  },

  remedies: [
    {
      do: "Let the applies of {runningApplies} finish, or accept that the restart cuts them.",
      onlyIf: "runningApplies",
      command: "kubectl get terraforms -A",
      risk: "read-only",
      precondition: "None.",
      effect: "Nothing is lost by the restart.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "None of them is Applying any more.",
    },
    {
      do: "Restart the controller ({controllerPod} leads now).",
      command: "kubectl -n {controllerNamespace} rollout restart {controllerWorkload}",
      risk: "disruptive",
      precondition: "No apply runs, or those that run may be cut.",
      effect:
        "The old pod leads on for up to {gracefulShutdown} of graceful shutdown, and nothing is " +
        "reconciled meanwhile; then the parked passes end with it.",
      price:
        "Every apply that runs is cut: its runner is deleted, its lock may remain, the next pass " +
        'fails with "Saved plan is stale" and the one after it applies anew.',
      undo: "None needed; an apply that was cut is applied anew.",
      verify:
        "The leader Lease is held by a pod that started after the restart; `rollout status` says " +
        "done long before that.",
    },
    {
      do: "Delete the runner pods in phase Failed.",
      command:
        "kubectl delete pods -A -l app.kubernetes.io/name=tf-runner " +
        "--field-selector=status.phase=Failed",
      risk: "reversible",
      precondition: "The new process leads.",
      effect: "Old pods are in nobody's way; the next pass makes new ones.",
      price: "Their logs are gone: save them before, if they matter.",
      undo: "None needed.",
      verify:
        "The objects are Ready, then what depends on them. Ask the doctor once more: it names " +
        "the state locks that remain.",
    },
  ],
  doesNotHelp: [
    "Deleting the runner pod: the call waits for an address, not for a pod.",
    "Annotating the object (requestedAt): a key that is being worked on is not started again.",
    "Suspending and resuming: the generation moves on, nobody looks.",
    "Waiting: the call has no deadline.",
  ],
  defect: {
    what:
      "The controller's calls to the runner wait for the connection and have no deadline. From " +
      "0.16.5 the set-up calls end after --runner-rpc-timeout (30 min), but the clean-up call " +
      "that follows has none and parks on the same dead connection; plan, drift plan, apply, " +
      "destroy and outputs have none at all.",
    versions: "tofu-controller since v0.9.0; 0.16.5 moves the wait, it does not end it",
    files: [
      "controllers/tf_controller_runner.go",
      "controllers/tf_controller_reconcile.go",
      "controllers/tf_controller_plan.go",
      "controllers/tf_controller_apply.go",
    ],
    references: [
      "https://github.com/flux-iac/tofu-controller/pull/1838",
      "https://github.com/flux-iac/tofu-controller/issues/1729",
    ],
  },
  doc: {
    meaning:
      "A worker of the controller waits in a call to a runner that does not exist any more. The " +
      "call never returns, so the object is never looked at again and the worker is lost.",
    impact:
      "The object stands still until the controller's process ends, and so does everything that " +
      "depends on it. When all workers are held, nothing at all is reconciled.",
    symptoms: [
      'Ready=Unknown with "Initializing", "Terraform Planning" or "Applying", its time not moving.',
      'Its last line in the log is in the middle of a pass, such as "generated template".',
      "Its runner pod is absent, Failed, on a node not Ready, or was restarted with a new IP.",
      "requestedAt is set, status.lastHandledReconcileAt does not follow.",
    ],
    limits:
      "Where neither the log nor the metrics can be read, it cannot be told whether a pass still " +
      "waits. Whether set-up or drift plan is parked needs the log.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.4 and 0.16.5, Kubernetes 1.36" },
  origin: "2026_07_03_reconcile_parked_after_node_rebooted.md",
});

/** Applies and destroys that live or may live: a restart would cut them, however young. */
function runningApplies(calls: readonly CallView[]): string[] {
  return calls
    .filter(({ verdict }) => verdict === "running" || verdict === "undecided")
    .filter(({ stage }) => stage === "apply" || stage === "destroy")
    .map(({ object }) => object.key);
}

function findingOf(call: CallView, applies: readonly string[], asOfMs: number): Finding {
  const { object, sinceMs, stage, runner, pass, leader } = call;
  const controller = leader?.controller;
  const last = call.by.includes("log") ? pass?.last : undefined;
  const where = stage === "unknown" ? "a call to its runner" : `the ${words[stage]} call`;
  return {
    objects: [object.ref],
    says: `${object.key} is parked in ${where} since ${clock(sinceMs)}.`,
    short: shortOf(call, asOfMs),
    facts: {
      stage,
      since: stamp(sinceMs),
      waits: span(asOfMs - sinceMs),
      runner: runner.how ?? "gone",
      knownBy: [...call.by],
      runningApplies: applies,
      controllerPod: controller?.pod.name ?? "",
      controllerWorkload: controller?.workload ?? "",
      workers: call.workers?.maximum ?? controller?.concurrent ?? 0,
      controllerNamespace: controller?.pod.namespace ?? "",
      controllerStarted: controller?.startedMs === undefined ? "" : stamp(controller.startedMs),
      controllerVersion: controller?.version ?? "unknown",
      gracefulShutdown: span(controller?.gracefulShutdownMs ?? 240_000),
      ...(last === undefined ? {} : { lastLine: last.message, lastLineAt: stamp(last.atMs) }),
      ...(runner.pod?.node === undefined ? {} : { node: runner.pod.node }),
      ...(runner.goneMs === undefined ? {} : { runnerGoneAt: stamp(runner.goneMs) }),
    },
    cites: citesOf(call),
    since: stamp(sinceMs),
    causes: runner.pod?.node === undefined ? [] : [`Node/${runner.pod.node}`],
    moments: [
      { atMs: sinceMs, says: `in ${where}`, who: object.key },
      ...(runner.goneMs === undefined
        ? []
        : [{ atMs: runner.goneMs, says: "runner lost", who: object.key }]),
    ],
  };
}

function shortOf({ object, stage, pass, by, sinceMs }: CallView, asOfMs: number): string {
  const last = by.includes("log") && pass !== undefined ? `, last line "${pass.last.message}"` : "";
  return `${object.key}: ${stage}, for ${span(asOfMs - sinceMs)}${last}`;
}

const words = {
  setup: "set-up",
  "drift-plan": "drift plan",
  plan: "plan",
  apply: "apply",
  destroy: "destroy",
  outputs: "outputs",
} as const;

function citesOf(call: CallView): Cite[] {
  const { object, runner, pass, workers } = call;
  return [
    citeReady(object),
    ...(runner.pod === undefined ? [] : [citePod(runner.pod, runner.says)]),
    ...(call.by.includes("log") && pass !== undefined
      ? [citeLine(pass.last, "Last line of the object in the log: ")]
      : []),
    ...(call.by.includes("metrics") && workers !== undefined ? [citeWorkers(workers)] : []),
    ...citeLeader(call),
  ];
}

function undecidedOf(call: CallView): Undecided {
  const { leader, object } = call;
  const pod = leader?.controller.pod;
  const log = missing("passes");
  const command = pod === undefined ? log.command : `kubectl -n ${pod.namespace} logs ${pod.name}`;
  return { objects: [object.ref], why: call.why, missing: [{ ...log, command }] };
}

function untoldOf({ amount }: { readonly amount: number }): Undecided {
  const passes = amount === 1 ? "pass runs" : "passes run";
  const why = `${amount} ${passes} for minutes that no status tells of; the log says where.`;
  return { objects: [], why, missing: [missing("passes")] };
}
