import { type ArtifactTrouble, artifactTroubles, signNear } from "../../evidence/artifacts.ts";
import type { ControlPlaneSign } from "../../evidence/control-plane.ts";
import { citeLine, citeReady, oneLine } from "../cites.ts";
import { CONTROL_PLANE } from "../control-plane/unsteady.ts";
import { type Cite, defineRecognizer, type Finding, type Undecided, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { clock, HARMLESS, span, stamp } from "../words.ts";

/** Downloads that time out in the wake of an unsteady control plane, and end by themselves. */
export const artifactFetchTransient = defineRecognizer({
  id: "flux/artifact-fetch-transient",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for artifact downloads that time out after the control plane was unsteady.",
  plural: "objects cannot fetch their artifact for now",
  needs: ["terraforms", "controlPlane"],
  wants: ["passes", "pods", "nodes", "calls"],
  lookAlikes: [
    {
      id: "tofu/reconcile-parked",
      tellApart: "The runner is gone; here it runs and waits for its first call.",
    },
    {
      id: "flux/artifact-unavailable",
      tellApart: "Somebody answers and refuses, or the source-controller is down.",
    },
    {
      id: "network/denied-drop-of-allowed-flow",
      tellApart: "Drops of allowed flows go on though the control plane has been steady.",
    },
  ],
  accompanies: ["control-plane/unsteady", "tofu/worker-pool-exhausted"],

  recognize(known, { asOfMs }) {
    const findings: Finding[] = [];
    const undecided: Undecided[] = [];
    for (const trouble of artifactTroubles(known, asOfMs)) {
      if (trouble.state === "refused") continue;
      const sign = signNear(known.controlPlane, trouble.sinceMs, asOfMs);
      if (trouble.state === "maybe-fetching") undecided.push(unknown(trouble));
      else if (sign !== undefined) findings.push(findingOf(trouble, sign, asOfMs));
      else if (trouble.state === "fetching" || known.controlPlane.cut) {
        undecided.push(undecidedOf(trouble, known.controlPlane.cut));
      }
    }
    return verdictOf(findings, undecided, "No download of an artifact is silent or timed out.");
  },

  remedies: [
    {
      do: "Leave it: the download is bounded (about 9 min, ten tries) and retried by itself.",
      command: "kubectl get terraforms -A",
      risk: "read-only",
      precondition: "None.",
      effect: "It goes through as soon as policy and identity have caught up.",
      price: "The objects, and the workers they hold, wait.",
      undo: "Not needed.",
      verify: "The objects leave ArtifactFailed within a retry interval of the last sign.",
    },
    {
      do: "Check first that the controller is admitted to the source-controller's artifact port.",
      command: "kubectl get networkpolicies -A",
      look: true,
      risk: "read-only",
      precondition: "None.",
      effect: "You know that no policy is at fault.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "A policy names the controller's labels for the target port.",
    },
  ],
  doesNotHelp: [
    "Restarting the controller: it begins the same download again.",
    "Changing a network policy: the flow is allowed already.",
    "Deleting runner pods: they wait for the archive and are well.",
  ],
  doc: {
    meaning:
      "While etcd or the API server is unsteady, policy and identity lag behind, and traffic " +
      "that is allowed is dropped for a time.",
    impact: "Objects fail or stand still for some minutes; all workers may be held meanwhile.",
    symptoms: [
      'Ready=False ArtifactFailed "dial tcp …: i/o timeout", after minutes of silence.',
      'Or the last line is "setting up terraform" with fresh, living runners.',
    ],
    limits: "Without a log it cannot be told whether an object is downloading at all.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "tofu-controller 0.16.5, source-controller 1.9.6" },
  origin: "2026_07_03_reconcile_parked_after_node_rebooted.md",
});

function findingOf(trouble: ArtifactTrouble, sign: ControlPlaneSign, asOfMs: number): Finding {
  const { object, state, sinceMs, attempts, line } = trouble;
  const ongoing = state === "fetching";
  const endedMs = ongoing ? asOfMs : (object.ready?.sinceMs ?? asOfMs);
  const took = span(endedMs - sinceMs);
  const tries = attempts === undefined ? "" : `, ${attempts} attempts`;
  const cites: Cite[] = [
    citeReady(object),
    ...(line === undefined ? [] : [citeLine(line)]),
    { says: `${stamp(sign.atMs)} ${sign.by}: ${oneLine(sign.says, 120)}`, place: sign.place },
  ];
  return {
    objects: [object.ref],
    says: ongoing
      ? `${object.key} fetches its artifact, ongoing for ${took}; its runner is alive.`
      : `${object.key} could not fetch its artifact within ${took}${tries}; it retries.`,
    short: `${object.key}: ${ongoing ? "ongoing for" : "given up after"} ${took}${tries}`,
    facts: {
      state: ongoing ? "ongoing" : "given up, retried",
      since: stamp(sinceMs),
      minutes: Math.round((endedMs - sinceMs) / 60_000),
      attempts: attempts ?? "unknown",
      signAt: stamp(sign.atMs),
    },
    cites,
    since: stamp(sinceMs),
    causes: [CONTROL_PLANE],
    moments: [
      { atMs: sinceMs, says: "begin of the silent download", who: object.key },
      ...(ongoing
        ? []
        : [
            { atMs: endedMs, says: "given up with ArtifactFailed, to be retried", who: object.key },
          ]),
    ],
  };
}

function unknown({ object, line }: ArtifactTrouble): Undecided {
  if (line === undefined) {
    const why = `${object.key} may be fetching; only the log says how far its pass is.`;
    return { objects: [object.ref], why, missing: [missing("passes")] };
  }
  const why = `${object.key} may be fetching; whether its runner is alive is not known.`;
  return { objects: [object.ref], why, missing: [missing("pods"), missing("nodes")] };
}

function undecidedOf({ object, sinceMs }: ArtifactTrouble, cut: boolean): Undecided {
  const why = cut
    ? `The logs do not tell whether the control plane was steady before ${clock(sinceMs)}.`
    : `${object.key} fetches in silence, and the control plane shows no sign of trouble.`;
  const needed = { ...missing("controlPlane"), usual: cut };
  return { objects: [object.ref], why, missing: [needed] };
}
