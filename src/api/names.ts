/** Names that installed clusters, dashboards and scripts already know. None may change. */

export const FINALIZER = "finalizers.tf.contrib.fluxcd.io";
export const DEPENDENCY_FINALIZER_PREFIX = "tf.dependency.of.";
export const REQUESTED_AT = "reconcile.fluxcd.io/requestedAt";
/** Value: the id of a plan that a person lets go on although a result before it is unknown. */
export const ACCEPT = "nigari.dev/accept";
/** Value, any: a person asks for a new plan in the place of the pending one. */
export const REPLAN = "nigari.dev/replan";
/** Value: `status.stateInQuestion`, that is the state which a person takes for the right one. */
export const ACCEPT_STATE = "nigari.dev/accept-state";
/** Value: "orphan": when the object is deleted its resources are left, whatever the spec says. */
export const DELETION_POLICY = "nigari.dev/deletion-policy";
/** Value: the id of a silent run that a person orders to be ended, even during an apply. */
export const END_RUN = "nigari.dev/end-run";
/** Annotation: what a manifest said when it was last applied, as JSON. */
export const LAST_APPLIED = "nigari.dev/last-applied";
/** Annotation: the file that the object's manifest stands in, seen from its source's root. */
export const MANIFEST = "nigari.dev/manifest";
/** Label: whose manifests the object comes from. */
export const APPLIED_BY = "nigari.dev/applied-by";

/** Condition types. */
export const CONDITION = {
  ready: "Ready",
  reconciling: "Reconciling",
  stalled: "Stalled",
  plan: "Plan",
  apply: "Apply",
  output: "Output",
  healthCheck: "HealthCheck",
  stateLocked: "StateLocked",
  /** Of sources, as source-controller has them: there is an artifact; the last fetch failed. */
  artifactInStorage: "ArtifactInStorage",
  fetchFailed: "FetchFailed",
} as const;

/** Reasons of conditions and events: upstream's first, then what Nigari adds, each explained. */
export const REASON = {
  accessDenied: "AccessDenied",
  artifactFailed: "ArtifactFailed",
  retryLimitReached: "RetryLimitReached",
  progressing: "Progressing",
  plannedWithChanges: "TerraformPlannedWithChanges",
  plannedNoChanges: "TerraformPlannedNoChanges",
  appliedSucceed: "TerraformAppliedSucceed",
  appliedFail: "TerraformAppliedFail",
  outputsWritten: "TerraformOutputsWritten",
  outputsAvailable: "TerraformOutputsAvailable",
  noDrift: "NoDrift",
  driftDetected: "DriftDetected",
  driftDetectionFailed: "DriftDetectionFailed",
  dependencyNotReady: "DependencyNotReady",
  deletionBlocked: "DeletionBlockedByDependantsReason",
  execNewFailed: "TFExecNewFailed",
  execInitFailed: "TFExecInitFailed",
  varsGenerationFailed: "VarsGenerationFailed",
  templateGenerationFailed: "TemplateGenerationFailed",
  selectWorkspaceFailed: "SelectWorkspaceFailed",
  execPlanFailed: "TFExecPlanFailed",
  execApplyFailed: "TFExecApplyFailed",
  execDestroyFailed: "TFExecDestroyFailed",
  execOutputFailed: "TFExecOutputFailed",
  outputsWritingFailed: "OutputsWritingFailed",
  healthChecksSucceed: "HealthChecksSucceed",
  healthChecksFailed: "HealthChecksFailed",
  lockHeld: "LockHeld",
  forceUnlock: "ForceUnlock",
  reconciliationFailed: "ReconciliationFailed",
  planSucceed: "TerraformPlanSucceed",
  destroySucceed: "TerraformDestroySucceed",
  /** Of sources, as source-controller has them. */
  succeeded: "Succeeded",
  gitOperationFailed: "GitOperationFailed",
  authenticationFailed: "AuthenticationFailed",
  /** The spec really uses a field that this version does not obey; nothing is touched. */
  fieldNotObeyed: "FieldNotObeyed",
  /** The spec is wrong in itself; the message names field and mend. */
  invalidSpec: "InvalidSpec",
  /** The runner died or fell silent; the message says what happens next. */
  runnerLost: "RunnerLost",
  /** The runner does not answer, and its death is not proven. */
  runnerUnreachable: "RunnerUnreachable",
  /** A lost run was ended or found, and a new attempt begins. */
  runRecovered: "RunRecovered",
  /** State was rescued that is not the current one; a person accepts or drops it. */
  stateRescued: "StateRescued",
  /** The state is not the one that was known: it vanished, lost its content, or is another. */
  stateChanged: "StateChanged",
  /** An apply was lost and its result cannot be known; a person must look. */
  runResultUnknown: "RunResultUnknown",
  /** A plan was made, and something about it is seldom meant. */
  planWarning: "PlanWarning",
  /** The plan shown went stale and was replaced. */
  planStale: "PlanStale",
  /** A Secret or ConfigMap that a run is made from changed. */
  inputsChanged: "InputsChanged",
  /** The object is gone and its resources are not, as its spec or policy says. */
  resourcesLeft: "ResourcesLeft",
  /** A destroy works with what the last apply was given, for it cannot be had any more. */
  lastGoodUsed: "LastGoodUsed",
  /** What a later destroy would need could not be kept. */
  inputsNotKept: "InputsNotKept",
  /** Another controller leads these objects; nothing is started while it does. */
  otherController: "OtherControllerLeads",
  /** The object is suspended. */
  suspended: "Suspended",
  /** The spec asks for nothing: it only looks for drift, and not to look for drift. */
  nothingToDo: "NothingToDo",
} as const;
export type Reason = (typeof REASON)[keyof typeof REASON];
