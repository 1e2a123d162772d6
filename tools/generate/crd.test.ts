import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { CRD_FILES, terraformCrd } from "./crd.ts";
import { requiredOnlyHere, structural } from "./structural.ts";

interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly additionalProperties?: Node;
  readonly required?: readonly string[];
}
const [older, newer] = terraformCrd().spec.versions.map((each) => each.schema.openAPIV3Schema);

/** Every field as a path, and whether it is required. */
function fields(node: Node, path = ""): [path: string, required: boolean][] {
  const inner = Object.entries(node.properties ?? {}).flatMap(([name, each]) => {
    const here = path === "" ? name : `${path}.${name}`;
    const required = node.required?.includes(name) ?? false;
    return [[here, required] as [string, boolean], ...fields(each, here)];
  });
  return node.items === undefined ? inner : [...inner, ...fields(node.items, `${path}[]`)];
}

test.each(CRD_FILES)("%s is what the types say", (path) => {
  const file = join(import.meta.dirname, "../..", path);
  expect(parse(readFileSync(file, "utf8"))).toEqual(JSON.parse(JSON.stringify(terraformCrd())));
});

test("one version is stored, both are served, and who uses the older is warned", () => {
  const { versions } = terraformCrd().spec;
  expect(versions.map(({ name, served, storage }) => [name, served, storage])).toEqual([
    ["v1alpha1", true, false],
    ["v1alpha2", true, true],
  ]);
  expect(versions[0]).toMatchObject({ deprecated: true });
  expect(versions.every(({ subresources }) => "status" in subresources)).toBe(true);
});

test("an object that is written through the older version loses no field", () => {
  const paths = (node: unknown) => fields(node as Node).map(([path]) => path);
  expect(paths(older)).toEqual(paths(newer));
});

test("required of a spec is only what tofu-controller's definition requires", () => {
  const required = fields(newer as Node)
    .filter(([path, isRequired]) => isRequired && path.startsWith("spec."))
    .map(([path]) => path);
  expect(required).toEqual([
    "spec.backendConfigsFrom[].kind",
    "spec.backendConfigsFrom[].name",
    "spec.cloud.organization",
    "spec.vars[].name",
    "spec.vars[].valueFrom.secretKeyRef.key",
    "spec.vars[].valueFrom.configMapKeyRef.key",
    "spec.varsFrom[].kind",
    "spec.varsFrom[].name",
    "spec.fileMappings[].secretRef",
    "spec.fileMappings[].secretRef.name",
    "spec.fileMappings[].location",
    "spec.fileMappings[].path",
    "spec.interval",
    "spec.sourceRef",
    "spec.sourceRef.kind",
    "spec.sourceRef.name",
    "spec.readInputsFromSecrets[].name",
    "spec.readInputsFromSecrets[].as",
    "spec.writeOutputsToSecret.name",
    "spec.healthChecks[].name",
    "spec.healthChecks[].type",
    "spec.runnerPodTemplate.spec.env[].name",
    "spec.runnerPodTemplate.spec.env[].valueFrom.secretKeyRef.key",
    "spec.runnerPodTemplate.spec.env[].valueFrom.configMapKeyRef.key",
    "spec.webhooks[].testExpression",
    "spec.dependsOn[].name",
  ]);
});

test("every field that is let off exists", () => {
  const known = new Set(fields(newer as Node).map(([path]) => path));
  expect([...requiredOnlyHere].filter((path) => !known.has(path))).toEqual([]);
});

describe("a schema becomes structural", () => {
  test("a map, a list, a choice of words and anything at all", () => {
    const text = { type: "string" };
    expect(structural({ type: "object", patternProperties: { "^.*$": text } }, "x")).toEqual({
      type: "object",
      additionalProperties: text,
    });
    expect(structural({ type: "array", items: text }, "x")).toEqual({ type: "array", items: text });
    expect(structural({ anyOf: [{ const: "a" }, { const: "b" }] }, "x")).toEqual({
      type: "string",
      enum: ["a", "b"],
    });
    const any = { "x-kubernetes-preserve-unknown-fields": true };
    expect(structural(any, "x")).toEqual(any);
  });

  test("what it cannot say is an error, not left out", () => {
    expect(() => structural({ anyOf: [text, { type: "integer" }] }, "spec.x")).toThrow("spec.x");
  });
});

const text = { type: "string" };
