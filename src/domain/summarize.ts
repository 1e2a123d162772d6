import type { Condition } from "../api/meta.ts";
import { CONDITION, REASON } from "../api/names.ts";
import type { Marks, Standing } from "./standing.ts";
import { cut } from "./text.ts";
import { secondText } from "./time.ts";

/** What upstream says in Reconciling, whatever it does. */
const FULFILLING = "Fulfilling prerequisites";

type Text = Pick<Condition, "status" | "reason" | "message">;
/** What is to become of one condition: a text, nothing, or what it was. */
type Verdict = Text | "absent" | "same";
interface Summary {
  readonly ready: Verdict;
  readonly reconciling: Verdict;
  readonly stalled: Verdict;
}

export interface SummaryInput {
  readonly old: readonly Condition[];
  readonly standing: Standing;
  readonly marks: Marks;
  readonly generation: number;
  readonly nowMs: number;
}

/**
 * All conditions of an object, from facts. The only place that makes any. Reconciling stands only
 * while something is under way, never together with Stalled; a transition time moves only when
 * status, reason or message do.
 */
export function summarize(input: SummaryInput): Condition[] {
  const { standing, marks } = input;
  const { ready, reconciling, stalled } = summaryOf(standing, input.old);
  const verdicts: [string, Verdict][] = [
    [CONDITION.stalled, stalled],
    [CONDITION.reconciling, reconciling],
    [CONDITION.ready, ready],
    [CONDITION.apply, applyText(marks.apply)],
    [CONDITION.output, outputText(marks.output)],
    [CONDITION.plan, planText(marks.plan)],
    [CONDITION.healthCheck, healthText(marks.health)],
    [CONDITION.stateLocked, lockText(marks.lock)],
  ];
  const told = new Map(verdicts);
  const kept = input.old.filter((each) => (told.get(each.type) ?? "same") === "same");
  const made = verdicts.flatMap(([type, verdict]) =>
    typeof verdict === "string" ? [] : [conditionOf(type, verdict, input)],
  );
  return [...kept, ...made].sort(byRank);
}

function conditionOf(type: string, text: Text, input: SummaryInput): Condition {
  const old = input.old.find((each) => each.type === type);
  const message = cut(text.message);
  const moved =
    old?.status !== text.status || old.reason !== text.reason || old.message !== message;
  return {
    type,
    status: text.status,
    reason: text.reason,
    message,
    observedGeneration: input.generation,
    lastTransitionTime: moved ? secondText(input.nowMs) : old.lastTransitionTime,
  };
}

/** Stalled, Reconciling, Ready; the others by newest generation, then by name. */
function byRank(a: Condition, b: Condition): number {
  const first: string[] = [CONDITION.stalled, CONDITION.reconciling, CONDITION.ready];
  const rank = (each: Condition) =>
    first.includes(each.type) ? first.indexOf(each.type) : first.length;
  return (
    rank(a) - rank(b) ||
    (b.observedGeneration ?? 0) - (a.observedGeneration ?? 0) ||
    (a.type < b.type ? -1 : 1)
  );
}

function summaryOf(standing: Standing, old: readonly Condition[]): Summary {
  switch (standing.is) {
    case "unchanged":
      return { ready: "same", reconciling: "absent", stalled: "same" };
    case "running":
      return runningSummary(standing, old);
    case "retrying":
      return moving(unknown(standing.reason, standing.message), standing.message);
    case "queued":
      return moving(
        standing.looksAgain && hasVerdict(old)
          ? "same"
          : unknown(REASON.progressing, standing.message),
        standing.message,
      );
    case "held-back":
      return heldBackSummary(standing.message, old);
    case "planned":
      return moving(unknown(REASON.plannedWithChanges, "Plan generated"), FULFILLING);
    case "suspended":
      return {
        ready:
          hasVerdict(old) && !standing.always
            ? "same"
            : unknown(REASON.suspended, standing.message),
        reconciling: "absent",
        stalled: "same",
      };
    case "stalled":
      return {
        ready: no(standing.reason, standing.message),
        reconciling: "absent",
        stalled: yes(standing.reason, standing.message),
      };
    case "used-up":
      return { ready: "same", reconciling: "absent", stalled: usedUp() };
    case "failed":
      return {
        ready: no(standing.reason, standing.message),
        reconciling: "absent",
        stalled: standing.last === true ? usedUp() : "absent",
      };
    default:
      return { ready: restingText(standing), reconciling: "absent", stalled: "absent" };
  }
}

/** A verdict stays: it is still true. That nothing goes on is said beside it. */
function heldBackSummary(message: string, old: readonly Condition[]): Summary {
  const said = unknown(REASON.otherController, message);
  return {
    ready: hasVerdict(old) ? "same" : said,
    reconciling: yes(REASON.otherController, message),
    stalled: "absent",
  };
}

type Moving = Extract<Standing, { is: "running" | "retrying" | "queued" | "held-back" }>;
type Resting = Exclude<
  Standing,
  Moving | { is: "unchanged" | "planned" | "suspended" | "stalled" | "failed" | "used-up" }
>;

