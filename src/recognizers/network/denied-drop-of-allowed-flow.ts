import { type DeniedFlow, deniedFlows } from "../../evidence/denied-drops.ts";
import { CONTROL_PLANE } from "../control-plane/unsteady.ts";
import { defineRecognizer, type Finding, verdictOf } from "../define.ts";
import { count, HARMLESS, stampOf } from "../words.ts";
import { citesOf, unclear } from "./denied-drop-correct.ts";

/** A drop though the policies allow the flow. */
export const deniedDropOfAllowedFlow = defineRecognizer({
  id: "network/denied-drop-of-allowed-flow",
  since: "0.1.0",
  maturity: "trial",
  severity: "failure",
  summary: "Checks for denied drops of flows that the policies allow.",
  plural: "flows are dropped though the policies allow them",
  needs: ["drops", "policies", "pods"],
  wants: ["services", "endpoints", "namespaces", "identities"],
  lookAlikes: [
    {
      id: "network/denied-drop-correct",
      tellApart: "The policies do not admit the sender: the drop is right.",
    },
    {
      id: "flux/artifact-fetch-transient",
      tellApart: "The control plane was unsteady: the drops end when it settles.",
    },
  ],
  accompanies: ["control-plane/unsteady"],

  recognize(known) {
    const flows = deniedFlows(known);
    const findings = flows.filter((each) => each.verdict === "wrong").map(findingOf);
    const undecided = flows.filter((each) => each.verdict === "unclear").map(unclear);
    return verdictOf(findings, undecided, "No flow that is allowed was dropped as denied.");
  },

  remedies: [
    {
      do: "Check etcd and the API server first: identity and policy lag when they are slow.",
      command: "kubectl get --raw '/readyz?verbose'",
      risk: "read-only",
      precondition: "None.",
      effect: "You know whether the drops will end by themselves.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "Every check says ok.",
    },
    {
      do: "Compare what the agent knows of {source} with its labels.",
      command: "kubectl get ciliumendpoints,ciliumidentities -A",
      risk: "read-only",
      precondition: "None.",
      effect: "You see an identity that is old or missing.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "The identity's labels are the pod's.",
    },
    {
      do: "If the control plane has been steady for 15 min, restart the agent of the node.",
      risk: "disruptive",
      precondition: "The drops go on though the control plane is steady.",
      effect: "Policy and identity are realised anew on that node.",
      price: "New connections on that node may pause for some seconds.",
      undo: "None needed.",
      verify: "The recording shows no more such drops.",
    },
  ],
  doesNotHelp: ["Widening the policy: it allows the flow already."],
  doc: {
    meaning: "The datapath has not realised what the policies and labels say.",
    impact: "Allowed traffic is lost, such as downloads from the source-controller.",
    symptoms: ['"Policy denied" for a sender whom a policy admits by its labels.'],
    limits: "It stands on the labels of now; a pod that was relabelled since may mislead it.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "policies of Kubernetes 1.36 and Cilium (text)" },
});

function findingOf(each: DeniedFlow): Finding {
  const { flow, drops, ingress, source, destination } = each;
  return {
    objects: [`Pod/${destination}`],
    says:
      `${count(drops.length, "drop")} from ${source} to ${destination} port ${flow.port}, ` +
      "though the policies allow it.",
    facts: { source, destination, port: flow.port, drops: drops.length, policies: ingress.by },
    cites: citesOf(each, ingress.why),
    since: stampOf(drops[0]?.atMs),
    causes: [CONTROL_PLANE],
  };
}
