import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { PlanSummary, RunOutcome } from "../protocol/messages.ts";

// What OpenTofu's JSON results say. All of it is data from a file; nothing here runs anything.

type OutputFacts = NonNullable<Extract<RunOutcome, { kind: "applied" }>["outputs"]>;

/** Of a plan that changes nothing. */
export const noChanges: PlanSummary = { add: 0, change: 0, destroy: 0, import: 0 };

/** Counts as OpenTofu does: a replacement is one added and one destroyed. */
export function summaryOf(planJson: unknown): PlanSummary {
  const summary = { add: 0, change: 0, destroy: 0, import: 0 };
  for (const each of listOf(recordOf(planJson).resource_changes)) {
    const change = recordOf(recordOf(each).change);
    const actions = listOf(change.actions);
    if (change.importing !== undefined && change.importing !== null) summary.import += 1;
    if (actions.includes("create")) summary.add += 1;
    if (actions.includes("update")) summary.change += 1;
    if (actions.includes("delete")) summary.destroy += 1;
  }
  return summary;
}

/** Names from `output -json`, sorted. */
export function outputFactsOf(outputJson: unknown): OutputFacts {
  return Object.entries(recordOf(outputJson))
    .map(([name, output]) => ({ name, sensitive: recordOf(output).sensitive === true }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The values of the state that a plan was made on, as its JSON tells them. */
export function priorValues(planJson: unknown): unknown {
  return recordOf(recordOf(planJson).prior_state).values;
}

/**
 * Outputs from `output -json` as text, for templates: strings as they are, everything else as JSON,
 * each under its name and under the other names that the order gives.
 */
export function templateValues(
  outputJson: unknown,
  otherNames: Readonly<Record<string, string>>,
): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const [name, output] of Object.entries(recordOf(outputJson))) {
    const { value } = recordOf(output);
    values.set(name, typeof value === "string" ? value : JSON.stringify(value ?? null));
  }
  for (const [other, name] of Object.entries(otherNames)) {
    const value = values.get(name);
    if (value !== undefined) values.set(other, value);
  }
  return values;
}

/** sha256, hex. */
export async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

export function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
