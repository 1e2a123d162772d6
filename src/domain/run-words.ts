import { formatDuration } from "../api/duration.ts";
import type { Operation, RunStatus, Stage } from "../api/terraform.ts";
import type { RunFact } from "./facts.ts";
import { stageLimitMs } from "./limits.ts";
import { secondText, timeOf } from "./time.ts";

/** What happened to a run, as the beginning of a sentence. */
export function happened(run: RunStatus, fact: RunFact): string {
  const stage = stageText(run.operation, fact.stage);
  const during = `during ${stage}`;
  switch (run.ending) {
    case "overrun":
      return `${capital(stage)} did not end within ${limitText(fact.stage)}${waitedFor(fact)}`;
    case "unreachable":
      return `The runner did not answer ${during}${lastSign(run)}${whereText(fact)}`;
    case "person":
      return `A person has ordered the end of the run ${during}`;
    case "deletion":
      return `The run was ended ${during}, for the object is being deleted`;
    case "orphaned":
    case undefined:
      break;
  }
  if (fact.runner !== "gone" && fact.verdict !== "dead") {
    return fact.verdict === "unreachable"
      ? `The runner does not answer ${during}${lastSign(run)}${whereText(fact)}`
      : `A person has ordered the end of the run ${during}`;
  }
  const proof = fact.proof ?? "";
  if (/^killed|^ended|^stopped/.test(proof)) return `The runner was ${proof} ${during}`;
  return `The runner is gone ${during}${proof === "" ? "" : ` (${proof})`}`;
}

/** Where a silent runner is, and what is wrong there; nothing where that is all well. */
function whereText({ place }: RunFact): string {
  if (place === undefined) return "";
  const { pod, node, nodeTrouble, stoppedBy } = place;
  if (node !== undefined && nodeTrouble !== undefined) {
    return `; its pod ${pod} is on node ${node}, which ${nodeTrouble}`;
  }
  const where = node === undefined ? "" : ` on node ${node}`;
  return stoppedBy === undefined ? "" : `; of its pod ${pod}${where} is known: ${stoppedBy}`;
}

function waitedFor({ place }: RunFact): string {
  return place?.waitsFor === undefined ? "" : ` (${place.waitsFor})`;
}

/** What an apply waits for that is cut off, and what a person can do, as the end of a sentence. */
export function awaitedProof({ place }: RunFact): string {
  const start = "nothing is started while it may write";
  const node = place?.node;
  if (node === undefined) return `${start}, and it is not known where it ran`;
  return (
    `${start}. It goes on by itself when node ${node} is back. If that node is off for good, ` +
    `say so: taint it with node.kubernetes.io/out-of-service=nodeshutdown:NoExecute, or run ` +
    `"nigari fence ${node} --confirm"`
  );
}

/** A stage as a noun, with the direction of a plan where it matters. */
export function stageText(operation: Operation, stage: Stage): string {
  switch (stage) {
    case "launch":
      return "its launch";
    case "artifact":
      return "the transfer of the artifact";
    case "workspace":
      return "the choice of the workspace";
    case "show":
      return "the reading of the plan";
    case "outputs":
      return "the reading of outputs";
    case "health":
      return "the health checks";
    case "collect":
      return operation === "apply" ? "the end of the apply" : "the end of the plan";
    default:
      return stage;
  }
}

export function limitText(stage: Stage): string {
  const limit = stageLimitMs(stage);
  return limit === undefined ? "its time" : formatDuration(limit);
}

function lastSign(run: RunStatus): string {
  const at = timeOf(run.lastSignAt);
  return at === undefined ? "" : `; its last sign came at ${secondText(at)}`;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
