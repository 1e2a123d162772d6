import type { RunStatus } from "../api/terraform.ts";

/**
 * How an object stands: what a step says, in facts. `summarize` alone turns it into conditions.
 */
export type Standing =
  /** Nothing new: what the conditions say holds on, and nothing is under way. */
  | { readonly is: "unchanged" }
  | {
      readonly is: "running";
      readonly run: RunStatus;
      /** The run only looks again: what Ready said before holds until it knows better. */
      readonly looksAgain: boolean;
      /** The runner is silent or lost, and what comes of it. */
      readonly trouble: Trouble | undefined;
      /** A request that came while this run was under way, in words. */
      readonly busy: string | undefined;
    }
  /** A run was lost; the next attempt comes by itself. */
  | { readonly is: "retrying"; readonly reason: string; readonly message: string }
  /** Due, but something short-lived is in the way, such as the number of runs at once. */
  | { readonly is: "queued"; readonly looksAgain: boolean; readonly message: string }
  /** A plan is there and goes on by itself. */
  | { readonly is: "planned" }
  /** Another controller leads: what Ready said before holds, and nothing is begun. */
  | { readonly is: "held-back"; readonly message: string }
  /** A plan is there and waits for a person. */
  | {
      readonly is: "prompt";
      readonly planId: string;
      readonly summary: string;
      readonly drift: boolean;
      /** The spec says that nothing is ever applied. */
      readonly planOnly: boolean;
      /** What approvePlan says, if it is a beginning of the id. */
      readonly shortened: string | undefined;
    }
  | { readonly is: "no-changes"; readonly revision: string; readonly destroy: boolean }
  | { readonly is: "no-drift"; readonly revision: string }
  /** Drift was found in an object that is only watched. */
  | { readonly is: "drift"; readonly summary: string }
  | { readonly is: "applied"; readonly revision: string; readonly destroy: boolean }
  | { readonly is: "outputs-written"; readonly revision: string; readonly none: boolean }
  /** It did not work, or something it needs is not there; it is tried again by itself. */
  | {
      readonly is: "failed";
      readonly reason: string;
      readonly message: string;
      /** It was tried as often as spec.remediation allows, and is not tried again. */
      readonly last?: boolean;
    }
  /** As often as allowed it was tried in vain; what it failed with stands in Ready. */
  | { readonly is: "used-up" }
  /** The spec asks for nothing. */
  | { readonly is: "idle"; readonly message: string }
  /** It does not go on without a person; the message says with what. */
  | { readonly is: "stalled"; readonly reason: string; readonly message: string }
  | {
      readonly is: "suspended";
      readonly message: string;
      /** Say so even over a verdict that stood before. */
      readonly always: boolean;
    };

export interface Trouble {
  readonly reason: string;
  readonly message: string;
  /** Nothing is tried any more until a person acts. */
  readonly needsPerson: boolean;
}

/** News for the conditions that remember: what is absent stays as it was. */
export interface Marks {
  readonly plan?: { readonly changes: boolean; readonly destroy: boolean } | undefined;
  readonly apply?:
    | { readonly is: "started" }
    | { readonly is: "succeeded"; readonly destroy: boolean }
    | { readonly is: "failed"; readonly message: string }
    | undefined;
  readonly output?: "available" | "written" | "none" | "absent" | undefined;
  readonly health?:
    | { readonly is: "succeeded" }
    | { readonly is: "failed"; readonly message: string }
    | { readonly is: "absent" }
    | undefined;
  readonly lock?:
    | { readonly is: "held"; readonly id: string }
    /** It is released in this very pass, or by the run that begins, as spec.tfstate orders. */
    | { readonly is: "released"; readonly id: string }
    | { readonly is: "free" }
    | undefined;
}

/** Whether the object has been looked at wholly, so that observedGeneration may follow. */
export function isAtRest(standing: Standing): boolean {
  return !["unchanged", "running", "retrying", "queued", "held-back", "suspended"].includes(
    standing.is,
  );
}