function restingText(standing: Resting): Text {
  switch (standing.is) {
    case "prompt":
      return promptText(standing);
    case "no-changes":
      return yes(
        REASON.plannedNoChanges,
        `${standing.destroy ? NOTHING_TO_DESTROY : "Plan no changes"}: ${standing.revision}`,
      );
    case "no-drift":
      return yes(REASON.noDrift, `No drift: ${standing.revision}`);
    case "drift":
      return no(REASON.driftDetected, `Drift detected: ${standing.summary}`);
    case "applied":
      return yes(REASON.appliedSucceed, `${appliedText(standing.destroy)}: ${standing.revision}`);
    case "outputs-written":
      return yes(
        REASON.outputsWritten,
        `${standing.none ? "No Outputs written" : "Outputs written"}: ${standing.revision}`,
      );
    case "idle":
      return unknown(REASON.nothingToDo, standing.message);
  }
}

function promptText(standing: Extract<Standing, { is: "prompt" }>): Text {
  const { shortened } = standing;
  const hint =
    shortened === undefined
      ? ""
      : ` The value "${shortened}" is only the beginning of this id; it must be whole.`;
  return standing.drift
    ? no(REASON.driftDetected, `Drift detected: ${standing.summary}; ${way(standing)}${hint}`)
    : unknown(REASON.plannedWithChanges, `${promptMessage(standing)}${hint}`);
}

interface Prompt {
  readonly planId: string;
  readonly planOnly: boolean;
}

/** What a person is told who has a plan before him, in upstream's words. */
export function promptMessage(prompt: Prompt): string {
  return `Plan generated: ${way(prompt)}`;
}

function way({ planId, planOnly }: Prompt): string {
  return planOnly
    ? "This object is in the plan only mode."
    : `set approvePlan: "${planId}" to approve this plan.`;
}

function runningSummary(
  standing: Extract<Standing, { is: "running" }>,
  old: readonly Condition[],
): Summary {
  const { run, trouble } = standing;
  if (trouble?.needsPerson) {
    return {
      ready: no(trouble.reason, trouble.message),
      reconciling: "absent",
      stalled: yes(trouble.reason, trouble.message),
    };
  }
  const message = standing.busy ?? FULFILLING;
  if (trouble !== undefined) return moving(unknown(trouble.reason, trouble.message), message);
  if (standing.looksAgain && hasVerdict(old)) return moving("same", message);
  return moving(unknown(REASON.progressing, progressText(run)), message);
}

function progressText(run: { operation: string; stage: string }): string {
  switch (run.stage) {
    case "plan":
    case "show":
      return "Terraform Planning";
    case "apply":
      return "Applying";
    case "health":
      return "Checking health";
    case "outputs":
    case "collect":
      return run.operation === "apply" ? "Applying" : "Terraform Planning";
    default:
      return "Initializing";
  }
}

/** Ready says true, or false with the trouble found: worth keeping while one looks again. */
function hasVerdict(old: readonly Condition[]): boolean {
  const ready = old.find((each) => each.type === CONDITION.ready);
  if (ready?.status === "Unknown") return ready.reason === REASON.plannedWithChanges;
  return ready !== undefined;
}

/** Upstream's words. */
export const USED_UP = "Resource reached maximum number of retries.";

function usedUp(): Text {
  return yes(REASON.retryLimitReached, USED_UP);
}

const NOTHING_TO_DESTROY = "No objects need to be destroyed";

function appliedText(destroy: boolean): string {
  return destroy ? "Destroy applied successfully" : "Applied successfully";
}

function planText(mark: Marks["plan"]): Verdict {
  if (mark === undefined) return "same";
  if (mark.changes) return yes(REASON.plannedWithChanges, "Plan generated");
  return no(REASON.plannedNoChanges, mark.destroy ? NOTHING_TO_DESTROY : "Plan no changes");
}

function applyText(mark: Marks["apply"]): Verdict {
  switch (mark?.is) {
    case undefined:
      return "same";
    case "started":
      return unknown(REASON.progressing, "Apply started");
    case "succeeded":
      return yes(REASON.appliedSucceed, appliedText(mark.destroy));
    case "failed":
      return no(REASON.appliedFail, mark.message);
  }
}

function outputText(mark: Marks["output"]): Verdict {
  switch (mark) {
    case undefined:
      return "same";
    case "available":
      return yes(REASON.outputsAvailable, "Outputs available");
    case "written":
      return yes(REASON.outputsWritten, "Outputs written");
    case "none":
      return yes(REASON.outputsWritten, "No Outputs written");
    case "absent":
      return "absent";
  }
}

function lockText(mark: Marks["lock"]): Verdict {
  switch (mark?.is) {
    case undefined:
      return "same";
    case "held":
      return yes(REASON.lockHeld, `Terraform Locked with Lock Identifier: ${mark.id}`);
    case "released":
      return no(REASON.forceUnlock, `Terraform Force Unlock with Lock Identifier: ${mark.id}`);
    case "free":
      return "absent";
  }
}

function healthText(mark: Marks["health"]): Verdict {
  switch (mark?.is) {
    case undefined:
      return "same";
    case "succeeded":
      return yes(REASON.healthChecksSucceed, "Health checks succeeded");
    case "failed":
      return no(REASON.healthChecksFailed, mark.message);
    case "absent":
      return "absent";
  }
}

function moving(ready: Verdict, message: string): Summary {
  return { ready, reconciling: yes(REASON.progressing, message), stalled: "absent" };
}

function yes(reason: string, message: string): Text {
  return { status: "True", reason, message };
}

function no(reason: string, message: string): Text {
  return { status: "False", reason, message };
}

function unknown(reason: string, message: string): Text {
  return { status: "Unknown", reason, message };
}
