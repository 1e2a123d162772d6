import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { resources } from "./resources.ts";

const file = join(import.meta.dirname, "../../../examples/doctor/rbac.yaml");

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly verbs: readonly string[];
}

test("the role that the documents offer allows every list that is asked for, and no more", () => {
  const { rules } = parse(readFileSync(file, "utf8")) as { rules: readonly Rule[] };
  const allowed = rules
    .filter((rule) => rule.verbs.includes("list"))
    .flatMap((rule) =>
      (rule.resources ?? []).map((plural) => `${rule.apiGroups?.[0] ?? ""}/${plural}`),
    );
  const asked = resources.map(({ group, plural }) => `${group}/${plural}`);
  expect(allowed.toSorted()).toEqual(asked.toSorted());
  const verbs = new Set(rules.flatMap((rule) => rule.verbs));
  // A port-forward is "created"; nothing else is.
  expect(verbs).toEqual(new Set(["get", "list", "create"]));
});
