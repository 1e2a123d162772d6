import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { LockFact, PlanSummary } from "../domain/facts.ts";
import type { JournalEvent } from "./messages.ts";

// What tofu says with -json, line by line. Used for progress, for messages to people, and for what
// a dead runner's tofu had under way, and for the counts of a plan; whether a command succeeded is
// never read from here.

export type TofuLine =
  | {
      readonly kind: "progress";
      /** Address, such as module.a.terraform_data.b[0]. */
      readonly resource: string;
      /** create, read, update, delete … */
      readonly action: string;
      readonly state: "started" | "going" | "done" | "failed";
      /** Name and value of the attribute that identifies the real thing, once it is known. */
      readonly identity: { readonly key: string; readonly value: string } | undefined;
      readonly text: string;
    }
  | { readonly kind: "diagnostic"; readonly diagnostic: Diagnostic }
  /** What a plan would do; a replacement is one added and one destroyed. */
  | { readonly kind: "planned"; readonly summary: PlanSummary; readonly text: string }
  /** For people. `noise`: may come without bounds and is the first to go. */
  | { readonly kind: "text"; readonly text: string; readonly noise: boolean }
  /** The version line. */
  | { readonly kind: "none" };

export interface Diagnostic {
  readonly severity: "error" | "warning";
  readonly summary: string;
  readonly detail: string;
  /** Address of the resource. */
  readonly address: string | undefined;
  /** file:line. */
  readonly where: string | undefined;
}

const progressTypes: Readonly<Record<string, "started" | "going" | "done" | "failed">> = {
  apply_start: "started",
  apply_progress: "going",
  apply_complete: "done",
  apply_errored: "failed",
};

/** Reads one line of output; a line that is no JSON (a panic, a provider's cry) is text. */
export function parseTofuLine(line: string): TofuLine {
  const found = parseObject(line);
  if (found === undefined) return { kind: "text", text: line, noise: false };
  const { type } = found;
  const text = stringOf(found["@message"]) ?? "";
  if (type === "version") return { kind: "none" };
  if (type === "change_summary") {
    const summary = plannedIn(objectOf(found.changes));
    if (summary !== undefined) return { kind: "planned", summary, text };
  }
  if (type === "diagnostic") {
    return { kind: "diagnostic", diagnostic: diagnosticOf(objectOf(found.diagnostic), text) };
  }
  const state = typeof type === "string" ? progressTypes[type] : undefined;
  if (state === undefined) return { kind: "text", text, noise: type === "provision_progress" };
  const hook = objectOf(found.hook);
  const resource = stringOf(objectOf(hook.resource).addr) ?? "";
  const action = stringOf(hook.action) ?? "";
  const key = stringOf(hook.id_key);
  const value = stringOf(hook.id_value);
  const identity = key === undefined || value === undefined ? undefined : { key, value };
  return { kind: "progress", resource, action, state, identity, text };
}

function plannedIn(changes: Record<string, unknown>): PlanSummary | undefined {
  const { add, change, remove: destroy, import: imported = 0, operation } = changes;
  if (operation !== "plan") return undefined;
  const numbers = [add, change, destroy, imported].filter((each) => typeof each === "number");
  const [a = 0, b = 0, c = 0, d = 0] = numbers;
  return numbers.length === 4 ? { add: a, change: b, destroy: c, import: d } : undefined;
}

function diagnosticOf(found: Record<string, unknown>, message: string): Diagnostic {
  const range = objectOf(found.range);
  const file = stringOf(range.filename);
  const line = objectOf(range.start).line;
  return {
    severity: found.severity === "warning" ? "warning" : "error",
    summary: stringOf(found.summary) ?? message,
    detail: stringOf(found.detail) ?? "",
    address: stringOf(found.address),
    where: file === undefined ? undefined : `${file}:${typeof line === "number" ? line : "?"}`,
  };
}

/** A diagnostic as people read it, one to several lines. */
export function diagnosticText(diagnostic: Diagnostic): string {
  const { severity, summary, detail, address, where } = diagnostic;
  const place = [address, where].filter((part) => part !== undefined).join(" at ");
  const head = `${severity === "error" ? "Error" : "Warning"}: ${summary}`;
  return [place === "" ? head : `${head} (${place})`, detail].filter((part) => part).join("\n");
}

/** How a line stands in the run's log; undefined if it does not. */
export function loggedAs(
  line: TofuLine,
): { readonly text: string; readonly weight: "matters" | "noise" } | undefined {
  switch (line.kind) {
    case "progress":
    case "planned":
      return { text: line.text, weight: "matters" };
    case "diagnostic":
      return { text: diagnosticText(line.diagnostic), weight: "matters" };
    case "text": {
      const text = line.text.trim();
      return text === "" ? undefined : { text, weight: line.noise ? "noise" : "matters" };
    }
    case "none":
      return undefined;
  }
}

