import { specDefaults } from "../api/defaults.ts";
import type { AnyObject } from "../api/kinds.ts";
import { keyText, type ObjectKey } from "../api/kinds.ts";
import { type RunStatus, type Stage, stages, type Terraform } from "../api/terraform.ts";
import { positiveMs } from "../domain/backoff.ts";
import { isAsIntended, isPlanShown } from "../domain/guards.ts";
import { healthCheckMaxMs, stageLimitMs } from "../domain/limits.ts";
import type { RunReason } from "../domain/run-notes.ts";
import type { ArtifactStore, OpenArtifact } from "../ports/artifacts.ts";
import type { Call } from "../ports/call.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import type { InputFile, PodWishes, StartOrder } from "../ports/runner.ts";
import type { StateAccess, StateDoor, StateId } from "../ports/state.ts";
import { backendOf, stateSecretOf } from "./backend.ts";
import { sha256Hex } from "./canonical.ts";
import { type InputPorts, type Inputs, resolveInputs } from "./inputs.ts";
import { loadKeptInputs } from "./kept-inputs.ts";
import { loadPlan } from "./plans.ts";

/** Everything a runner is given for one run. Holds secrets; kept only until the run has started. */
export interface PreparedRun {
  /** Environment of the runner, besides what main hands to every runner. */
  readonly env: Readonly<Record<string, string>>;
  /** What the object says of the pod that its runner may be. */
  readonly pod?: PodWishes;
  readonly order: StartOrder;
  /** Opens what is sent to the runner; it can be read as long as the call goes on. */
  files(call: Call): Promise<InputFile[]>;
}

export interface OrderPorts extends InputPorts {
  readonly artifacts: ArtifactStore;
  readonly door: StateDoor | undefined;
}

/**
 * What the intent was made from is no longer so, and nothing has been started: the intent is given
 * up, and the next pass makes a new one.
 */
export class StaleIntent extends Error {
  override readonly name = "StaleIntent";
}

/** Bytes kept of each of tofu's output files. */
const OUTPUT_LIMIT_BYTES = 16 * 1_048_576;

/**
 * Makes the order of a stored intent from the object as it is now. Fails with StaleIntent if that
 * would be another run than the one intended, else with the errors of the ports.
 */
export async function prepareRun(
  key: ObjectKey,
  run: RunStatus,
  ports: OrderPorts,
  call: Call,
): Promise<PreparedRun> {
  const terraform = await intendedObject(key, run, ports.store, call);
  const inputs = await intendedInputs(terraform, run, ports, call);
  const plan =
    run.operation === "apply" ? await intendedPlan(terraform, run, ports, call) : undefined;
  const access = await stateAccess(terraform, run, ports.door, call);
  const stateTofuVersion = await stateVersion(terraform, run, ports.door, call);
  const order = orderOf(terraform, run, { inputs, access, plan, stateTofuVersion });
  return {
    env: inputs.env,
    pod: podWishes(terraform, run),
    order,
    async files(sending) {
      const artifact = artifactFile(await openArtifact(terraform, run, ports, sending));
      return plan === undefined ? [artifact] : [artifact, planFile(plan)];
    },
  };
}

/** Reasons of runs that a person or a deletion waits for. */
const URGENT: readonly string[] = [
  "DestroyOnDeletion",
  "Approved",
  "Requested",
  "ReplanRequested",
] satisfies RunReason[];

function podWishes({ metadata, spec }: Terraform, run: RunStatus): PodWishes {
  return {
    ownerUid: metadata.uid ?? "",
    operation: run.operation,
    urgent: URGENT.includes(run.reason),
    revision: run.revision,
    template: spec.runnerPodTemplate,
    serviceAccountName: spec.serviceAccountName,
    gracePeriodSeconds: spec.runnerTerminationGracePeriodSeconds,
  };
}

/** The state an object works on. */
export function stateIdOf(terraform: Terraform): StateId {
  const { name, namespace = "default" } = terraform.metadata;
  const id = { namespace, name, workspace: terraform.spec.workspace ?? "default" };
  const secret = stateSecretOf(terraform);
  return secret === undefined ? id : { ...id, secret };
}

/** Whether the door can be asked for the state; else it lies in a backend of the object's own. */
export function usesDoor(terraform: Terraform, door: StateDoor | undefined): boolean {
  return door !== undefined && backendOf(terraform, door).is === "door";
}

