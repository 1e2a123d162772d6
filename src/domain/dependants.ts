import { keyOf, keyText } from "../api/kinds.ts";
import type { Terraform } from "../api/terraform.ts";

/** Who holds the deletion of an object back, as `namespace/name`, sorted. */
export interface Dependants {
  readonly blocking: readonly string[];
  /** Those of them that are being deleted already. */
  readonly leaving: readonly string[];
}

/** `namespace/name` of every object that this one depends on. */
export function dependsOn(terraform: Terraform): string[] {
  const own = keyOf(terraform).namespace;
  return (terraform.spec.dependsOn ?? []).map(({ name, namespace = own }) =>
    keyText({ namespace, name }),
  );
}

/**
 * The objects among `all` that must go before this one. Not those in a circle of dependencies with
 * it that is being deleted as a whole, for each would wait for the next for ever. Nor those of
 * another namespace where references across namespaces are not allowed: anybody could hold
 * anything back with one.
 */
export function findDependants(
  terraform: Terraform,
  all: readonly Terraform[],
  crossNamespaceRefs: boolean,
): Dependants {
  const self = keyText(keyOf(terraform));
  const circle = reachedThroughLeaving(terraform, all);
  const found = all.filter((each) => {
    const name = keyText(keyOf(each));
    if (name === self || !dependsOn(each).includes(self)) return false;
    if (!crossNamespaceRefs && keyOf(each).namespace !== keyOf(terraform).namespace) return false;
    return !(isLeaving(each) && circle.has(name));
  });
  const names = (some: readonly Terraform[]) => some.map((each) => keyText(keyOf(each))).sort();
  return { blocking: names(found), leaving: names(found.filter(isLeaving)) };
}

/** Everything that is being deleted and that this one needs, directly or through another such. */
function reachedThroughLeaving(terraform: Terraform, all: readonly Terraform[]): Set<string> {
  const leaving = new Map(all.filter(isLeaving).map((each) => [keyText(keyOf(each)), each]));
  const reached = new Set<string>();
  const left = dependsOn(terraform);
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    const next = leaving.get(name);
    if (next === undefined || reached.has(name)) continue;
    reached.add(name);
    left.push(...dependsOn(next));
  }
  return reached;
}

function isLeaving({ metadata }: Terraform): boolean {
  return metadata.deletionTimestamp !== undefined;
}
