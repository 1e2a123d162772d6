import type { LeaderView } from "../../evidence/controllers.ts";
import { defineRecognizer, type Finding, verdictOf } from "../define.ts";
import { clock, HARMLESS, span, stamp, stampOf } from "../words.ts";

/** An old pod that was told to stop and still leads. */
export const leaderShuttingDown = defineRecognizer({
  id: "tofu/leader-shutting-down",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for a controller that was told to stop and still holds the leader Lease.",
  plural: "old controllers still lead",
  needs: ["leadership"],
  wants: ["controllers", "activity", "terraforms"],
  lookAlikes: [
    {
      id: "tofu/worker-pool-exhausted",
      tellApart: "The leader was not told to stop; all its workers are held.",
    },
    {
      id: "control-plane/leader-election-lost",
      tellApart: "The leader lost its Lease and ended; here it keeps it.",
    },
  ],
  specialises: ["tofu/worker-pool-exhausted"],
  accompanies: ["tofu/reconcile-parked"],

  recognize({ leadership, controllers, activity, terraforms }, { asOfMs }) {
    const waiting = (terraforms ?? []).filter((each) => each.inCall !== undefined);
    const held = activity?.workers?.reduce((sum, each) => sum + each.active, 0);
    const findings = leadership.leaders
      .filter(({ controller }) => controller.pod.deletedMs !== undefined)
      .map((leader) =>
        findingOf(leader, {
          asOfMs,
          held,
          waiting: waiting.map((each) => each.ref),
          next: (controllers ?? [])
            .filter(({ pod }) => pod.deletedMs === undefined)
            .filter(({ pod }) => pod.namespace === leader.controller.pod.namespace)
            .map(({ pod }) => pod.key),
        }),
      );
    const [leader] = leadership.leaders;
    const why =
      leader === undefined
        ? "No process holds a leader Lease."
        : `${leader.controller.pod.key} leads and was not told to stop.`;
    return verdictOf(findings, [], why);
  },

  remedies: [
    {
      do: "Wait until {endsBy} at the latest: then {pod} ends and a new one leads.",
      command: "kubectl -n {namespace} get lease {lease} -o jsonpath='{.spec.holderIdentity}'",
      risk: "read-only",
      precondition: "None.",
      effect: "The parked passes end with the old process.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "The Lease's holder is a pod that started after the restart.",
    },
    {
      do: "Or end {pod} at once, if no apply runs on it.",
      command: "kubectl -n {namespace} delete pod {pod} --grace-period=1",
      risk: "disruptive",
      precondition: "No apply with a living runner is under way.",
      effect: "The Lease is free after its duration; the new pod leads.",
      price: "An apply under way is cut, and its lock may remain.",
      undo: "None.",
      verify: "The Lease's holder is a pod that started after the restart.",
    },
  ],
  doesNotHelp: [
    "Looking at `rollout status`: it says done when the new pod runs, not when it leads.",
    "Restarting once more: the new pod is not what is waited for.",
  ],
  defect: {
    what: "Graceful shutdown waits for running reconciles, and parked ones never end.",
    versions: "tofu-controller with --graceful-shutdown-timeout (4 min by default)",
    files: ["cmd/manager/main.go"],
    references: ["https://github.com/flux-iac/tofu-controller/pull/1838"],
  },
  doc: {
    meaning:
      "After a restart the old pod waits for its reconciles, parked ones too, and keeps the Lease.",
    impact: "Nothing at all is reconciled until it ends.",
    symptoms: [
      "The Lease's holder is a pod that is Terminating; a new pod is Running and idle.",
      "`kubectl rollout status` says that the roll-out is done.",
    ],
    limits: "How long the shutdown may take is the flag's value or its default, not measured.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.5, Kubernetes 1.36" },
});

interface Around {
  readonly asOfMs: number;
  readonly held: number | undefined;
  readonly waiting: readonly string[];
  readonly next: readonly string[];
}

function findingOf({ controller, lease }: LeaderView, around: Around): Finding {
  const { pod, gracefulShutdownMs } = controller;
  const toldMs = pod.deletedMs ?? around.asOfMs;
  const endsMs = toldMs + gracefulShutdownMs;
  const next = around.next[0];
  return {
    objects: [pod.ref],
    says:
      `${pod.key} was told to stop at ${clock(toldMs)} and still leads, until ${clock(endsMs)} ` +
      "at the latest; nothing new is reconciled.",
    facts: {
      pod: pod.name,
      namespace: pod.namespace,
      toldAt: stamp(toldMs),
      endsBy: clock(endsMs),
      leadsOnFor: span(around.asOfMs - toldMs),
      lease: lease?.name ?? "",
      next: next ?? "",
      ...(around.held === undefined ? {} : { heldWorkers: around.held }),
    },
    cites: [
      { says: `Pod ${pod.key} has a deletionTimestamp`, place: pod.place },
      {
        says: `Lease ${lease?.key ?? ""} is held by ${lease?.holder ?? pod.name}`,
        place: lease?.place ?? pod.place,
      },
    ],
    since: stampOf(toldMs),
    causes: around.waiting,
    moments: [{ atMs: toldMs, says: `controller ${pod.name} is told to stop, and leads on` }],
  };
}
