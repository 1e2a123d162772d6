import { type DeniedFlow, deniedFlows } from "../../evidence/denied-drops.ts";
import { type Cite, defineRecognizer, type Finding, type Undecided, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { count, HARMLESS, stampOf } from "../words.ts";

/** A drop that a policy demands. */
export const deniedDropCorrect = defineRecognizer({
  id: "network/denied-drop-correct",
  since: "0.1.0",
  maturity: "trial",
  severity: "risk",
  summary: "Checks for denied drops that are what the policies say, and so no fault.",
  plural: "denied drops are correct enforcement",
  needs: ["drops", "policies", "pods"],
  wants: ["services", "endpoints", "namespaces", "identities"],
  lookAlikes: [
    {
      id: "network/denied-drop-of-allowed-flow",
      tellApart: "The policies allow the flow, and it is dropped all the same.",
    },
  ],

  recognize(known) {
    const flows = deniedFlows(known);
    const findings = flows.filter((each) => each.verdict === "correct").map(findingOf);
    const undecided = flows.filter((each) => each.verdict === "unclear").map(unclear);
    return verdictOf(findings, undecided, "No drop is what the policies say.");
  },

  remedies: [
    {
      do: "Leave it. If {source} should reach {destination}, that is a change of policy.",
      risk: "read-only",
      precondition: "None.",
      effect: "Nobody chases a fault that is none.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "The policies that deny it are the ones that are wanted: {policies}.",
    },
  ],
  doesNotHelp: ["Testing from another pod: a pod that is not admitted proves nothing."],
  doc: {
    meaning: "The sender is not among those whom the policies admit.",
    impact: "None: the policy does its work.",
    symptoms: ['A drop "Policy denied" from a pod that has nothing to do with the service.'],
    limits: "What of Cilium's policies is not evaluated here makes it inconclusive, never correct.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "policies of Kubernetes 1.36 and Cilium (text)" },
  origin: "2026_07_03_reconcile_parked_after_node_rebooted.md",
});

function findingOf(each: DeniedFlow): Finding {
  const { flow, drops, ingress, egress, source, destination } = each;
  const ruling = ingress.verdict === "denied" ? ingress : egress;
  return {
    objects: [`Pod/${destination}`],
    says:
      `${count(drops.length, "drop")} from ${source} to ${destination} port ${flow.port}: ` +
      "correct enforcement, no fault.",
    facts: { source, destination, port: flow.port, drops: drops.length, policies: ruling.by },
    cites: citesOf(each, ruling.why),
    since: stampOf(drops[0]?.atMs),
    causes: [],
  };
}

/** The drop itself, and what the policies say. */
export function citesOf({ drops }: DeniedFlow, why: string): Cite[] {
  return drops.slice(0, 2).map((drop) => ({
    says: `${drop.reason}: ${drop.source.ip ?? "?"} -> ${drop.destination.ip ?? "?"}. ${why}`,
    place: drop.place,
  }));
}

/** Who is who, or what a policy means, is not known. */
export function unclear({ ingress, egress, source, destination }: DeniedFlow): Undecided {
  const why = ingress.verdict === "unclear" ? ingress.why : egress.why;
  const needed = { ...missing("policies"), usual: false };
  return {
    objects: [`Pod/${destination}`],
    why: `Drop from ${source} to ${destination}: ${why}`,
    missing: [needed],
  };
}
