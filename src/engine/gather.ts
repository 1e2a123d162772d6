import { type AnyObject, keyOf, type ObjectKey } from "../api/kinds.ts";
import type { Terraform } from "../api/terraform.ts";
import { type Dependants, findDependants } from "../domain/dependants.ts";
import type {
  ArtifactFact,
  DependencyFact,
  Observed,
  PendingPlanFact,
  SourceFact,
  StateFact,
} from "../domain/facts.ts";
import { ArtifactError } from "../ports/artifacts.ts";
import type { Call } from "../ports/call.ts";
import { isStoreError, type ObjectStore } from "../ports/object-store.ts";
import type { ArtifactFetches } from "./artifact-fetches.ts";
import { backendOf } from "./backend.ts";
import { sha256Hex } from "./canonical.ts";
import { type Inputs, type InputsResult, resolveInputs } from "./inputs.ts";
import { loadKeptInputs } from "./kept-inputs.ts";
import { stateIdOf, usesDoor } from "./order.ts";
import { outputsFact } from "./outputs.ts";
import { loadPlan } from "./plans.ts";
import type { EngineOptions, EnginePorts } from "./ports.ts";
import type { Supervisors } from "./supervisors.ts";

/** What a pass reads from. */
export interface GatherPorts extends Pick<EnginePorts, "artifacts" | "door" | "random" | "rival"> {
  readonly store: ObjectStore;
  readonly supervisors: Supervisors;
  readonly fetches: ArtifactFetches;
  readonly options: EngineOptions;
  readonly epoch: number;
  /** Nothing new may be started. */
  stopping(): boolean;
}

export interface Gathered {
  readonly observed: Observed;
  /** Values that must not appear in an event. */
  readonly sensitive: readonly string[];
  readonly inputs: Inputs | undefined;
}

/**
 * Reads everything that decides about an object; undefined if there is none. Fails with the errors
 * of the ports: what cannot be read is never taken for absent.
 */
export async function gather(
  key: ObjectKey,
  ports: GatherPorts,
  call: Call,
): Promise<Gathered | undefined> {
  const { store, supervisors } = ports;
  const terraform = await store.get({ kind: "Terraform", ...key }, call);
  // Whom the selector leaves out is another engine's, also if it was ours a moment ago.
  const isOurs = terraform !== undefined && ports.options.isOurs(terraform.metadata.labels);
  if (!isOurs) {
    supervisors.leave(key);
    return undefined;
  }
  supervisors.follow(terraform);
  // Before the state: a state that the outcome calls rescued must not be missing below.
  const run = supervisors.fact(key);
  const [source, lastArtifact, dependencies, dependants, inputs, plan, outputsSecret, state, kept] =
    await Promise.all([
      sourceFact(terraform, ports, call),
      lastArtifactOf(terraform, ports, call),
      dependencyFacts(terraform, ports, call),
      dependantsOf(terraform, ports, call),
      resolveInputs(terraform, ports, call),
      planFact(terraform, store, call),
      outputsFact(terraform, store, call),
      stateFact(terraform, ports, call),
      keptInputsOf(terraform, ports, call),
    ]);
  const observed: Observed = {
    terraform,
    source,
    lastArtifact,
    dependencies,
    dependants: dependants.blocking,
    dependantsLeaving: dependants.leaving,
    inputs: inputsFact(inputs),
    keptInputs: kept && { digest: kept.digest },
    run,
    plan,
    outputsSecret,
    state,
    failedEffect: undefined,
    engine: {
      epoch: ports.epoch,
      shuttingDown: ports.stopping(),
      slotFree: supervisors.slotFree(key),
      lostApply: ports.options.lostApply,
      runnersArePods: ports.options.runnersArePods,
      heldBack: ports.rival?.heldBack(),
      nextRunId: `${ports.epoch}-${ports.random.hex(6)}`,
      jitter: ports.random.next(),
    },
  };
  const now = inputs.state === "resolved" ? inputs.inputs : undefined;
  return { observed, inputs: now, sensitive: (now ?? kept)?.sensitive ?? [] };
}

function inputsFact(result: InputsResult): Observed["inputs"] {
  if (result.state === "failed") return result;
  const { digest, sources } = result.inputs;
  return { state: "resolved", digest, sources };
}

/** The source an object names, as a reference. */
export function sourceRefOf(terraform: Terraform) {
  const { kind, name, namespace = keyOf(terraform).namespace } = terraform.spec.sourceRef;
  return { kind, name, namespace };
}

async function sourceFact(
  terraform: Terraform,
  ports: GatherPorts,
  call: Call,
): Promise<SourceFact> {
  const ref = sourceRefOf(terraform);
  const text = `${ref.kind}/${ref.namespace}/${ref.name}`;
  if (ref.namespace !== keyOf(terraform).namespace && !ports.options.crossNamespaceRefs) {
    const why = "cross-namespace references have been disabled";
    return { state: "denied", message: `cannot access ${text}, ${why}` };
  }
  try {
    const source = await ports.store.get(ref, call);
    if (source !== undefined) return await fetchedSource(readSource(source), ports, call);
    return { state: "missing", message: `could not get Source object: ${text} does not exist` };
  } catch (error) {
    if (!isStoreError(error, "NoSuchKind")) throw error;
    const message =
      `could not get Source object: ${text} cannot exist, for this cluster does not know ` +
      `${ref.kind} in version v1; install or renew Flux's source-controller`;
    return { state: "missing", message };
  }
}

