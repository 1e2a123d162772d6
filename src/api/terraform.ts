import Type, { type Static, type TProperties } from "typebox";
import { Condition, Duration, ObjectMeta } from "./meta.ts";

/**
 * The Terraform kind (infra.contrib.fluxcd.io/v1alpha2): one schema for types, validation, defaults
 * and the CRD. Field names, enums and defaults are those of tofu-controller 0.16.5, so that its
 * objects go on unchanged; what Nigari adds stands in `status` and is marked "Nigari".
 */

const text = (description: string) => Type.String({ description });
const flag = (description: string) => Type.Boolean({ description });
const maybe = Type.Optional;
const strings = (description: string) => Type.Array(Type.String(), { description });
const stringMap = (description: string) =>
  Type.Record(Type.String(), Type.String(), { description });
/** Any JSON value; the CRD says x-kubernetes-preserve-unknown-fields for it. */
const anyJson = (description: string) =>
  Type.Unknown({ description, "x-kubernetes-preserve-unknown-fields": true });
/** A foreign Kubernetes structure that is handed on as it is (pod fields). */
const podField = (description: string) =>
  Type.Any({ description, "x-kubernetes-preserve-unknown-fields": true });
const oneOf = <const T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T>({ type: "string", enum: [...values], description });
const object = <P extends TProperties>(properties: P, description: string) =>
  Type.Object(properties, { description });
const name = (description: string) => Type.String({ minLength: 1, maxLength: 253, description });

const SecretKeyRef = object(
  { name: text("Name of the Secret."), key: text("Key."), optional: maybe(flag("May lack.")) },
  "A key of a Secret in the object's namespace.",
);
const ConfigMapKeyRef = object(
  { name: text("Name of the ConfigMap."), key: text("Key."), optional: maybe(flag("May lack.")) },
  "A key of a ConfigMap in the object's namespace.",
);
const ValueSource = object(
  {
    secretKeyRef: maybe(SecretKeyRef),
    configMapKeyRef: maybe(ConfigMapKeyRef),
    fieldRef: maybe(podField("A field of the runner pod.")),
    resourceFieldRef: maybe(podField("A resource of the runner pod's container.")),
  },
  "Where a value comes from.",
);

export const EnvVar = object(
  {
    name: text("Name of the variable."),
    value: maybe(text("Literal value.")),
    valueFrom: maybe(ValueSource),
  },
  "An environment variable of the runner, also given to OpenTofu.",
);
export type EnvVar = Static<typeof EnvVar>;

const wholeRef = (of: string) =>
  object(
    { name: maybe(text(`Name of the ${of}.`)), optional: maybe(flag("May lack.")) },
    `A ${of}.`,
  );
export const EnvFromSource = object(
  {
    prefix: maybe(text("Put before each key.")),
    secretRef: maybe(wholeRef("Secret")),
    configMapRef: maybe(wholeRef("ConfigMap")),
  },
  "All keys of a Secret or ConfigMap as environment variables.",
);
export type EnvFromSource = Static<typeof EnvFromSource>;

export const CrossNamespaceSourceReference = object(
  {
    apiVersion: maybe(text("API version of the source.")),
    kind: oneOf(["GitRepository", "Bucket", "OCIRepository"], "Kind of the source."),
    name: text("Name of the source."),
    namespace: maybe(text("Namespace of the source; the object's own by default.")),
  },
  "The source the code comes from.",
);

const BackendConfig = object(
  {
    disable: maybe(flag("No backend file, no plan file.")),
    secretSuffix: maybe(text("Suffix of the state Secret.")),
    inClusterConfig: maybe(flag("Use the pod's own credentials.")),
    customConfiguration: maybe(text("Body of the terraform block; beats the other fields.")),
    configPath: maybe(text("Path of a kubeconfig.")),
    labels: maybe(stringMap("Labels of the state Secret.")),
  },
  "Backend of the state.",
);

const keyedSource = <P extends TProperties>(keys: P) =>
  object(
    {
      kind: oneOf(["Secret", "ConfigMap"], "Kind of the referent."),
      name: name("Name of the referent."),
      ...keys,
      optional: maybe(flag("May lack.")),
    },
    "Values taken from a Secret or ConfigMap of the object's namespace.",
  );
