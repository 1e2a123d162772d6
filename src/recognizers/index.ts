import type { Recognizer } from "./define.ts";
import { nodeRebooted } from "./node/rebooted.ts";
import { applyLong } from "./tofu/apply-long.ts";
import { awaitsApproval } from "./tofu/awaits-approval.ts";
import { reconcileParked } from "./tofu/reconcile-parked.ts";
import { runnerPodsFailedLeftBehind } from "./tofu/runner-pods-failed-left-behind.ts";
import { suspended } from "./tofu/suspended.ts";
import { waitsForDependency } from "./tofu/waits-for-dependency.ts";

/**
 * Every recognizer, in the order of the id. A list one can read; a test holds it against the
 * folders. Start with tofu/reconcile-parked, the one that the doctor was made for.
 */
export const recognizers: readonly Recognizer[] = [
  nodeRebooted,
  applyLong,
  awaitsApproval,
  reconcileParked,
  runnerPodsFailedLeftBehind,
  suspended,
  waitsForDependency,
];
