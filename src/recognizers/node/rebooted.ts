import type { RebootView } from "../../evidence/reboots.ts";
import { citeNode, citePod } from "../cites.ts";
import { defineRecognizer, type Finding, verdictOf } from "../define.ts";
import { missing } from "../judge.ts";
import { clock, count, HARMLESS, MINUTE_MS, stamp } from "../words.ts";

/** Older ones are history, unless an object still stands where it stood then. */
const RECENT_MS = 24 * 60 * MINUTE_MS;

/** A node that went down and came back. */
export const nodeRebooted = defineRecognizer({
  id: "node/rebooted",
  since: "0.1.0",
  maturity: "trial",
  severity: "risk",
  summary: "Checks for nodes that went down and came back with their pods struck.",
  plural: "nodes went down and came back",
  needs: ["reboots"],
  wants: ["terraforms"],
  lookAlikes: [
    { id: "node/lost", tellApart: "The node is not Ready now; here it is back." },
    {
      id: "control-plane/unsteady",
      tellApart: "Nodes turned NotReady together while their containers ran on.",
    },
    {
      id: "tofu/runners-on-one-node",
      tellApart: "The node is well; it would only strike all runners if it went down.",
    },
  ],
  accompanies: ["tofu/reconcile-parked", "tofu/runner-pods-failed-left-behind"],

  recognize({ reboots, terraforms }, { asOfMs }) {
    const oldest = Math.min(...(terraforms ?? []).map((each) => each.inCall?.sinceMs ?? asOfMs));
    const fromMs = Math.min(asOfMs - RECENT_MS, oldest - MINUTE_MS);
    const findings = reboots
      .filter((each) => each.verdict === "rebooted" && each.node.ready)
      .filter((each) => (each.wentMs ?? each.backMs ?? 0) >= fromMs)
      .map(findingOf);
    const undecided = reboots
      .filter((each) => each.verdict === "unclear")
      .filter(({ node }) => asOfMs - (node.readySinceMs ?? 0) <= RECENT_MS)
      .map((each) => ({
        objects: [`Node/${each.node.name}`],
        why: each.says,
        missing: [missing("events")],
      }));
    const other = reboots.find((each) => each.verdict === "ran-on") ?? reboots[0];
    return verdictOf(findings, undecided, other?.says ?? "There is no node.");
  },

  remedies: [
    {
      do: "Look at what ran on node {node}: runner pods and the Terraform objects they served.",
      command: "kubectl get pods -A -o wide --field-selector spec.nodeName={node}",
      look: true,
      risk: "read-only",
      precondition: "None.",
      effect: "You see what was struck.",
      price: HARMLESS,
      undo: "Not needed.",
      verify: "Every object whose runner was on it is Ready or has a finding of its own.",
    },
  ],
  doesNotHelp: ["Comparing boot ids alone: nodes that share a kernel share the id."],
  doc: {
    meaning:
      "Every pod that ran on the node ended with its shutdown, or was started anew with an end " +
      "that the kubelet does not know.",
    impact: "Runners on it died; calls to them may be parked, locks may be left.",
    symptoms: [
      'Failed pods: "Pod was terminated in response to imminent node shutdown."',
      "Or pods Running with restartCount 1, lastState Unknown/255 and a new IP.",
    ],
    limits:
      "Once the pods of before are gone, only an event can prove it. When a power loss happened " +
      "is known only as before the node was back.",
  },
  firstSeen: "2026-07-03",
  lastVerified: { on: "2026-11-30", against: "Kubernetes 1.36, containerd 1.6" },
  origin: "2026_07_03_reconcile_parked_after_node_rebooted.md",
});

function findingOf(reboot: RebootView): Finding {
  const { node, wentMs, backMs, how, struck, proofs } = reboot;
  const when =
    wentMs === undefined
      ? `before ${clock(backMs ?? 0)}`
      : `at ${clock(wentMs)}${backMs === undefined ? "" : `, back at ${clock(backMs)}`}`;
  return {
    objects: [`Node/${node.name}`],
    says: `Node ${node.name} went down ${when}; ${count(struck.length, "pod")} on it struck.`,
    facts: {
      node: node.name,
      how: how ?? "unknown",
      struck: struck.map((pod) => pod.key),
      ...(wentMs === undefined ? {} : { wentAt: stamp(wentMs) }),
      ...(backMs === undefined ? {} : { backAt: stamp(backMs) }),
    },
    cites: [
      citeNode(node),
      ...struck.slice(0, 5).map((pod) => citePod(pod, struckWords(pod.key, reboot))),
      ...proofs.map((event) => ({
        says: `${stamp(event.atMs)} event ${event.reason}: ${event.message}`,
        place: event.place,
      })),
    ],
    since: wentMs === undefined ? undefined : stamp(wentMs),
    causes: [],
    moments: [
      ...(wentMs === undefined ? [] : [{ atMs: wentMs, says: `node ${node.name} goes down` }]),
      ...(backMs === undefined ? [] : [{ atMs: backMs, says: `node ${node.name} is Ready again` }]),
    ],
  };
}

const struckWords = (pod: string, { how }: RebootView) =>
  how === "shutdown"
    ? `Pod ${pod} was ended by the node's shutdown`
    : `Pod ${pod} was restarted in place; how its last life ended is not known`;
