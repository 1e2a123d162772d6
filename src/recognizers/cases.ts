import type { RecognizerCases } from "./case.ts";
import { leaderElectionLostCases } from "./control-plane/leader-election-lost.cases.ts";
import { controlPlaneUnsteadyCases } from "./control-plane/unsteady.cases.ts";
import { artifactFetchTransientCases } from "./flux/artifact-fetch-transient.cases.ts";
import { artifactUnavailableCases } from "./flux/artifact-unavailable.cases.ts";
import { deniedDropCorrectCases } from "./network/denied-drop-correct.cases.ts";
import { deniedDropOfAllowedFlowCases } from "./network/denied-drop-of-allowed-flow.cases.ts";
import { nodeLostCases } from "./node/lost.cases.ts";
import { nodeRebootedCases } from "./node/rebooted.cases.ts";
import { accessDeniedCases } from "./tofu/access-denied.cases.ts";
import { applyLongCases } from "./tofu/apply-long.cases.ts";
import { awaitsApprovalCases } from "./tofu/awaits-approval.cases.ts";
import { leaderShuttingDownCases } from "./tofu/leader-shutting-down.cases.ts";
import { providerAccessDeniedCases } from "./tofu/provider-access-denied.cases.ts";
import { reconcileParkedCases } from "./tofu/reconcile-parked.cases.ts";
import { reconcilingStaleCases } from "./tofu/reconciling-stale.cases.ts";
import { requeueLostCases } from "./tofu/requeue-lost.cases.ts";
import { resourceIdsGoneCases } from "./tofu/resource-ids-gone.cases.ts";
import { retryLimitReachedCases } from "./tofu/retry-limit-reached.cases.ts";
import { runnerNeverReadyCases } from "./tofu/runner-never-ready.cases.ts";
import { runnerPodsFailedLeftBehindCases } from "./tofu/runner-pods-failed-left-behind.cases.ts";
import { runnerRestartingCases } from "./tofu/runner-restarting.cases.ts";
import { runnerTlsSecretOutOfStepCases } from "./tofu/runner-tls-secret-out-of-step.cases.ts";
import { runnersOnOneNodeCases } from "./tofu/runners-on-one-node.cases.ts";
import { sourceMovedOnUnseenCases } from "./tofu/source-moved-on-unseen.cases.ts";
import { stateLockHeldCases } from "./tofu/state-lock-held.cases.ts";
import { stateLockOrphanedCases } from "./tofu/state-lock-orphaned.cases.ts";
import { suspendedCases } from "./tofu/suspended.cases.ts";
import { waitsForDependencyCases } from "./tofu/waits-for-dependency.cases.ts";
import { workerPoolExhaustedCases } from "./tofu/worker-pool-exhausted.cases.ts";

/** The cases of every recognizer by its id: tests run them, and the runbook shows the first one. */
export const allCases: Readonly<Record<string, RecognizerCases>> = {
  "control-plane/leader-election-lost": leaderElectionLostCases,
  "control-plane/unsteady": controlPlaneUnsteadyCases,
  "flux/artifact-fetch-transient": artifactFetchTransientCases,
  "flux/artifact-unavailable": artifactUnavailableCases,
  "network/denied-drop-correct": deniedDropCorrectCases,
  "network/denied-drop-of-allowed-flow": deniedDropOfAllowedFlowCases,
  "node/lost": nodeLostCases,
  "node/rebooted": nodeRebootedCases,
  "tofu/access-denied": accessDeniedCases,
  "tofu/apply-long": applyLongCases,
  "tofu/awaits-approval": awaitsApprovalCases,
  "tofu/leader-shutting-down": leaderShuttingDownCases,
  "tofu/provider-access-denied": providerAccessDeniedCases,
  "tofu/reconcile-parked": reconcileParkedCases,
  "tofu/reconciling-stale": reconcilingStaleCases,
  "tofu/requeue-lost": requeueLostCases,
  "tofu/resource-ids-gone": resourceIdsGoneCases,
  "tofu/retry-limit-reached": retryLimitReachedCases,
  "tofu/runner-never-ready": runnerNeverReadyCases,
  "tofu/runner-pods-failed-left-behind": runnerPodsFailedLeftBehindCases,
  "tofu/runner-restarting": runnerRestartingCases,
  "tofu/runner-tls-secret-out-of-step": runnerTlsSecretOutOfStepCases,
  "tofu/runners-on-one-node": runnersOnOneNodeCases,
  "tofu/source-moved-on-unseen": sourceMovedOnUnseenCases,
  "tofu/state-lock-held": stateLockHeldCases,
  "tofu/state-lock-orphaned": stateLockOrphanedCases,
  "tofu/suspended": suspendedCases,
  "tofu/waits-for-dependency": waitsForDependencyCases,
  "tofu/worker-pool-exhausted": workerPoolExhaustedCases,
};
