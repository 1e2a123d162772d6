import type { Call } from "../../ports/call.ts";
import type { Connection } from "./connection.ts";

/** What the controller does to one resource, and what would not go without. */
export interface Right {
  readonly group: string;
  /** With its subresource, as `pods/log`. */
  readonly resource: string;
  readonly verbs: readonly string[];
  readonly for: string;
  /** Of the controller's own namespace alone; else wherever objects are watched. */
  readonly ownNamespace?: boolean;
  /** Without it the controller works, and something less. */
  readonly optional?: boolean;
}

const TERRAFORM = "infra.contrib.fluxcd.io";
const SOURCE = "source.toolkit.fluxcd.io";
const READ = ["get", "list", "watch"] as const;
const source = (resource: string): Right => ({
  ...{ group: SOURCE, resource, verbs: READ, for: "sources and their artifacts" },
});

/**
 * Every right that the controller uses. The shipped roles grant these and no others
 * (a test compares them); at the start it asks for each.
 */
export const controllerRights: readonly Right[] = [
  {
    ...{ group: TERRAFORM, resource: "terraforms", verbs: [...READ, "update"] },
    for: "the objects and their finalizers",
  },
  {
    ...{ group: TERRAFORM, resource: "terraforms/status", verbs: ["update"] },
    for: "what is said of objects",
  },
  {
    ...{ group: TERRAFORM, resource: "terraforms/finalizers", verbs: ["update"] },
    for: "owning pods and Secrets where owners are checked",
  },
  ...["gitrepositories", "ocirepositories", "buckets"].map(source),
  {
    ...{ group: "", resource: "secrets" },
    verbs: [...READ, "create", "update", "patch", "delete"],
    for: "inputs, plans, outputs, states and certificates of runners",
  },
  {
    ...{ group: "", resource: "configmaps", verbs: [...READ, "create", "update", "delete"] },
    for: "inputs and readable plans",
  },
  {
    ...{ group: "", resource: "pods", verbs: [...READ, "create", "patch", "delete"] },
    for: "runners",
  },
  {
    ...{ group: "", resource: "pods/log", verbs: ["get"] },
    for: "results of runners that are gone",
  },
  {
    ...{ group: "", resource: "nodes", verbs: READ },
    for: "knowing that a runner's machine is lost or has started anew",
  },
  {
    ...{ group: "coordination.k8s.io", resource: "leases" },
    verbs: ["get", "list", "create", "update", "delete"],
    for: "locks of states",
  },
  {
    ...{ group: "coordination.k8s.io", resource: "leases", verbs: ["get", "create", "update"] },
    ...{ for: "leading, also in the place of tofu-controller", ownNamespace: true },
  },
  {
    ...{ group: "", resource: "events", verbs: ["get", "create", "update"] },
    ...{ for: "telling people what happened", optional: true },
  },
];

export interface LackingRight {
  readonly right: Right;
  readonly verbs: readonly string[];
  /** The rule as it is written into a role. */
  readonly rule: string;
}

const REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const REVIEW_MS = 10_000;
/** Reviews that are asked for at once. */
const TOGETHER = 8;

/**
 * The rights that the account of this connection lacks. `watched`: the only namespace that is
 * watched; undefined: all. Fails with ApiError if the server cannot be asked.
 */
export async function lackingRights(
  connection: Connection,
  { watched, own }: { readonly watched: string | undefined; readonly own: string },
  call: Call,
): Promise<LackingRight[]> {
  const asked = controllerRights.flatMap((right) => right.verbs.map((verb) => ({ right, verb })));
  const refused = new Map<Right, string[]>();
  const work = async () => {
    for (let next = asked.shift(); next !== undefined; next = asked.shift()) {
      const { right, verb } = next;
      // Nodes lie in no namespace.
      const where = right.ownNamespace ? own : right.resource === "nodes" ? undefined : watched;
      if (await isAllowed(connection, right, { verb, namespace: where }, call)) continue;
      refused.set(right, [...(refused.get(right) ?? []), verb]);
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, work));
  return controllerRights.flatMap((right) => {
    const verbs = right.verbs.filter((verb) => refused.get(right)?.includes(verb));
    return verbs.length === 0 ? [] : [{ right, verbs, rule: ruleOf(right, verbs) }];
  });
}

async function isAllowed(
  connection: Connection,
  { group, resource: whole }: Right,
  { verb, namespace }: { readonly verb: string; readonly namespace: string | undefined },
  call: Call,
): Promise<boolean> {
  const [resource, subresource] = whole.split("/");
  const resourceAttributes = { group, resource, subresource, verb, namespace };
  const body = JSON.stringify({
    ...{ apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview" },
    spec: { resourceAttributes },
  });
  const request = { method: "POST", path: REVIEW, body, limitMs: REVIEW_MS } as const;
  const { value } = await connection.json(request, call);
  return (value as { status?: { allowed?: unknown } }).status?.allowed === true;
}

function ruleOf({ group, resource }: Right, verbs: readonly string[]): string {
  return `{apiGroups: ["${group}"], resources: [${resource}], verbs: [${verbs.join(", ")}]}`;
}