function stale(why: string): StaleIntent {
  return new StaleIntent(`The run was not started: ${why} since it was intended`);
}

async function intendedObject(
  key: ObjectKey,
  run: RunStatus,
  store: ObjectStore,
  call: Call,
): Promise<Terraform> {
  const terraform = await store.get({ kind: "Terraform", ...key }, call);
  if (terraform === undefined) throw stale(`Terraform ${keyText(key)} was removed`);
  if (terraform.status?.run?.id !== run.id) throw stale("another run took its place");
  const { generation = 0 } = terraform.metadata;
  if (!isAsIntended(run, { ...run, generation })) throw stale("the spec changed");
  return terraform;
}

/** Those of now, if they still are the ones intended; a destroy may do with those kept. */
async function intendedInputs(
  terraform: Terraform,
  run: RunStatus,
  ports: OrderPorts,
  call: Call,
): Promise<Inputs> {
  const resolved = await resolveInputs(terraform, ports, call);
  const { generation } = run;
  const isIntended = ({ digest }: Inputs) =>
    isAsIntended(run, { generation, inputsDigest: digest });
  if (resolved.state === "resolved" && isIntended(resolved.inputs)) return resolved.inputs;
  const kept = run.destroy === true ? await loadKeptInputs(terraform, ports, call) : undefined;
  if (kept !== undefined && isIntended(kept)) return kept;
  if (resolved.state === "failed") throw new StaleIntent(resolved.message);
  throw stale("its variables or environment changed");
}

async function openArtifact(
  terraform: Terraform,
  run: RunStatus,
  ports: OrderPorts,
  call: Call,
): Promise<OpenArtifact> {
  const {
    kind,
    name,
    namespace = terraform.metadata.namespace ?? "default",
  } = terraform.spec.sourceRef;
  const source = await ports.store.get({ kind, namespace, name }, call);
  const current = artifactOf(source);
  const same = current?.digest === run.artifactDigest;
  // An artifact that is no longer the current one can still lie in the store, by its digest.
  const fact = {
    revision: run.revision,
    digest: run.artifactDigest,
    url: same ? current.url : "",
    sizeBytes: same ? current.size : undefined,
  };
  try {
    return await ports.artifacts.open(fact, call);
  } catch (error) {
    if (same) throw error;
    throw stale(`${kind} ${name} has another artifact`);
  }
}

function artifactOf(source: AnyObject | undefined) {
  switch (source?.kind) {
    case "GitRepository":
    case "OCIRepository":
    case "Bucket":
      return source.status?.artifact;
    default:
      return undefined;
  }
}

async function intendedPlan(
  terraform: Terraform,
  run: RunStatus,
  ports: OrderPorts,
  call: Call,
): Promise<Uint8Array> {
  const plan = await loadPlan(terraform, ports.store, call);
  if (plan.state === "damaged") throw new StaleIntent(plan.message);
  const shown = { id: run.planId, digest: terraform.status?.plan?.digest };
  if (plan.state !== "loaded" || !isPlanShown(plan, shown))
    throw stale(`the saved plan ${run.planId ?? ""} is not the one that was shown`);
  return plan.binary;
}

async function stateAccess(
  terraform: Terraform,
  run: RunStatus,
  door: StateDoor | undefined,
  call: Call,
): Promise<StateAccess | undefined> {
  if (door === undefined || !usesDoor(terraform, door)) return undefined;
  return await door.access(stateIdOf(terraform), run.id, call);
}

/** What a plan is to be made on; an apply carries out one that was. */
async function stateVersion(
  terraform: Terraform,
  run: RunStatus,
  door: StateDoor | undefined,
  call: Call,
): Promise<string | undefined> {
  if (door === undefined || run.operation !== "plan" || !usesDoor(terraform, door)) {
    return undefined;
  }
  const head = await door.head(stateIdOf(terraform), call);
  return head.state === "present" ? head.tofuVersion : undefined;
}

interface Parts {
  readonly inputs: Inputs;
  readonly access: StateAccess | undefined;
  readonly plan: Uint8Array | undefined;
  readonly stateTofuVersion: string | undefined;
}