const BackendConfigsReference = keyedSource({
  keys: maybe(strings("Keys to take; all if empty.")),
});
export const VarsReference = keyedSource({
  varsKeys: maybe(strings("Keys to take, as `key` or `key:newName`; all if empty.")),
});
export type VarsReference = Static<typeof VarsReference>;

export const Variable = object(
  {
    name: text("Name of the variable."),
    value: maybe(anyJson("Value, any JSON.")),
    valueFrom: maybe(ValueSource),
  },
  "An input variable.",
);
export type Variable = Static<typeof Variable>;

const Cloud = object(
  {
    organization: text("Organization."),
    workspaces: maybe(
      object({ name: maybe(text("Name.")), tags: maybe(strings("Tags.")) }, "Workspaces."),
    ),
    hostname: maybe(text("Host.")),
    token: maybe(text("Token.")),
  },
  "A cloud block; no backend of ours then.",
);

const FileMapping = object(
  {
    secretRef: object({ name: text("Secret."), key: maybe(text("Key.")) }, "Where it comes from."),
    location: oneOf(["home", "workspace"], "Base folder."),
    path: Type.String({
      // tofu-controller's ^(.?[/_a-zA-Z0-9]{1,})*$ means the same, but takes exponential time here.
      pattern: "^([^/_a-zA-Z0-9\\n]?[/_a-zA-Z0-9])*$",
      description: "Path below the base folder.",
    }),
  },
  "A file made from a Secret.",
);

const HealthCheck = object(
  {
    name: name("Name."),
    type: oneOf(["tcp", "http"], "Type."),
    url: maybe(text("URL of an http check.")),
    address: maybe(text("host:port of a tcp check.")),
    timeout: maybe(Duration("Time limit; 20s by default.")),
  },
  "A check made after an apply.",
);

const Webhook = object(
  {
    stage: maybe(oneOf(["post-planning"], "Stage; post-planning by default.")),
    enabled: maybe(flag("True by default.")),
    url: text("URL."),
    payloadType: maybe(text("SpecAndPlan (default), SpecOnly or PlanOnly.")),
    errorMessageTemplate: maybe(text("Message of a rejection.")),
    testExpression: text("Expression that must come out true."),
  },
  "A question put to a service after planning.",
);

const RunnerPodTemplate = object(
  {
    metadata: maybe(
      object(
        { labels: maybe(stringMap("Labels.")), annotations: maybe(stringMap("Annotations.")) },
        "Metadata of the runner pod.",
      ),
    ),
    spec: maybe(
      object(
        {
          image: maybe(text("Image of the runner.")),
          envFrom: maybe(
            Type.Array(EnvFromSource, { description: "Sources of environment variables." }),
          ),
          env: maybe(Type.Array(EnvVar, { description: "Environment variables." })),
          nodeSelector: maybe(stringMap("Node selector.")),
          affinity: maybe(podField("Affinity.")),
          tolerations: maybe(podField("Tolerations.")),
          volumeMounts: maybe(podField("Mounts.")),
          volumes: maybe(podField("Volumes.")),
          initContainers: maybe(podField("Init containers.")),
          hostAliases: maybe(podField("Host aliases.")),
          priorityClassName: maybe(text("Priority class.")),
          securityContext: maybe(podField("Security context of the container.")),
          resources: maybe(podField("Resources of the container.")),
        },
        "Spec of the runner pod.",
      ),
    ),
  },
  "Template of the runner pod.",
);

const TFState = object(
  {
    forceUnlock: maybe(oneOf(["yes", "no", "auto"], "Release a lock; no by default.")),
    lockIdentifier: maybe(text("The lock that `yes` may release.")),
    lockTimeout: maybe(Duration("How long a plan waits for the lock; 0s by default.")),
  },
  "Dealings with the state's lock.",
);

