import { parseDuration } from "../api/duration.ts";
import {
  at,
  type ConditionView,
  conditionOf,
  keyOf,
  list,
  number,
  refOf,
  text,
  time,
} from "./fields.ts";
import type { EvidenceObject, Place } from "./model.ts";

/** Which call to the runner a pass stands in; unknown if set-up and drift plan look alike. */
export type Stage = "setup" | "drift-plan" | "plan" | "apply" | "destroy" | "outputs" | "unknown";

/** A Terraform object as a doctor reads it. */
export interface TerraformView {
  /** `namespace/name`. */
  readonly key: string;
  /** `Terraform/namespace/name`. */
  readonly ref: string;
  readonly namespace: string;
  readonly name: string;
  readonly ready: ConditionView | undefined;
  readonly reconciling: ConditionView | undefined;
  readonly stalled: ConditionView | undefined;
  readonly stateLocked: ConditionView | undefined;
  readonly applied: ConditionView | undefined;
  readonly suspended: boolean;
  readonly deleting: boolean;
  readonly approvePlan: string;
  readonly planOnly: boolean;
  readonly force: boolean;
  readonly pendingPlan: string | undefined;
  readonly intervalMs: number | undefined;
  readonly retryIntervalMs: number | undefined;
  readonly generation: number | undefined;
  readonly observedGeneration: number | undefined;
  readonly attemptedRevision: string | undefined;
  readonly appliedRevision: string | undefined;
  readonly plannedRevision: string | undefined;
  readonly requestedAt: string | undefined;
  readonly handledAt: string | undefined;
  readonly lastSuccessMs: number | undefined;
  readonly lastPlanMs: number | undefined;
  readonly failures: number;
  readonly workspace: string;
  readonly secretSuffix: string;
  /** Its state lies elsewhere than in a Secret, so its lock is no Lease. */
  readonly ownBackend: boolean;
  readonly lockPending: string | undefined;
  readonly createdMs: number | undefined;
  /** `namespace/name` of what it depends on. */
  readonly dependsOn: readonly string[];
  readonly source: { readonly kind: string; readonly key: string } | undefined;
  /**
   * Where the status says that a pass is among the runner's calls, and since when; undefined if
   * it says that none is.
   */
  readonly inCall: { readonly stage: Stage; readonly sinceMs: number } | undefined;
  readonly place: Place;
}

export function terraformView(object: EvidenceObject): TerraformView {
  const { namespace = "", name } = object.metadata;
  const ready = conditionOf(object, "Ready");
  const annotations = object.metadata.annotations ?? {};
  const deleting = object.metadata.deletionTimestamp !== undefined;
  return {
    key: keyOf(object),
    ref: refOf(object),
    namespace,
    name,
    ready,
    reconciling: conditionOf(object, "Reconciling"),
    stalled: conditionOf(object, "Stalled"),
    stateLocked: conditionOf(object, "StateLocked"),
    applied: conditionOf(object, "Apply"),
    suspended: at(object.spec, "suspend") === true,
    deleting,
    ...intent(object),
    ...progress(object),
    requestedAt: annotations["reconcile.fluxcd.io/requestedAt"],
    generation: object.metadata.generation,
    createdMs: time(object.metadata.creationTimestamp),
    dependsOn: list(at(object.spec, "dependsOn")).flatMap((each) => {
      const other = text(each.name);
      return other === undefined ? [] : [`${text(each.namespace) ?? namespace}/${other}`];
    }),
    source: sourceOf(object, namespace),
    inCall: inCall(ready, deleting || at(object.spec, "destroy") === true),
    place: object.place,
  };
}

function intent(object: EvidenceObject) {
  const { spec } = object;
  return {
    approvePlan: text(at(spec, "approvePlan")) ?? "",
    planOnly: at(spec, "planOnly") === true,
    force: at(spec, "force") === true,
    intervalMs: duration(at(spec, "interval")),
    retryIntervalMs: duration(at(spec, "retryInterval")),
    workspace: text(at(spec, "workspace")) ?? "default",
    secretSuffix: text(at(spec, "backendConfig", "secretSuffix")) ?? object.metadata.name,
    ownBackend:
      (text(at(spec, "backendConfig", "customConfiguration")) ?? "") !== "" ||
      at(spec, "backendConfig", "disable") === true ||
      at(spec, "cloud") !== undefined,
  };
}

function progress({ status }: EvidenceObject) {
  return {
    pendingPlan: text(at(status, "plan", "pending")),
    observedGeneration: number(at(status, "observedGeneration")),
    attemptedRevision: text(at(status, "lastAttemptedRevision")),
    appliedRevision: text(at(status, "lastAppliedRevision")),
    plannedRevision: text(at(status, "lastPlannedRevision")),
    handledAt: text(at(status, "lastHandledReconcileAt")),
    lastSuccessMs: time(at(status, "lastSuccessfulReconcileAt")),
    lastPlanMs: time(at(status, "lastPlanAt")),
    failures: number(at(status, "reconciliationFailures")) ?? 0,
    lockPending: text(at(status, "lock", "pending")),
  };
}

const duration = (value: unknown) => {
  const found = text(value);
  return found === undefined ? undefined : parseDuration(found);
};

function sourceOf(object: EvidenceObject, namespace: string): TerraformView["source"] {
  const name = text(at(object.spec, "sourceRef", "name"));
  const kind = text(at(object.spec, "sourceRef", "kind"));
  if (name === undefined || kind === undefined) return undefined;
  return { kind, key: `${text(at(object.spec, "sourceRef", "namespace")) ?? namespace}/${name}` };
}

/** What the controller writes into Ready before it calls the runner, by its message. */
const stages: readonly { readonly message: RegExp; readonly stage: Stage }[] = [
  { message: /^Initializing$/, stage: "unknown" },
  { message: /^Terraform Planning$/, stage: "plan" },
  { message: /^Applying$/, stage: "apply" },
  { message: /^(Destroy applied|Applied) successfully/, stage: "outputs" },
  { message: /^Plan generated$/, stage: "plan" },
];

function inCall(ready: ConditionView | undefined, destroys: boolean): TerraformView["inCall"] {
  if (ready?.status !== "Unknown" || ready.sinceMs === undefined) return undefined;
  const stage = stages.find((row) => row.message.test(ready.message))?.stage;
  if (stage === undefined) return undefined;
  return { stage: stage === "apply" && destroys ? "destroy" : stage, sinceMs: ready.sinceMs };
}
