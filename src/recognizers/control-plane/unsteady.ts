import type { ControlPlaneSign, ControlPlaneView } from "../../evidence/control-plane.ts";
import { oneLine } from "../cites.ts";
import { defineRecognizer, type Finding, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { clock, count, HARMLESS, MINUTE_MS, span, stamp } from "../words.ts";

/** What is older belongs to the time line of what came of it, and is no trouble any more. */
export const RECENT_MS = 15 * MINUTE_MS;

/** The object by which findings name the control plane. */
export const CONTROL_PLANE = "ControlPlane/kubernetes";

/** etcd or the API server slow or away. */
export const controlPlaneUnsteady = defineRecognizer({
  id: "control-plane/unsteady",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for signs that etcd or the API server was slow or away in the last 15 min.",
  plural: "control planes are unsteady",
  needs: ["controlPlane"],
  wants: ["nodes"],
  lookAlikes: [
    {
      id: "node/rebooted",
      tellApart: "One node went down and its pods were struck; here all wait on the API at once.",
    },
    {
      id: "node/lost",
      tellApart: "One node is not Ready while others are; the API answers.",
    },
  ],
  accompanies: ["control-plane/leader-election-lost", "flux/artifact-fetch-transient"],

  recognize({ controlPlane, nodes }, { asOfMs }) {
    const recent = controlPlane.signs.filter(
      (sign) => sign.atMs <= asOfMs && asOfMs - sign.atMs <= RECENT_MS,
    );
    if (recent.length > 0) {
      return verdictOf([findingOf(recent, nodes?.length ?? 0, asOfMs)], [], "");
    }
    return quiet(controlPlane, asOfMs);
  },

  remedies: [
    {
      do: "Look at etcd first: its disk's latency, its leader, its log.",
      command: "kubectl -n kube-system logs -l component=etcd --tail=100",
      look: true,
      risk: "read-only",
      precondition: "None.",
      effect: "You see whether the disk is contended or a member is away.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: 'No more "took too long" and no change of leader.',
    },
    {
      do: "Take load off etcd's disk, or wait for it to settle.",
      risk: "reversible",
      precondition: "You know what loads it.",
      effect: "Leases are renewed, policy and identity catch up, downloads go through.",
      price: "Whatever is stopped stands still.",
      undo: "Start it again.",
      verify: "15 min without a sign.",
    },
  ],
  doesNotHelp: [
    "Chasing the network: traffic that is normally allowed is dropped while policy lags.",
    "Restarting the controller: each start costs the API more.",
  ],
  doc: {
    meaning: "Requests to etcd or the API server time out or are very slow.",
    impact:
      "Leases are lost and controllers restart; policy and identity lag, so that allowed traffic " +
      "is dropped for a time; downloads of artifacts fail.",
    symptoms: [
      "etcdserver: request timed out; leader changed; apply request took too long.",
      "Error retrieving lease lock … context deadline exceeded; leader election lost.",
    ],
    limits:
      "Where etcd is not visible it stands on the controllers' own and previous logs. Slow " +
      "requests count from one second.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "Kubernetes 1.36, etcd 3.6" },
  origin: "2026_07_03_reconcile_parked_after_node_rebooted.md",
});

function findingOf(signs: readonly ControlPlaneSign[], nodes: number, asOfMs: number): Finding {
  const firstMs = signs[0]?.atMs ?? asOfMs;
  const lastMs = signs.at(-1)?.atMs ?? asOfMs;
  const by = [...new Set(signs.map((sign) => sign.by))].sort();
  const kinds = [...new Set(signs.map((sign) => sign.mark))].sort();
  const once = lastMs - firstMs < 1_000;
  const when = once ? `at ${clock(firstMs)}` : `from ${clock(firstMs)} to ${clock(lastMs)}`;
  const each = kinds.flatMap((kind) => signs.find((sign) => sign.mark === kind) ?? []);
  return {
    objects: [CONTROL_PLANE],
    says:
      `The control plane was unsteady ${when} (${count(signs.length, "sign")}, ` +
      `last ${span(asOfMs - lastMs)} ago).`,
    facts: {
      signs: signs.length,
      kinds,
      by,
      firstAt: stamp(firstMs),
      lastAt: stamp(lastMs),
      nodes,
    },
    cites: each.map((sign) => ({
      says: `${stamp(sign.atMs)} ${sign.by}: ${oneLine(sign.says, 160)}`,
      place: sign.place,
    })),
    since: stamp(firstMs),
    causes: [],
    moments: [
      { atMs: firstMs, says: "the control plane shows its first sign of trouble" },
      ...(once ? [] : [{ atMs: lastMs, says: "the control plane shows its last sign so far" }]),
    ],
  };
}

/** No sign: that says something only as far back as the logs tell. */
function quiet(controlPlane: ControlPlaneView, asOfMs: number) {
  const covered = asOfMs - controlPlane.coveredFromMs;
  const why = `No log shows a sign of trouble in the last ${span(Math.min(covered, RECENT_MS))}.`;
  if (covered >= RECENT_MS || !controlPlane.cut) return verdictOf([], [], why);
  const needed = { ...missing("controlPlane"), usual: false };
  return verdictOf([], [{ objects: [], why, missing: [needed] }], why);
}