export const TerraformSpec = Type.Object({
  approvePlan: maybe(
    text("Empty: approve by hand. auto: apply every plan. disable: only look for drift. Or an id."),
  ),
  destroy: maybe(flag("Plans destroy everything.")),
  backendConfig: maybe(BackendConfig),
  backendConfigsFrom: maybe(Type.Array(BackendConfigsReference)),
  cloud: maybe(Cloud),
  workspace: maybe(text("Workspace; `default` by default.")),
  vars: maybe(Type.Array(Variable, { description: "Input variables." })),
  varsFrom: maybe(Type.Array(VarsReference, { description: "Input variables; later ones win." })),
  values: maybe(anyJson("Becomes the variable `values`.")),
  tfVarsFiles: maybe(strings("Variable files, relative to the artifact's root.")),
  fileMappings: maybe(Type.Array(FileMapping)),
  interval: Duration("How often to look again after a success."),
  retryInterval: maybe(Duration("How soon to try again after a failure; 15s by default.")),
  retryStrategy: maybe(
    oneOf(["StaticInterval", "ExponentialBackoff"], "StaticInterval by default."),
  ),
  maxRetryInterval: maybe(Duration("Cap of the exponential backoff; 24h by default.")),
  path: maybe(text("Folder of the root module in the artifact; its root by default.")),
  sourceRef: CrossNamespaceSourceReference,
  suspend: maybe(flag("Leave the object alone.")),
  force: maybe(flag("Reconcile, plan and apply always.")),
  readInputsFromSecrets: maybe(
    Type.Array(object({ name: text("Secret."), as: text("Name it is read by.") }, "An input.")),
  ),
  writeOutputsToSecret: maybe(
    object(
      {
        name: text("Name of the Secret."),
        labels: maybe(stringMap("Labels.")),
        annotations: maybe(stringMap("Annotations.")),
        outputs: maybe(strings("Outputs, as `name` or `name:key`; all if empty.")),
      },
      "Where outputs are written.",
    ),
  ),
  disableDriftDetection: maybe(flag("Do not look for drift.")),
  cliConfigSecretRef: maybe(
    object({ name: text("Secret."), namespace: maybe(text("Namespace.")) }, "CLI configuration."),
  ),
  healthChecks: maybe(Type.Array(HealthCheck)),
  destroyResourcesOnDeletion: maybe(flag("Destroy everything when the object is deleted.")),
  serviceAccountName: maybe(text("Service account of the runner pod; tf-runner by default.")),
  alwaysCleanupRunnerPod: maybe(flag("Remove the runner after every pass; true by default.")),
  runnerTerminationGracePeriodSeconds: maybe(Type.Integer({ description: "30 by default." })),
  upgradeOnInit: maybe(flag("init -upgrade; true by default.")),
  refreshBeforeApply: maybe(flag("Refresh before apply.")),
  runnerPodTemplate: maybe(RunnerPodTemplate),
  enableInventory: maybe(flag("Keep status.inventory.")),
  tfstate: maybe(TFState),
  targets: maybe(strings("-target of plan, apply and destroy.")),
  parallelism: maybe(Type.Integer({ description: "-parallelism of apply; 10 by default." })),
  storeReadablePlan: maybe(oneOf(["none", "json", "human"], "none by default.")),
  plan: maybe(object({ lock: maybe(flag("-lock of plan; true by default.")) }, "Plan options.")),
  webhooks: maybe(Type.Array(Webhook)),
  dependsOn: maybe(
    Type.Array(
      object({ name: text("Name."), namespace: maybe(text("Namespace.")) }, "A Terraform object."),
    ),
  ),
  enterprise: maybe(anyJson("Placeholder of upstream's; ignored.")),
  planOnly: maybe(flag("Plan, never apply.")),
  breakTheGlass: maybe(flag("Hold the pass for a person with a shell.")),
  branchPlanner: maybe(
    object({ enablePathScope: maybe(flag("Only pull requests that touch path.")) }, "Planner."),
  ),
  remediation: maybe(
    object(
      { retries: maybe(Type.Integer({ description: "Failures until it stalls." })) },
      "Limit.",
    ),
  ),
});
export type TerraformSpec = Static<typeof TerraformSpec>;

/** What a run does: make a plan (to apply or to destroy), or carry one out. */
export const operations = ["plan", "apply"] as const;
export type Operation = (typeof operations)[number];

/** The steps of a run in their order, and "launch" before the runner has answered. */
export const stages = [
  "launch",
  "artifact",
  "init",
  "workspace",
  "plan",
  "show",
  "apply",
  "outputs",
  "health",
  "collect",
] as const;
export type Stage = (typeof stages)[number];

export const verdicts = ["alive", "suspect", "unreachable", "dead"] as const;
/** What the engine believes of a run's runner. */
export type LivenessVerdict = (typeof verdicts)[number];

