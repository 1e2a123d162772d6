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
      return `${capital(stage)} did not end within ${limitText(fact.stage)}`;
    case "unreachable":
      return `The runner did not answer ${during}${lastSign(run)}`;
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
      ? `The runner does not answer ${during}${lastSign(run)}`
      : `A person has ordered the end of the run ${during}`;
  }
  const proof = fact.proof ?? "";
  if (/^killed|^ended|^stopped/.test(proof)) return `The runner was ${proof} ${during}`;
  return `The runner is gone ${during}${proof === "" ? "" : ` (${proof})`}`;
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
