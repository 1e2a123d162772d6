import { isRunner } from "../../evidence/runners.ts";
import { citePod } from "../cites.ts";
import { defineRecognizer, ruledOut, verdictOf } from "../define.ts";

/** So many runners make a fleet, and so large a share of it is nearly all. */
const FEW = 3;
const SHARE = 0.75;

/** A fleet that one node can take down. */
export const runnersOnOneNode = defineRecognizer({
  id: "tofu/runners-on-one-node",
  since: "0.1.0",
  maturity: "trial",
  severity: "risk",
  summary: "Checks for runners that nearly all lie on one node.",
  plural: "nodes carry nearly all runners",
  needs: ["pods", "nodes"],
  wants: [],
  lookAlikes: [
    { id: "node/rebooted", tellApart: "There the node did go down; here it would hurt if it did." },
  ],
  accompanies: ["node/rebooted", "node/lost"],

  recognize({ pods, nodes }) {
    const runners = pods.filter((pod) => isRunner(pod) && pod.node !== undefined);
    if (nodes.length < 2) return ruledOut("There is only one node.");
    const byNode = Map.groupBy(runners, (pod) => pod.node ?? "");
    const findings = [...byNode]
      .filter(([, own]) => own.length >= FEW && own.length >= runners.length * SHARE)
      .map(([node, own]) => ({
        objects: [`Node/${node}`],
        says: `${own.length} of ${runners.length} runners lie on node ${node}: it can take all.`,
        facts: {
          node,
          runners: own.length,
          all: runners.length,
          nodes: nodes.length,
        },
        cites: own.slice(0, 3).map((pod) => citePod(pod, `Pod ${pod.key} is on node ${node}`)),
        since: undefined,
        causes: [`Node/${node}`],
      }));
    return verdictOf(findings, [], "The runners are spread, or too few to judge.");
  },

  remedies: [
    {
      do: "Spread the runners: spec.runnerPodTemplate.spec.affinity, podAntiAffinity by hostname.",
      risk: "reversible",
      precondition: "More than one node fits the runners.",
      effect: "New runners prefer nodes without one.",
      price: "None; a runner may wait longer for its image on a node without it.",
      undo: "Take it out again.",
      verify:
        "kubectl get pods -A -l app.kubernetes.io/name=tf-runner -o wide shows several nodes.",
    },
  ],
  doesNotHelp: ["Making the node larger: it still goes down at once."],
  defect: {
    what: "The controller sets no spread; its template has no topologySpreadConstraints.",
    versions: "tofu-controller up to 0.16.5",
    files: ["api/v1alpha2/terraform_types.go"],
    references: [],
  },
  doc: {
    meaning: "A node selector, or the scheduler's habit, puts all runners on one node.",
    impact: "A reboot of that node stops the whole fleet at once.",
    symptoms: ["The NODE column of the runners says the same name again and again."],
    limits: "It sees the runners of this moment only.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "Kubernetes 1.36" },
  origin: "2026_07_03_reconcile_parked_after_node_rebooted.md",
});
