import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { createClock } from "../system/clock.ts";
import type { Connection, Request } from "./connection.ts";
import { controllerRights, lackingRights } from "./preflight.ts";

const call = { signal: createClock().deadline("this test", 10_000) };

interface Asked {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verb: string;
  readonly namespace?: string;
}

/** A server that allows what the function says. */
function server(allows: (asked: Asked) => boolean) {
  const asked: Asked[] = [];
  const json = async ({ body }: Request) => {
    const { resourceAttributes } = JSON.parse(body ?? "").spec as { resourceAttributes: Asked };
    asked.push(resourceAttributes);
    return { value: { status: { allowed: allows(resourceAttributes) } }, dateMs: undefined };
  };
  return { asked, connection: { json } as unknown as Connection };
}

test("each verb of each right is asked for, in the namespaces where it is used", async () => {
  const { asked, connection } = server(() => true);
  expect(await lackingRights(connection, { watched: undefined, own: "home" }, call)).toEqual([]);
  const verbs = controllerRights.reduce((sum, each) => sum + each.verbs.length, 0);
  expect(asked).toHaveLength(verbs);
  expect(new Set(asked.map(({ namespace }) => namespace))).toEqual(new Set([undefined, "home"]));
  expect(asked).toContainEqual({ group: "", resource: "pods", subresource: "log", verb: "get" });
});

test("a controller of one namespace asks for that one, and for nodes as ever", async () => {
  const { asked, connection } = server(() => true);
  await lackingRights(connection, { watched: "home", own: "home" }, call);
  const elsewhere = asked.filter(({ namespace }) => namespace !== "home");
  expect(new Set(elsewhere.map(({ resource }) => resource))).toEqual(new Set(["nodes"]));
});

test("what lacks is told as the rule that is to be added", async () => {
  const { connection } = server(
    ({ resource, verb }) => resource !== "secrets" || !["patch", "delete"].includes(verb),
  );
  const lacking = await lackingRights(connection, { watched: undefined, own: "home" }, call);
  expect(lacking.map(({ rule }) => rule)).toEqual([
    '{apiGroups: [""], resources: [secrets], verbs: [patch, delete]}',
  ]);
});

/** Rules as "group/resource verb", each once. */
function granted(rules: readonly Rule[]): string[] {
  const each = rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => `${group}/${resource} ${verb}`)),
    ),
  );
  return [...new Set(each)].sort();
}
function used(ownNamespace: boolean): string[] {
  const rights = controllerRights.filter((each) => (each.ownNamespace ?? false) === ownNamespace);
  return granted(
    rights.map(({ group, resource, verbs }) => ({
      apiGroups: [group],
      resources: [resource],
      verbs,
    })),
  );
}
interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}
function shipped(file: string, kind: string): readonly Rule[] {
  const text = readFileSync(join(import.meta.dirname, "../../../config/rbac", file), "utf8");
  const all = parseAllDocuments(text).map((each) => each.toJS() as { kind: string; rules: Rule[] });
  return all.find((each) => each.kind === kind)?.rules ?? [];
}

test("the shipped roles grant what is used, and nothing else", () => {
  expect(granted(shipped("controller-role.yaml", "ClusterRole"))).toEqual(used(false));
  expect(granted(shipped("leader-election-role.yaml", "Role"))).toEqual(used(true));
});
