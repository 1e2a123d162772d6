import type { EvidenceObject, PacketDrop } from "./model.ts";
import type { PodView } from "./pods.ts";
import { flowOf, type PolicyEnd, type PolicyFlow, type Ruling, ruling } from "./policies.ts";

/** Drops "Policy denied" of one flow, and what the policies say of it. */
export interface DeniedFlow {
  readonly flow: PolicyFlow;
  readonly drops: readonly PacketDrop[];
  readonly ingress: Ruling;
  readonly egress: Ruling;
  readonly verdict: "correct" | "wrong" | "unclear";
  readonly source: string;
  readonly destination: string;
}

export interface DropFacts {
  readonly drops: readonly PacketDrop[];
  readonly policies: readonly EvidenceObject[];
  readonly pods: readonly PodView[];
  readonly services?: readonly EvidenceObject[];
  readonly endpoints?: readonly EvidenceObject[];
  readonly namespaces?: readonly EvidenceObject[];
  readonly identities?: readonly EvidenceObject[];
}

const DENIED = /policy[ _]denied/i;
/** Flows judged; beyond that a recording is a flood of the same. */
const FLOWS_MAX = 500;

/** Each denied flow once, judged at both doors. */
export function deniedFlows(facts: DropFacts): DeniedFlow[] {
  const denied = facts.drops.filter((drop) => DENIED.test(drop.reason));
  const groups = Map.groupBy(denied, groupKey);
  return [...groups.values()].slice(0, FLOWS_MAX).flatMap((drops) => {
    const [first] = drops;
    const flow =
      first &&
      flowOf(first, { services: [], endpoints: [], namespaces: [], identities: [], ...facts });
    return flow === undefined ? [] : [judged(flow, drops, facts.policies)];
  });
}

/** A new connection has another source port each time; the flow is the same. */
const groupKey = ({ source, destination, port, protocol }: PacketDrop) =>
  [source.pod ?? source.ip, destination.pod ?? destination.ip, port, protocol].join(" ");

function judged(
  flow: PolicyFlow,
  drops: readonly PacketDrop[],
  policies: readonly EvidenceObject[],
): DeniedFlow {
  const ingress = ruling(flow, "ingress", policies);
  const egress = ruling(flow, "egress", policies);
  const both = [ingress.verdict, egress.verdict];
  const verdict = both.includes("denied")
    ? "correct"
    : both.includes("unclear")
      ? "unclear"
      : "wrong";
  return {
    ...{ flow, drops, ingress, egress, verdict },
    source: nameOf(flow.source),
    destination: nameOf(flow.destination),
  };
}

const nameOf = (end: PolicyEnd) => end.pod ?? end.ip ?? "unknown";
