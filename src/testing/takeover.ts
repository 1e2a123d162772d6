import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import type { Secret } from "../api/core.ts";
import { keyOf } from "../api/kinds.ts";
import { FINALIZER } from "../api/names.ts";
import type { Terraform, TerraformSpec, TerraformStatus } from "../api/terraform.ts";
import { isStoreError, type ObjectStore } from "../ports/object-store.ts";
import type { StateId } from "../ports/state.ts";
import { TofuInSecrets } from "./fakes/tofu-in-secrets.ts";

/**
 * What tofu-controller 0.16.5 leaves in a cluster: objects, plans, outputs, states and locks as it
 * and OpenTofu write them. Nothing here is Nigari's.
 */

const call = { signal: new AbortController().signal };
const GROUP = "infra.contrib.fluxcd.io";
/** Upstream cuts plans into pieces of this size, in bytes. */
const PIECE_BYTES = 1_048_576;
/** A controller that is at work writes now and then, and not for long. */
const STATUS_ATTEMPTS = 10;

export interface Left {
  readonly name: string;
  readonly namespace?: string;
  readonly spec?: Partial<TerraformSpec>;
  readonly status?: TerraformStatus;
  /** Besides its own. */
  readonly finalizers?: readonly string[];
}

/** Hands that put things as tofu-controller did. */
export class FormerController {
  readonly store: ObjectStore;
  readonly tofu: TofuInSecrets;

  constructor(store: ObjectStore) {
    this.store = store;
    this.tofu = new TofuInSecrets(store);
  }

  /** An object, its own finalizer on it. */
  async object({
    name,
    namespace = "default",
    spec,
    status,
    finalizers,
  }: Left): Promise<Terraform> {
    const sourceRef = { kind: "GitRepository", name: "code" } as const;
    const made = await this.store.create<Terraform>(
      {
        ...{ apiVersion: `${GROUP}/v1alpha2`, kind: "Terraform" },
        metadata: { name, namespace, finalizers: [FINALIZER, ...(finalizers ?? [])] },
        spec: { interval: "10m", sourceRef, ...spec },
      },
      call,
    );
    if (status === undefined) return made;
    return await this.status(made, status);
  }

  /** The whole status, whoever else writes the object meanwhile. */
  async status(
    { metadata: { name, namespace = "default" } }: Terraform,
    status: NonNullable<Terraform["status"]>,
  ): Promise<Terraform> {
    const ref = { kind: "Terraform", namespace, name } as const;
    for (let attempt = 1; ; attempt += 1) {
      const object = await this.store.get(ref, call);
      if (object === undefined) throw new Error(`Terraform ${namespace}/${name} is gone`);
      try {
        return await this.store.update({ ...object, status }, "status", call);
      } catch (error) {
        if (attempt === STATUS_ATTEMPTS || !isStoreError(error, "Conflict")) throw error;
      }
    }
  }

  /** The plan that waits, as `SaveTFPlan` keeps it. */
  async plan(terraform: Terraform, planId: string, file: Uint8Array): Promise<void> {
    const { namespace, name } = keyOf(terraform);
    const workspace = terraform.spec.workspace ?? "default";
    const zipped = gzipSync(file);
    const pieces = Math.max(1, Math.ceil(zipped.length / PIECE_BYTES));
    for (let index = 0; index < pieces; index += 1) {
      const piece = zipped.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES);
      const alone = pieces === 1;
      await this.store.create<Secret>(
        {
          ...{ apiVersion: "v1", kind: "Secret", type: "Opaque" },
          metadata: {
            namespace,
            name: `tfplan-${workspace}-${name}${alone ? "" : `-${index}`}`,
            labels: {
              [`${GROUP}/plan-name`]: name,
              [`${GROUP}/plan-workspace`]: workspace,
            },
            annotations: {
              ...{ encoding: "gzip", savedPlan: planId },
              [`${GROUP}/plan-full-name`]: name,
              [`${GROUP}/plan-full-workspace`]: workspace,
              [`${GROUP}/plan-hash`]: sha256(alone ? file : piece),
              ...(alone ? {} : { [`${GROUP}/plan-chunk`]: String(index) }),
            },
            ownerReferences: [ownerOf(terraform)],
          },
          data: { tfplan: piece.toString("base64") },
        },
        call,
      );
    }
  }

  /** The outputs, as it writes them. */
  async outputs(terraform: Terraform, values: Readonly<Record<string, string>>): Promise<void> {
    const { namespace, name } = keyOf(terraform);
    const data = Object.entries(values).map(([key, value]) => {
      return [key, Buffer.from(value).toString("base64")];
    });
    const secret = terraform.spec.writeOutputsToSecret?.name ?? `${name}-outputs`;
    const ownerReferences = [{ ...ownerOf(terraform), controller: true }];
    await this.store.create<Secret>(
      {
        ...{ apiVersion: "v1", kind: "Secret", type: "Opaque" },
        metadata: { namespace, name: secret, ownerReferences },
        data: Object.fromEntries(data),
      },
      call,
    );
  }

  /**
   * The plan file that an approval would carry out, as `LoadTFPlan` finds it: by both labels, each
   * piece saved for the pending plan. Undefined: it would fail, and plan anew.
   */
  async loadPlan(terraform: Terraform): Promise<Uint8Array | undefined> {
    const { namespace, name } = keyOf(terraform);
    const labels = {
      [`${GROUP}/plan-name`]: name,
      [`${GROUP}/plan-workspace`]: terraform.spec.workspace ?? "default",
    };
    const { items } = await this.store.list("Secret", { namespace, labels }, call);
    const pending = terraform.status?.plan?.pending;
    if (items.length === 0) return undefined;
    if (items.some(({ metadata }) => metadata.annotations?.savedPlan !== pending)) return undefined;
    const pieces = [...items].sort((a, b) => chunkOf(a) - chunkOf(b));
    const zipped = pieces.map(({ data }) => Buffer.from(data?.tfplan ?? "", "base64"));
    return gunzipSync(Buffer.concat(zipped));
  }
}