/** The summaries that say that a saved plan no longer fits: only a new plan helps. */
const STALE = [
  "Saved plan is stale",
  "Saved plan does not match the given state",
  // A provider was released between plan and apply, and init took it.
  "Inconsistent dependency lock file",
];

/** Its summary speaks of any plan file that cannot be read. */
const OF_ANOTHER_VERSION = "plan file was created by";

/** Whether a diagnostic says so. */
export function saysPlanStale({
  summary,
  detail,
}: Pick<Diagnostic, "summary" | "detail">): boolean {
  return STALE.includes(summary) || detail.includes(OF_ANOTHER_VERSION);
}

/** The lock that is in the way, from the text of a diagnostic or of an error on stderr. */
export function lockIn(text: string): LockFact | undefined {
  const start = text.indexOf("Lock Info:");
  if (start < 0) return undefined;
  const field = (name: string) =>
    new RegExp(`^[\\s│|]*${name}:[ \\t]*(.*)$`, "m").exec(text.slice(start))?.[1]?.trim();
  const id = field("ID");
  if (id === undefined || id === "") return undefined;
  return {
    id,
    operation: field("Operation") ?? "",
    who: field("Who") ?? "",
    created: rfc3339(field("Created") ?? ""),
    runId: undefined,
  };
}

/** Go prints `2026-08-13 12:00:00.5 +0000 UTC`. Anything else is passed on as it is. */
function rfc3339(text: string): string {
  const found = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?) ([+-]\d\d)(\d\d)\b/.exec(text);
  if (found === null) return text;
  const [, day, time, hours, minutes] = found;
  const at = new Date(`${day}T${time}${hours}:${minutes}`);
  return Number.isNaN(at.getTime()) ? text : at.toISOString();
}

/** Resources that an apply has touched, as far as its output tells. */
export class ProgressLedger {
  readonly #open = new Map<string, { resource: string; action: string }>();
  readonly #created = new Map<string, { key: string; value: string } | undefined>();

  /**
   * What a run's journal tells. The runner journals progress before it cuts the output file off,
   * so the ledger is whole if the file is read on top of the journal.
   */
  static of(events: readonly JournalEvent[]): ProgressLedger {
    const ledger = new ProgressLedger();
    for (const event of events) {
      if (event.type !== "progress") continue;
      ledger.see({ ...event, kind: "progress", identity: undefined, text: "" });
    }
    return ledger;
  }

  see(line: TofuLine): void {
    if (line.kind !== "progress") return;
    const { resource, action, state, identity } = line;
    // A replacement deletes and creates under one address.
    const key = `${action} ${resource}`;
    if (state === "started" || state === "going") this.#open.set(key, { resource, action });
    else this.#open.delete(key);
    if (state === "done" && action === "create") this.#created.set(resource, identity);
  }

  /** Addresses whose action has begun and not ended; reading changes nothing and is left out. */
  inFlight(): string[] {
    const writing = [...this.#open.values()].filter(({ action }) => action !== "read");
    return [...new Set(writing.map(({ resource }) => resource))].sort();
  }

  /**
   * What was created, with the identity of the real thing. tofu hands its state on at most every
   * 20 s: what is not in the last state written although it is here exists unrecorded.
   */
  created(): ReadonlyMap<string, { readonly key: string; readonly value: string } | undefined> {
    return this.#created;
  }
}

/** What the output file of an apply tells about a tofu that can no longer be asked. */
export interface ApplyTrace {
  readonly ledger: ProgressLedger;
  readonly errors: readonly Diagnostic[];
}

/**
 * Reads the output file of an apply to its end, on top of what the journal told. A file that is not
 * there tells nothing.
 */
export async function readApplyTrace(path: string, ledger: ProgressLedger): Promise<ApplyTrace> {
  const errors: Diagnostic[] = [];
  const lines = createInterface({ input: createReadStream(path, "utf8"), crlfDelay: Infinity });
  try {
    for await (const text of lines) {
      // The first line after a cut and the last one before a kill may be torn.
      const line = text.includes('"type":"provision_progress"') ? undefined : parseTofuLine(text);
      if (line === undefined) continue;
      ledger.see(line);
      if (line.kind === "diagnostic" && line.diagnostic.severity === "error") {
        errors.push(line.diagnostic);
      }
    }
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
  return { ledger, errors };
}

function parseObject(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const found: unknown = JSON.parse(line);
    return typeof found === "object" && found !== null && "@level" in found
      ? (found as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function stringOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
