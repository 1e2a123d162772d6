import type { RunStatus, Stage } from "../api/terraform.ts";
import type { RunOutcome } from "../domain/facts.ts";
import type { RunEvent } from "../ports/runner.ts";

/** What a runner has told of its run so far, and where to go on listening. */
export interface RunView {
  readonly stage: Stage;
  /** RFC 3339. */
  readonly stageSince: string;
  /** Sequence number of the last event heard; 0 before the first. */
  readonly sequence: number;
  /** Byte offset behind the last log line heard. */
  readonly logOffset: number;
  /** Every resource heard of, and whether its action goes on. */
  readonly resources: ReadonlyMap<string, "started" | "done" | "failed">;
  readonly outcome: RunOutcome | undefined;
}

/** The view of a run before anything is heard: what its stored intent says. */
export function viewOf(run: RunStatus, logOffset: number): RunView {
  return {
    stage: run.stage,
    stageSince: run.stageSince,
    sequence: 0,
    logOffset,
    resources: new Map(),
    outcome: undefined,
  };
}

/** The view after an event. An event heard a second time changes nothing. */
export function heard(view: RunView, event: RunEvent): RunView {
  switch (event.type) {
    case "heartbeat":
      return view;
    case "log":
      return { ...view, logOffset: Math.max(view.logOffset, event.offset) };
    case "stage":
    case "progress":
    case "outcome":
      return event.sequence <= view.sequence
        ? view
        : { ...told(view, event), sequence: event.sequence };
  }
}

type Told = Extract<RunEvent, { readonly sequence: number }>;

function told(view: RunView, event: Told): RunView {
  switch (event.type) {
    case "stage":
      return { ...view, stage: event.stage, stageSince: event.at };
    case "progress":
      return { ...view, resources: new Map(view.resources).set(event.resource, event.state) };
    case "outcome":
      return { ...view, outcome: event.outcome };
  }
}

/** Resources whose action has begun and not ended. */
export function inFlightOf(view: RunView): string[] {
  return [...view.resources].filter(([, state]) => state === "started").map(([name]) => name);
}