function orderOf(terraform: Terraform, run: RunStatus, parts: Parts): StartOrder {
  const { spec } = terraform;
  const { inputs, access, plan, stateTofuVersion } = parts;
  const { backend } = inputs;
  const { namespace, name, workspace } = stateIdOf(terraform);
  return {
    runId: run.id,
    epoch: run.epoch,
    namespace,
    name,
    operation: run.operation,
    destroy: run.destroy ?? false,
    path: spec.path ?? "",
    artifactDigest: hexOf(run.artifactDigest),
    planDigest: plan === undefined ? undefined : sha256Hex(plan),
    env: { ...inputs.env, ...access?.env },
    variables: inputs.variables,
    backend: backend.is === "written" ? backend.text : access?.backend,
    backendConfig: inputs.backendConfig,
    backendRequired: backend.is !== "door",
    files: inputs.files,
    cliConfig: inputs.cliConfig,
    workspace,
    workspaceByAddress: access !== undefined && access.hasWorkspaces !== true,
    upgrade: spec.upgradeOnInit ?? true,
    lock: run.operation === "apply" || (spec.plan?.lock ?? true),
    lockTimeout: run.operation === "apply" ? "0s" : (spec.tfstate?.lockTimeout ?? "0s"),
    refresh: true,
    stateTofuVersion,
    targets: spec.targets ?? [],
    // 0 is upstream's way to say "the default".
    parallelism: spec.parallelism || 10,
    varFiles: spec.tfVarsFiles ?? [],
    readablePlan: spec.storeReadablePlan ?? "none",
    outputs: true,
    sensitive: [...inputs.sensitive, ...secretsOfAccess(access)],
    stageLimitMs: limits(),
    outputLimitBytes: OUTPUT_LIMIT_BYTES,
    ...afterwards(terraform, run),
  };
}

type Afterwards = Pick<StartOrder, "healthChecks" | "outputNames" | "inventory" | "unlock">;

/** What a run does besides its plan or apply. */
function afterwards({ spec }: Terraform, run: RunStatus): Afterwards {
  const checks = run.destroy === true ? [] : (spec.healthChecks ?? []);
  const renamed = (spec.writeOutputsToSecret?.outputs ?? []).flatMap((text) => {
    const colon = text.indexOf(":");
    return colon < 0 ? [] : [[text.slice(colon + 1), text.slice(0, colon)] as const];
  });
  return {
    healthChecks: checks.map(({ name, type, url, address, timeout }) => ({
      name,
      type,
      target: (type === "tcp" ? address : url) ?? "",
      timeoutMs: checkMs(timeout),
    })),
    outputNames: Object.fromEntries(renamed),
    inventory: spec.enableInventory ?? false,
    unlock: run.unlock,
  };
}

function checkMs(timeout: string | undefined): number {
  const usual = positiveMs(specDefaults["healthChecks[].timeout"]);
  const ms = positiveMs(timeout ?? "") ?? usual ?? healthCheckMaxMs();
  return Math.min(ms, healthCheckMaxMs());
}

function limits(): Partial<Record<Stage, number>> {
  return Object.fromEntries(
    stages.flatMap((stage) => {
      const ms = stageLimitMs(stage);
      return ms === undefined ? [] : [[stage, ms]];
    }),
  );
}

function secretsOfAccess(access: StateAccess | undefined): string[] {
  return Object.entries(access?.env ?? {})
    .filter(([name]) => name.includes("PASSWORD"))
    .map(([, value]) => value);
}

function artifactFile(artifact: OpenArtifact): InputFile {
  return {
    name: "artifact.tar.gz",
    digest: artifact.digest,
    sizeBytes: artifact.sizeBytes,
    chunks: artifact.chunks(),
  };
}

function planFile(plan: Uint8Array): InputFile {
  return {
    name: "plan.bin",
    digest: sha256Hex(plan),
    sizeBytes: plan.length,
    chunks: chunked(plan),
  };
}

async function* chunked(content: Uint8Array): AsyncIterable<Uint8Array> {
  for (let start = 0; start < content.length; start += 1_048_576) {
    yield content.subarray(start, start + 1_048_576);
  }
}

/** `sha256:<hex>` without its algorithm. */
function hexOf(digest: string): string {
  return digest.slice(digest.indexOf(":") + 1);
}
