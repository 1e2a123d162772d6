import { leaderElectionLost } from "./control-plane/leader-election-lost.ts";
import { controlPlaneUnsteady } from "./control-plane/unsteady.ts";
import type { Recognizer } from "./define.ts";
import { artifactFetchTransient } from "./flux/artifact-fetch-transient.ts";
import { artifactUnavailable } from "./flux/artifact-unavailable.ts";
import { deniedDropCorrect } from "./network/denied-drop-correct.ts";
import { deniedDropOfAllowedFlow } from "./network/denied-drop-of-allowed-flow.ts";
import { nodeLost } from "./node/lost.ts";
import { nodeRebooted } from "./node/rebooted.ts";
import { accessDenied } from "./tofu/access-denied.ts";
import { applyLong } from "./tofu/apply-long.ts";
import { awaitsApproval } from "./tofu/awaits-approval.ts";
import { leaderShuttingDown } from "./tofu/leader-shutting-down.ts";
import { providerAccessDenied } from "./tofu/provider-access-denied.ts";
import { reconcileParked } from "./tofu/reconcile-parked.ts";
import { reconcilingStale } from "./tofu/reconciling-stale.ts";
import { requeueLost } from "./tofu/requeue-lost.ts";
import { resourceIdsGone } from "./tofu/resource-ids-gone.ts";
import { retryLimitReached } from "./tofu/retry-limit-reached.ts";
import { runnerNeverReady } from "./tofu/runner-never-ready.ts";
import { runnerPodsFailedLeftBehind } from "./tofu/runner-pods-failed-left-behind.ts";
import { runnerRestarting } from "./tofu/runner-restarting.ts";
import { runnerTlsSecretOutOfStep } from "./tofu/runner-tls-secret-out-of-step.ts";
import { runnersOnOneNode } from "./tofu/runners-on-one-node.ts";
import { sourceMovedOnUnseen } from "./tofu/source-moved-on-unseen.ts";
import { stateLockHeld } from "./tofu/state-lock-held.ts";
import { stateLockOrphaned } from "./tofu/state-lock-orphaned.ts";
import { suspended } from "./tofu/suspended.ts";
import { waitsForDependency } from "./tofu/waits-for-dependency.ts";
import { workerPoolExhausted } from "./tofu/worker-pool-exhausted.ts";

/**
 * Every recognizer, in the order of the ids. A list one can read; a test holds it against the
 * folders. Start with tofu/reconcile-parked, the one that the doctor was made for.
 */
export const recognizers: readonly Recognizer[] = [
  leaderElectionLost,
  controlPlaneUnsteady,
  artifactFetchTransient,
  artifactUnavailable,
  deniedDropCorrect,
  deniedDropOfAllowedFlow,
  nodeLost,
  nodeRebooted,
  accessDenied,
  applyLong,
  awaitsApproval,
  leaderShuttingDown,
  providerAccessDenied,
  reconcileParked,
  reconcilingStale,
  requeueLost,
  resourceIdsGone,
  retryLimitReached,
  runnerNeverReady,
  runnerPodsFailedLeftBehind,
  runnerRestarting,
  runnerTlsSecretOutOfStep,
  runnersOnOneNode,
  sourceMovedOnUnseen,
  stateLockHeld,
  stateLockOrphaned,
  suspended,
  waitsForDependency,
  workerPoolExhausted,
];
