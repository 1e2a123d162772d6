import type { Event } from "../../api/core.ts";
import { keyOf } from "../../api/kinds.ts";
import type { DriftStatus, Terraform } from "../../api/terraform.ts";
import type { LiveRun } from "../../ports/runs.ts";
import { wordFor } from "../context.ts";
import { ageSince, deadlineClock, statusWord } from "./status.ts";
import { table, wrap } from "./table.ts";

export interface DescribeFacts {
  readonly object: Terraform;
  readonly live: LiveRun | undefined;
  readonly events: readonly Event[];
  readonly nowMs: number;
  readonly engineRuns: boolean;
  /** Namespace that commands need not name; "default" if left out. */
  readonly home?: string | undefined;
  readonly columns: number;
}

/** One object on one screen: what it is, what it waits for, what has happened. */
export function describeView(facts: DescribeFacts): string {
  const { object } = facts;
  return [
    head(object),
    section("Now", now(facts), facts.columns),
    planSection(facts),
    section("Last run", lastRun(object, facts.nowMs), facts.columns),
    conditions(object, facts),
    eventsView(facts.events, facts),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

function head(object: Terraform): string {
  const { spec, status, metadata } = object;
  const rows: [string, string | undefined][] = [
    ["Name", `${metadata.namespace ?? "default"}/${metadata.name}`],
    ["Status", statusWord(object).word],
    ["Source", `${spec.sourceRef.kind}/${spec.sourceRef.name}${spec.path ? ` ${spec.path}` : ""}`],
    ["Approval", approvalText(spec)],
    ["Interval", spec.interval],
    ["Applied", status?.lastAppliedRevision],
    ["Attempted", status?.lastAttemptedRevision],
    ["Drift", driftText(status?.drift)],
    ["Outputs", status?.availableOutputs?.join(", ")],
    [
      "Failures",
      status?.reconciliationFailures ? String(status.reconciliationFailures) : undefined,
    ],
  ];
  return rows
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => `${`${name}:`.padEnd(11)}${value}\n`)
    .join("");
}

function approvalText({ approvePlan = "", force, planOnly }: Terraform["spec"]): string {
  if (approvePlan === "disable") return "disable (only looks for drift)";
  if (force === true) return "auto (spec.force)";
  if (planOnly === true) return "never (spec.planOnly)";
  return approvePlan === "" ? "by hand" : approvePlan;
}

/** What the last look has found, and since when. */
function driftText(drift: DriftStatus | undefined): string | undefined {
  if (drift === undefined) return undefined;
  const looks = drift.count === 1 ? "1 look" : `${drift.count} looks`;
  return `${drift.summary}, since ${drift.since} (${looks}, revision ${drift.revision})`;
}

function section(title: string, lines: readonly string[], columns: number): string {
  if (lines.length === 0) return "";
  return `${title}:\n${lines.map((line) => `${wrap(line, columns, "  ")}\n`).join("")}`;
}

function now({ object, live, nowMs, engineRuns, home }: DescribeFacts): string[] {
  const lines = deadlineClock(object, live, nowMs, home);
  // What is stored was true when the engine ended; what runs has gone on since.
  return engineRuns ? lines : ["No engine runs: this is what the last one stored.", ...lines];
}

function planSection({ object, home, columns }: DescribeFacts): string {
  const plan = object.status?.plan;
  if (plan?.pending === undefined || plan.pending === "") return "";
  const run = object.status?.run;
  const word = wordFor(keyOf(object), home);
  if (run?.operation === "apply") {
    return section("Plan", [`${plan.pending} is being applied.`], columns);
  }
  const { planOnly, force } = object.spec;
  if (planOnly === true && force !== true) {
    const summary = plan.summary === undefined ? "" : `: ${plan.summary}`;
    const lines = [
      `${plan.pending} is not applied, for the object is in the plan only mode${summary}.`,
      `Look at it:  nigari plan show ${word}`,
    ];
    return section("Plan", lines, columns);
  }
  const lines = [
    `${plan.pending} waits for approval${plan.summary === undefined ? "" : `: ${plan.summary}`}.`,
    `Look at it:  nigari plan show ${word}`,
    `Approve it:  nigari approve ${word} ${plan.pending}`,
  ];
  return section("Plan", lines, columns);
}

function lastRun(object: Terraform, nowMs: number): string[] {
  const run = object.status?.lastRun;
  if (run === undefined) return [];
  const unrecorded = run.unrecorded ?? [];
  return [
    `${run.operation} ${run.outcome} in stage ${run.stage}, ` +
      `${ageSince(run.finishedAt, nowMs)} ago: ${run.message.trim()}`,
    ...(unrecorded.length === 0 ? [] : [`May exist unrecorded: ${unrecorded.join(", ")}.`]),
  ];
}

function conditions(object: Terraform, { nowMs }: DescribeFacts): string {
  const list = object.status?.conditions ?? [];
  if (list.length === 0) return "";
  const rows = list.map((each) => [
    `  ${each.type}`,
    each.status,
    each.reason,
    ageSince(each.lastTransitionTime, nowMs),
    each.message.split("\n")[0] ?? "",
  ]);
  return `Conditions:\n${table(["  TYPE", "STATUS", "REASON", "AGE", "MESSAGE"], rows)}`;
}

/** Events, oldest first. */
export function eventsView(events: readonly Event[], view: { nowMs: number }): string {
  if (events.length === 0) return "";
  const rows = [...events]
    .sort((a, b) => (a.lastTimestamp ?? "").localeCompare(b.lastTimestamp ?? ""))
    .map((event) => [
      `  ${ageSince(event.lastTimestamp ?? undefined, view.nowMs)}`,
      event.type ?? "",
      event.reason ?? "",
      (event.count ?? 1) > 1 ? `x${event.count}` : "",
      `${event.involvedObject.kind}/${event.involvedObject.name}`,
      (event.message ?? "").split("\n").join(" "),
    ]);
  return `Events:\n${table(["  AGE", "TYPE", "REASON", "", "OBJECT", "MESSAGE"], rows)}`;
}