function chunkOf({ metadata }: Secret): number {
  return Number(metadata.annotations?.[`${GROUP}/plan-chunk`] ?? "0");
}

function ownerOf({ metadata: { name, uid = "" } }: Terraform) {
  return { apiVersion: `${GROUP}/v1alpha2`, kind: "Terraform", name, uid };
}

function sha256(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

export interface At {
  /** Of the source, as `<ref>@sha1:<hash>`. */
  readonly revision: string;
  /** RFC 3339, whole seconds: of the last pass. */
  readonly time: string;
}

type Condition = NonNullable<TerraformStatus["conditions"]>[number];

function condition(at: At, type: string, text: string): Condition {
  const [status = "", reason = "", ...words] = text.split(" ");
  return {
    ...{ type, status: status as Condition["status"], reason, message: words.join(" ") },
    ...{ lastTransitionTime: at.time, observedGeneration: 1 },
  };
}

export function planIdAt({ revision }: At): string {
  const [ref = "", digest = ""] = revision.split("@");
  return `plan-${ref}-${digest.slice(digest.indexOf(":") + 1).slice(0, 10)}`;
}

function seen(at: At): TerraformStatus {
  const { revision, time } = at;
  return {
    ...{ observedGeneration: 1, lastAttemptedRevision: revision, lastPlannedRevision: revision },
    ...{ lastPlannedGeneration: 1, lastPlanAt: time, lastSuccessfulReconcileAt: time },
  };
}

/** Statuses as tofu-controller leaves them. */
export const formerStatus = {
  /** Applied, and the look at drift since found none. */
  applied: (at: At): TerraformStatus => ({
    ...seen(at),
    lastAppliedRevision: at.revision,
    plan: { lastApplied: planIdAt(at) },
    conditions: [
      condition(at, "Ready", `True NoDrift No drift: ${at.revision}`),
      condition(at, "Apply", "True TerraformAppliedSucceed Applied successfully"),
    ],
  }),
  /** A plan waits for a person. */
  pending: (at: At): TerraformStatus => {
    const prompt = `Plan generated: set approvePlan: "${planIdAt(at)}" to approve this plan.`;
    return {
      ...seen(at),
      plan: { pending: planIdAt(at) },
      conditions: [
        condition(at, "Reconciling", "True Progressing Fulfilling prerequisites"),
        condition(at, "Ready", `Unknown TerraformPlannedWithChanges ${prompt}`),
        condition(at, "Plan", "True TerraformPlannedWithChanges Plan generated"),
      ],
    };
  },
  /** The controller was stopped while it planned. */
  planning: (at: At): TerraformStatus => ({
    ...formerStatus.applied(at),
    conditions: [
      condition(at, "Reconciling", "True Progressing Fulfilling prerequisites"),
      condition(at, "Ready", "Unknown Progressing Terraform Planning"),
      condition(at, "Apply", "True TerraformAppliedSucceed Applied successfully"),
    ],
  }),
  /** The same while it applied. */
  applying: (at: At): TerraformStatus => ({
    ...formerStatus.pending(at),
    conditions: [
      condition(at, "Reconciling", "True Progressing Fulfilling prerequisites"),
      condition(at, "Ready", "Unknown Progressing Applying"),
      condition(at, "Apply", "Unknown Progressing Apply started"),
    ],
  }),
  /** Drift was found, and nobody has decided about it. */
  drifted: (at: At): TerraformStatus => ({
    ...formerStatus.applied(at),
    ...{ lastDriftDetectedAt: at.time, reconciliationFailures: 1 },
    conditions: [
      condition(at, "Ready", "False DriftDetected ~ resource"),
      condition(at, "Apply", "True TerraformAppliedSucceed Applied successfully"),
    ],
  }),
  /** It was to go, and waits for who depends on it. */
  blocked: (at: At, dependant: string): TerraformStatus => {
    const words = `Deletion in progress, but blocked. Please delete ${dependant} to resume ...`;
    return {
      ...formerStatus.applied(at),
      lastAttemptedRevision: "",
      conditions: [
        condition(at, "Reconciling", "True Progressing Fulfilling prerequisites"),
        condition(at, "Ready", `False DeletionBlockedByDependantsReason ${words}`),
      ],
    };
  },
};

/** A state of serial 5 with these resources, none by default. */
export function stateOf(resources: readonly string[] = [], lineage = "L"): string {
  const managed = resources.map((name) => {
    const provider = 'provider["terraform.io/builtin/terraform"]';
    return { mode: "managed", type: "terraform_data", name, provider, instances: [] };
  });
  return JSON.stringify({
    ...{ version: 4, terraform_version: "1.12.1", serial: 5, lineage },
    ...{ outputs: {}, resources: managed, check_results: null },
  });
}

export const stateAt = (name: string, more: Partial<StateId> = {}): StateId => ({
  ...{ namespace: "default", name, workspace: "default" },
  ...more,
});
