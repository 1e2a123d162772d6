import { Scene } from "../evidence/scene.ts";
import type { FactTable } from "./define.ts";

/** What a recognizer is tested on; the first recognized case is the runbook's worked example. */
export interface RecognizerCases {
  readonly recognized: readonly RecognizerCase[];
  readonly ruledOut: readonly RecognizerCase[];
  readonly inconclusive: readonly RecognizerCase[];
}

export interface RecognizerCase {
  /** A sentence that says why the verdict is what it is. */
  readonly why: string;
  readonly scene: Scene;
  /** Objects that the findings name, all of them; of an inconclusive case those left undecided. */
  readonly objects?: readonly string[];
  /** Facts of the first finding, as far as they matter. */
  readonly facts?: FactTable;
  /** Other ids that are true in this scene. */
  readonly also?: readonly string[];
}

/** The day of every scene. */
export const DAY = "2026-03-02";

/** Two nodes, a controller that has led since the morning, a source: nothing is wrong. */
export function calm(clock: string): Scene {
  return new Scene(`${DAY}T${clock}Z`)
    .nodes("alpha", "beta")
    .controller({ node: "alpha" })
    .source("apps/code");
}

/** Ready=Unknown in a call since a time. */
export const initializing = (since: string) => ({
  ready: ["Unknown", "Initializing", since] as const,
});
export const applying = (since: string) => ({ ready: ["Unknown", "Applying", since] as const });
export const planning = (since: string) => ({
  ready: ["Unknown", "Terraform Planning", since] as const,
});
export const failed = (reason: string, message: string, since: string) => ({
  ready: ["False", message, since, reason] as const,
});
