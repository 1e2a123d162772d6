import type { Stage } from "../api/terraform.ts";
import { eventFromJson, eventToJson, outcomeOf } from "./journal.ts";
import { stageOf } from "./left-behind.ts";
import { type JournalEvent, type RunOutcome, stageFrom } from "./messages.ts";
import { ProgressLedger } from "./tofu-json.ts";

/**
 * How far a run has come, in the little that a container may leave when it ends: Kubernetes takes
 * 4096 bytes into the pod's status, where it stays when the kubelet has thrown away all else.
 */
export interface LastWord {
  readonly stage: Stage;
  /** Undefined: the run had none, or it was too long. */
  readonly outcome: RunOutcome | undefined;
  /** Resources whose action had begun and not ended. */
  readonly inFlight: readonly string[];
  /** Resources that had been created. */
  readonly created: readonly string[];
  /** There were more than could be told. */
  readonly more: boolean;
}

const BYTES_MAX = 4_000;
/** What is left of a long message. */
const MESSAGE_MAX = 1_500;

export function lastWordOf(events: readonly JournalEvent[]): string {
  const last = events.findLast((event) => event.type === "outcome");
  const outcome = last?.type === "outcome" ? outcomeText(last) : undefined;
  const ledger = ProgressLedger.of(events);
  const head = { stage: stageOf(events), ...(outcome === undefined ? {} : { outcome }) };
  if (outcome !== undefined) return JSON.stringify({ ...head, inFlight: [], created: [] });
  const inFlight = ledger.inFlight();
  const created = [...ledger.created().keys()];
  for (let keep = inFlight.length + created.length; ; keep = Math.floor(keep / 2)) {
    const flying = inFlight.slice(0, keep);
    const made = created.slice(0, Math.max(0, keep - flying.length));
    const more = flying.length + made.length < inFlight.length + created.length;
    const text = JSON.stringify({ ...head, inFlight: flying, created: made, more });
    if (Buffer.byteLength(text) <= BYTES_MAX || keep === 0) return text;
  }
}

/** The outcome's entry; what only adorns it is left out where it is too long. */
function outcomeText(event: Extract<JournalEvent, { type: "outcome" }>): unknown {
  const { outcome } = event;
  const shorter: RunOutcome[] = [outcome];
  if (outcome.kind === "planned" || outcome.kind === "applied") {
    shorter.push({ ...outcome, inventory: undefined, health: undefined });
  }
  if (outcome.kind === "failed" && outcome.message.length > MESSAGE_MAX) {
    shorter.push({ ...outcome, message: `${outcome.message.slice(0, MESSAGE_MAX)}…` });
  }
  const texts = shorter.map((each) => eventToJson({ ...event, outcome: each }));
  return texts.find((text) => Buffer.byteLength(JSON.stringify(text)) <= BYTES_MAX - 100);
}

/** Undefined for whatever else stands where a container leaves its last word. */
export function readLastWord(text: string): LastWord | undefined {
  try {
    const { stage, outcome, inFlight, created, more } = JSON.parse(text) as Partial<
      Record<keyof LastWord, unknown>
    >;
    const event = outcome === undefined ? undefined : eventFromJson(outcome);
    return {
      stage: stageFrom(String(stage)),
      outcome: event === undefined ? undefined : outcomeOf([event]),
      inFlight: texts(inFlight),
      created: texts(created),
      more: more === true,
    };
  } catch {
    return undefined;
  }
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