async function fetchedSource(
  fact: SourceFact,
  { fetches }: GatherPorts,
  call: Call,
): Promise<SourceFact> {
  if (fact.state !== "ready") return fact;
  const fetch = await fetches.fact(fact.artifact, call);
  return fetch === undefined ? fact : { ...fact, fetch };
}

function readSource(source: AnyObject): SourceFact {
  const status = "status" in source && source.kind !== "Terraform" ? source.status : undefined;
  const artifact = status?.artifact;
  if (artifact?.digest === undefined) {
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    const why = ready?.status === "False" ? `: ${ready.message}` : "";
    return { state: "no-artifact", message: `Source is not ready, artifact not found${why}` };
  }
  const { revision, digest, url, size: sizeBytes } = artifact;
  return { state: "ready", artifact: { revision, digest, url, sizeBytes } };
}

/** They matter only to an object that is to go. */
async function keptInputsOf(
  terraform: Terraform,
  ports: GatherPorts,
  call: Call,
): Promise<Inputs | undefined> {
  if (terraform.metadata.deletionTimestamp === undefined) return undefined;
  return await loadKeptInputs(terraform, ports, call);
}

/** What the object was last made from, if it is still kept: it may have to be destroyed with it. */
async function lastArtifactOf(
  terraform: Terraform,
  ports: GatherPorts,
  call: Call,
): Promise<ArtifactFact | undefined> {
  if (terraform.metadata.deletionTimestamp === undefined) return undefined;
  const { lastGood, settled, attempted } = terraform.status ?? {};
  const last = [lastGood, settled, attempted].find((each) => each?.artifactDigest !== undefined);
  if (last?.artifactDigest === undefined) return undefined;
  const { revision, artifactDigest: digest } = last;
  const fact = { revision, digest, url: "", sizeBytes: undefined };
  try {
    await ports.artifacts.open(fact, call);
    return fact;
  } catch (error) {
    if (error instanceof ArtifactError) return undefined;
    throw error;
  }
}

async function dependencyFacts(
  terraform: Terraform,
  ports: GatherPorts,
  call: Call,
): Promise<DependencyFact[]> {
  const own = keyOf(terraform).namespace;
  return await Promise.all(
    (terraform.spec.dependsOn ?? []).map(async ({ name, namespace = own }) => {
      if (namespace !== own && !ports.options.crossNamespaceRefs) {
        const unread = { terraform: undefined, outputsReady: undefined };
        return { namespace, name, denied: true, ...unread };
      }
      const found = await ports.store.get({ kind: "Terraform", namespace, name }, call);
      const outputsReady = await outputsReadable(found, ports.store, call);
      return { namespace, name, terraform: found, outputsReady, denied: false };
    }),
  );
}

async function outputsReadable(
  dependency: Terraform | undefined,
  store: ObjectStore,
  call: Call,
): Promise<boolean | undefined> {
  const name = dependency?.spec.writeOutputsToSecret?.name;
  if (dependency === undefined || name === undefined) return undefined;
  const { namespace } = keyOf(dependency);
  return (await store.get({ kind: "Secret", namespace, name }, call)) !== undefined;
}

/** They matter only to an object that is to go. */
async function dependantsOf(
  terraform: Terraform,
  { store, options }: GatherPorts,
  call: Call,
): Promise<Dependants> {
  if (terraform.metadata.deletionTimestamp === undefined) return { blocking: [], leaving: [] };
  const { items } = await store.list("Terraform", {}, call);
  return findDependants(terraform, items, options.crossNamespaceRefs);
}

/** Which backend the state lies in. A text of the user's may hold secrets, so its digest stands. */
function placeOf(terraform: Terraform, door: GatherPorts["door"]): string {
  const backend = backendOf(terraform, door);
  if (backend.is === "written") return `written-${sha256Hex(backend.text).slice(0, 16)}`;
  const suffix = backend.is === "door" ? backend.secret?.suffix : undefined;
  const named = suffix !== undefined && suffix !== terraform.metadata.name;
  return named ? `door-${suffix}` : backend.is;
}

async function planFact(
  terraform: Terraform,
  store: ObjectStore,
  call: Call,
): Promise<PendingPlanFact> {
  const wanted = terraform.status?.plan;
  if (wanted?.pending === undefined) return { stored: false, id: undefined };
  const plan = await loadPlan(terraform, store, call);
  if (plan.state === "absent") return { stored: false, id: undefined };
  const stored =
    plan.state === "loaded" && plan.id === wanted.pending && plan.digest === wanted.digest;
  return { stored, id: plan.id };
}

async function stateFact(terraform: Terraform, ports: GatherPorts, call: Call): Promise<StateFact> {
  const { door } = ports;
  const place = placeOf(terraform, door);
  if (door === undefined) return { lock: undefined, rescued: [], place };
  const state = stateIdOf(terraform);
  // What a run could not write is kept here, wherever the state itself lies.
  const rescued = await door.rescued(state, call);
  if (!usesDoor(terraform, door)) return { lock: undefined, rescued, place };
  const [lock, head] = await Promise.all([door.lock(state, call), door.head(state, call)]);
  return { lock, rescued, head, place };
}
