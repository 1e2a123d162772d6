import { RUN_LABEL } from "../../../api/cluster-names.ts";
import { DEPENDENCY_FINALIZER_PREFIX } from "../../../api/names.ts";
import type { ClusterObject } from "../../../ports/cluster.ts";
import { at, listAt, textAt } from "../fields.ts";
import type { MigrationFacts } from "./facts.ts";

/** What stands in a cluster's objects, as far as a migration cares. */

export function keyIn(object: ClusterObject): { namespace: string; name: string } {
  return { namespace: object.metadata.namespace ?? "default", name: object.metadata.name };
}

/**
 * The lock of an object's state, where the state lies in the backend that tofu-controller makes;
 * "elsewhere" if it lies where only its own backend knows of a lock.
 */
export function lockOf(
  object: ClusterObject,
  { locks }: Pick<MigrationFacts, "locks">,
): ClusterObject | "elsewhere" | undefined {
  const backend = at(object, "spec", "backendConfig");
  const isCustom = textAt(backend, "customConfiguration") !== "" || at(backend, "disable") === true;
  if (isCustom || at(object, "spec", "cloud") !== undefined) return "elsewhere";
  const { namespace, name } = keyIn(object);
  const suffix = textAt(backend, "secretSuffix") || name;
  const workspace = textAt(object, "spec", "workspace") || "default";
  const wanted = `lock-tfstate-${workspace}-${suffix}`;
  return locks.find(({ metadata }) => metadata.namespace === namespace && metadata.name === wanted);
}

/** Who holds a lock; undefined: nobody. */
export function holderOf(lock: ClusterObject | undefined): string | undefined {
  const id = textAt(lock, "spec", "holderIdentity");
  if (id === "") return undefined;
  try {
    const info: unknown = JSON.parse(
      lock?.metadata.annotations?.["app.terraform.io/lock-info"] ?? "",
    );
    const who = textAt(info, "Who") || "somebody unnamed";
    return `${who} since ${textAt(info, "Created")} (lock ${id})`;
  } catch {
    return `lock ${id}`;
  }
}

/** Finalizers by which tofu-controller held the object for dependants that there are not. */
export function needlessFinalizers(
  object: ClusterObject,
  terraforms: readonly ClusterObject[],
): string[] {
  const dependants = new Set(
    terraforms.filter((each) => dependsOn(each, object)).map(({ metadata }) => metadata.name),
  );
  return (object.metadata.finalizers ?? []).filter(
    (each) =>
      each.startsWith(DEPENDENCY_FINALIZER_PREFIX) &&
      !dependants.has(each.slice(DEPENDENCY_FINALIZER_PREFIX.length)),
  );
}

function dependsOn(one: ClusterObject, other: ClusterObject): boolean {
  const home = keyIn(one).namespace;
  const target = keyIn(other);
  return listAt(one, "spec", "dependsOn").some(
    (each) =>
      textAt(each, "name") === target.name &&
      (textAt(each, "namespace") || home) === target.namespace,
  );
}

export function isNigaris({ metadata }: ClusterObject): boolean {
  return metadata.labels?.[RUN_LABEL] !== undefined;
}

/** The Terraform object that a runner's pod works for. */
export function ownerOf(
  pod: ClusterObject,
  terraforms: readonly ClusterObject[],
): ClusterObject | undefined {
  const owner = pod.metadata.ownerReferences?.find(({ kind }) => kind === "Terraform");
  return terraforms.find(
    (each) =>
      each.metadata.name === owner?.name && each.metadata.namespace === pod.metadata.namespace,
  );
}

/** The runner's container has ended, by the kubelet's word. */
export function hasEnded(pod: ClusterObject): boolean {
  return listAt(pod, "status", "containerStatuses").some(
    (each) => textAt(each, "name") === "tf-runner" && at(each, "state", "terminated") !== undefined,
  );
}

/** Who wrote the object's status last: the name of a field manager; undefined: nobody has. */
export function statusWriter({ metadata }: ClusterObject): string | undefined {
  const entries = (metadata.managedFields ?? []).filter(
    (each) => textAt(each, "subresource") === "status",
  );
  const newest = entries.sort((a, b) => (textAt(a, "time") < textAt(b, "time") ? 1 : -1))[0];
  return newest === undefined ? undefined : textAt(newest, "manager");
}
