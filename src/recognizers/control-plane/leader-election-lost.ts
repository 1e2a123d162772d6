import type { ControlPlaneSign, ControlPlaneView } from "../../evidence/control-plane.ts";
import { oneLine } from "../cites.ts";
import { defineRecognizer, type Finding, ruledOut, type Undecided, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { clock, HARMLESS, stamp } from "../words.ts";
import { CONTROL_PLANE, RECENT_MS } from "./unsteady.ts";

/** Controllers that lost their Lease and ended. */
export const leaderElectionLost = defineRecognizer({
  id: "control-plane/leader-election-lost",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for controllers that lost their leader Lease in the last 15 min.",
  plural: "controllers lost their leader Lease",
  needs: ["controlPlane"],
  wants: ["leases"],
  lookAlikes: [
    {
      id: "tofu/leader-shutting-down",
      tellApart: "There the leader was told to stop and keeps its Lease meanwhile.",
    },
  ],
  accompanies: ["control-plane/unsteady"],

  recognize({ controlPlane, leases }, { asOfMs }) {
    const lost = controlPlane.signs.filter(
      (sign) =>
        sign.mark === "leader-lost" && sign.atMs <= asOfMs && asOfMs - sign.atMs <= RECENT_MS,
    );
    const byProgram = Map.groupBy(lost, (sign) => `${sign.namespace ?? ""}/${sign.by}`);
    const findings = [...byProgram.values()].map((signs) => {
      const sign = signs.at(-1) as ControlPlaneSign;
      const lease = leases?.find((each) => each.holder?.startsWith(`${sign.by}_`) === true);
      return findingOf(sign, lease?.acquiredMs);
    });
    const undecided = controlPlane.untold
      .filter(({ endedMs }) => endedMs <= asOfMs && asOfMs - endedMs <= RECENT_MS)
      .map(undecidedOf);
    const why = "No controller's log says that it lost its Lease in the last 15 min.";
    if (findings.length > 0 || undecided.length > 0) return verdictOf(findings, undecided, why);
    if (!controlPlane.cut || asOfMs - controlPlane.coveredFromMs >= RECENT_MS) return ruledOut(why);
    const needed = { ...missing("controlPlane"), usual: false };
    return verdictOf([], [{ objects: [], why, missing: [needed] }], why);
  },

  remedies: [
    {
      do: "See who leads now.",
      command: "kubectl get leases -A",
      look: true,
      risk: "read-only",
      precondition: "None.",
      effect: "You know whether somebody took over.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "The Lease has a holder that runs and renews it.",
    },
  ],
  doesNotHelp: ["Restarting the controller: it has just restarted by itself."],
  doc: {
    meaning: "A controller could not renew its Lease in time and ended, as it must.",
    impact: "Its work stops for as long as the next start and election take; runs may be cut.",
    symptoms: ['"leader election lost" as the last line of the previous log; restarts, exit 1.'],
    limits: "The line stands in the previous log; without that it is not seen.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "Kubernetes 1.36, controller-runtime 0.24" },
  origin: "2026_07_03_reconcile_parked_after_node_rebooted.md",
});

function undecidedOf({ pod, endedMs }: ControlPlaneView["untold"][number]): Undecided {
  return {
    objects: [pod.ref],
    why: `${pod.key} ended with an error at ${clock(endedMs)}; its log of before says why.`,
    missing: [
      {
        what: `the log of ${pod.key} before its restart`,
        command: `kubectl -n ${pod.namespace} logs ${pod.name} --previous`,
        usual: true,
      },
    ],
  };
}

function findingOf(sign: ControlPlaneSign, ledAgainMs: number | undefined): Finding {
  const again = ledAgainMs !== undefined && ledAgainMs >= sign.atMs ? ledAgainMs : undefined;
  const { by, namespace } = sign;
  const after = again === undefined ? "" : `; it leads again since ${clock(again)}`;
  return {
    objects: [namespace === undefined ? `Program/${by}` : `Pod/${namespace}/${by}`],
    says: `${by} lost its leader Lease at ${clock(sign.atMs)} and ended${after}.`,
    facts: {
      program: by,
      lostAt: stamp(sign.atMs),
      ...(again === undefined ? {} : { leadsAgainAt: stamp(again) }),
    },
    cites: [{ says: `${stamp(sign.atMs)} ${oneLine(sign.says, 160)}`, place: sign.place }],
    since: stamp(sign.atMs),
    causes: [CONTROL_PLANE],
    moments: [
      { atMs: sign.atMs, says: `${by} loses its leader Lease and ends` },
      ...(again === undefined ? [] : [{ atMs: again, says: `${by} leads again` }]),
    ],
  };
}