/** Why Nigari ends the processes of a run. */
export const endings = ["unreachable", "orphaned", "overrun", "deletion", "person"] as const;
export type Ending = (typeof endings)[number];

/** The run an object has under way: stored before anything is started (intent before effect). */
export const RunStatus = object(
  {
    id: text("Identity of this attempt; the runner refuses any other."),
    operation: oneOf(operations, "What it does."),
    destroy: maybe(flag("The plan made or carried out destroys.")),
    reason: text("Why it was started, as a CamelCase reason."),
    attempt: Type.Integer({ description: "1 for the first; counts runs lost, not failures." }),
    epoch: Type.Integer({ description: "Leadership epoch that ordered it." }),
    generation: Type.Integer({ description: "Generation of the spec it obeys." }),
    revision: text("Revision of the source it runs."),
    artifactDigest: text("Digest of the artifact."),
    inputsDigest: text("Digest over variables, environment and files handed to it."),
    planId: maybe(text("Plan it carries out, or will have made.")),
    unlock: maybe(text("Lock that it releases first, as spec.tfstate orders by its id.")),
    handles: maybe(text("Value of requestedAt that this run answers.")),
    stage: oneOf(stages, "Step it is in, as last heard."),
    intendedAt: text("When the intent was stored."),
    startedAt: maybe(text("When the runner took it.")),
    stageSince: text("When the step began."),
    stageDeadline: maybe(text("When the step is ended; absent: no limit.")),
    lastSignAt: maybe(text("Last sign of life, refreshed now and then.")),
    verdict: oneOf(verdicts, "What is believed of the runner."),
    interruptedAt: maybe(text("When it was asked to stop.")),
    ending: maybe(oneOf(endings, "Why its processes are ended.")),
    note: maybe(text("What happened last and what comes next, for people.")),
  },
  "Nigari: the run under way.",
);
export type RunStatus = Static<typeof RunStatus>;

/** How the last finished run ended. */
export const LastRunStatus = object(
  {
    id: text("Identity."),
    operation: oneOf(operations, "What it did."),
    outcome: oneOf(["succeeded", "failed", "lost", "cancelled"], "How it ended."),
    stage: oneOf(stages, "Last step."),
    revision: text("Revision."),
    attempt: Type.Integer({ description: "Attempt." }),
    startedAt: maybe(text("When it began.")),
    finishedAt: text("When it ended."),
    message: text("In words; no secret."),
    unrecorded: maybe(
      strings("Resources in flight when tofu was killed: they may exist unrecorded."),
    ),
  },
  "Nigari: the last run that ended.",
);
export type LastRunStatus = Static<typeof LastRunStatus>;

const PlanStatus = object(
  {
    pending: maybe(text("Id of the plan that waits for approval.")),
    lastApplied: maybe(text("Id of the plan applied last.")),
    isDestroyPlan: maybe(flag("The plan destroys.")),
    isDriftDetectionPlan: maybe(flag("The plan was made by drift detection.")),
    digest: maybe(
      text("Nigari: sha256 of the pending plan file; what is applied is this very file."),
    ),
    summary: maybe(text("Nigari: n to add, n to change, n to destroy.")),
    inputsDigest: maybe(text("Nigari: digest of the inputs that the pending plan was made with.")),
    revision: maybe(text("Nigari: revision that the pending plan was made from.")),
    generation: maybe(Type.Integer({ description: "Nigari: generation it was made for." })),
    shown: maybe(text("Nigari: id shown last, so that none is shown twice for two plans.")),
  },
  "Plan.",
);
export type PlanStatus = Static<typeof PlanStatus>;

/**
 * What a run was made from. `attempted` is that of the run started last; `settled` is what the
 * world was last brought in line with: applied, or found to need nothing. `lastGood` is the last
 * `settled` that made something, kept for a destroy whatever comes after.
 */
export const Basis = object(
  {
    revision: text("Revision of the source."),
    generation: Type.Integer({ description: "Generation of the spec." }),
    inputsDigest: text("Digest of the inputs."),
    inputs: maybe(stringMap("Digest of each Secret and ConfigMap that they came from.")),
    artifactDigest: maybe(text("Digest of the artifact, for a destroy after its source has gone.")),
    destroy: maybe(flag("To destroy everything.")),
  },
  "What a run was made from.",
);
export type Basis = Static<typeof Basis>;

