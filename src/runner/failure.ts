import { REASON, type Reason } from "../api/names.ts";
import type { Stage } from "../api/terraform.ts";
import type { RunOutcome } from "../protocol/messages.ts";

type Failed = Extract<RunOutcome, { kind: "failed" }>;

const reasons: Partial<Record<Stage, Reason>> = {
  artifact: REASON.artifactFailed,
  init: REASON.execInitFailed,
  workspace: REASON.selectWorkspaceFailed,
  plan: REASON.execPlanFailed,
  show: REASON.execPlanFailed,
  apply: REASON.execApplyFailed,
  outputs: REASON.execOutputFailed,
  health: REASON.healthChecksFailed,
};

/** A stage that did not succeed, on its way to becoming the run's outcome. */
export class StageFailure extends Error {
  override readonly name = "StageFailure";
  readonly outcome: Failed;

  constructor(stage: Stage, message: string, more: Partial<Failed> = {}) {
    super(message);
    this.outcome = {
      kind: "failed",
      stage,
      reason: reasons[stage] ?? REASON.reconciliationFailed,
      message,
      exitCode: undefined,
      lock: undefined,
      planStale: false,
      stateRescued: false,
      unrecorded: [],
      ...more,
    };
  }
}

/** The run was asked to stop, and did. */
export class StageStopped extends Error {
  override readonly name = "StageStopped";
  readonly stage: Stage;

  constructor(stage: Stage, message: string) {
    super(message);
    this.stage = stage;
  }
}

/** We have to go while OpenTofu may still be writing: no outcome is known yet. */
export class StageAbandoned extends Error {
  override readonly name = "StageAbandoned";
}