const DriftStatus = object(
  {
    since: text("When it was found first."),
    at: text("When it was found last."),
    revision: text("Revision of the source that the world differs from."),
    changes: Type.Integer({ description: "How many changes would bring it back." }),
    summary: text("n to add, n to change, n to destroy."),
    count: Type.Integer({ description: "Looks in a row that have found it." }),
  },
  "Nigari: how the world differs from what was settled; a result, no failure.",
);
export type DriftStatus = Static<typeof DriftStatus>;

const ReplanStatus = object(
  {
    approvePlan: maybe(text("Value of spec.approvePlan that asked.")),
    annotation: maybe(text("Value of the annotation nigari.dev/replan that asked.")),
  },
  "Nigari: what last asked for a new plan and was answered.",
);

const HeldStatus = object(
  {
    runId: text("Run whose result cannot be known."),
    since: text("When that was found."),
    resources: strings("Resources that may exist although the state does not say so."),
  },
  "Nigari: nothing is applied until a person has looked.",
);

export const StateStatus = object(
  {
    present: flag("There is one. False: a person accepted that there is none."),
    lineage: maybe(text("Its lineage; absent while no run has read it.")),
    serial: Type.Integer({ description: "Its serial, or one that it is not below." }),
    resources: maybe(Type.Integer({ description: "Managed resources in it, where known." })),
    workspace: text("Workspace."),
    place: text("Which backend: another text means another place."),
    seenAt: text("When it was seen so first."),
  },
  "Nigari: the state as it was known last; one that does not fit it is not worked on.",
);
export type StateStatus = Static<typeof StateStatus>;

export const TerraformStatus = Type.Object({
  observedGeneration: maybe(Type.Integer({ description: "-1 until first looked at." })),
  lastHandledReconcileAt: maybe(text("Value of requestedAt that was handled last.")),
  conditions: maybe(Type.Array(Condition)),
  lastAppliedRevision: maybe(text("Revision applied last.")),
  lastAttemptedRevision: maybe(text("Revision attempted last.")),
  lastPlannedRevision: maybe(text("Revision planned last.")),
  lastPlannedGeneration: maybe(Type.Integer({ description: "Generation planned last." })),
  lastPlanAt: maybe(text("When it was planned last.")),
  lastDriftDetectedAt: maybe(text("When drift was found last.")),
  lastAppliedByDriftDetectionAt: maybe(text("When drift was repaired last.")),
  lastSuccessfulReconcileAt: maybe(text("When a pass last succeeded.")),
  availableOutputs: maybe(strings("Names of outputs, sorted.")),
  plan: maybe(PlanStatus),
  inventory: maybe(
    object(
      {
        entries: Type.Array(
          object({ n: text("Name."), t: text("Type."), id: text("Identifier.") }, "A resource."),
        ),
        more: maybe(Type.Integer({ description: "Nigari: resources left out for want of room." })),
      },
      "Inventory.",
    ),
  ),
  lock: maybe(
    object(
      { lastApplied: maybe(text("Lock released last.")), pending: maybe(text("Lock in the way.")) },
      "Lock.",
    ),
  ),
  reconciliationFailures: maybe(Type.Integer({ description: "Failed passes in a row." })),
  run: maybe(RunStatus),
  lastRun: maybe(LastRunStatus),
  nextDueAt: maybe(text("Nigari: when the object is looked at again by itself.")),
  lostRuns: maybe(Type.Integer({ description: "Nigari: runs lost in a row." })),
  attempted: maybe(Basis),
  settled: maybe(Basis),
  held: maybe(HeldStatus),
  drift: maybe(DriftStatus),
  replanned: maybe(ReplanStatus),
  lastGood: maybe(Basis),
  state: maybe(StateStatus),
  stateInQuestion: maybe(
    text("Nigari: the state found instead; what nigari.dev/accept-state must say to accept it."),
  ),
});
export type TerraformStatus = Static<typeof TerraformStatus>;

export const Terraform = Type.Object({
  apiVersion: Type.Literal("infra.contrib.fluxcd.io/v1alpha2"),
  kind: Type.Literal("Terraform"),
  metadata: ObjectMeta,
  spec: TerraformSpec,
  status: maybe(TerraformStatus),
});
export type Terraform = Static<typeof Terraform>;
