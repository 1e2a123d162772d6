import fc from "fast-check";
import Format from "typebox/format";
import { Value } from "typebox/value";
import { beforeAll, describe, expect, test } from "vitest";
import { parseDuration } from "../api/duration.ts";
import { kindNames, kinds } from "../api/kinds.ts";
import { type Schema, schemaKeywords, schemaProblems } from "./schema.ts";
import { validateObject, withoutNulls } from "./validate.ts";
import { editSteps, nearest, oneOf } from "./words.ts";

const schemas = Object.fromEntries(kindNames.map((kind) => [kind, kinds[kind].schema as Schema]));

function everySchema(schema: Schema): Schema[] {
  const inner = [
    ...Object.values(schema.properties ?? {}),
    ...Object.values(schema.patternProperties ?? {}),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(schema.anyOf ?? []),
  ];
  return [schema, ...inner.flatMap(everySchema)];
}

describe("the checker and TypeBox's own", () => {
  beforeAll(() => {
    Format.Set("go-duration", (text) => parseDuration(text) !== undefined);
  });

  test.each(Object.entries(schemas))("%s uses no keyword that is not obeyed", (_, schema) => {
    const used = new Set(everySchema(schema).flatMap(Object.keys));
    expect([...used].filter((each) => !schemaKeywords.includes(each))).toEqual([]);
  });

  /** Values of a schema, with something else now and then. */
  function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
    const good = goodValuesOf(schema);
    const other = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom("", "5m", "5", "auto"));
    return fc.oneof({ weight: 200, arbitrary: good }, { weight: 1, arbitrary: other });
  }
  function goodValuesOf(schema: Schema): fc.Arbitrary<unknown> {
    if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(valuesOf));
    if (schema.const !== undefined) return fc.constant(schema.const);
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    if (schema.format !== undefined) return fc.constantFrom("5m", "1h30m", "0");
    switch (schema.type) {
      case "object": {
        if (schema.patternProperties !== undefined) {
          const [inner = {}] = Object.values(schema.patternProperties);
          return fc.dictionary(fc.constantFrom("a", "b/c", "__proto__"), valuesOf(inner));
        }
        const fields = Object.entries(schema.properties ?? {});
        const model = Object.fromEntries(fields.map(([key, each]) => [key, valuesOf(each)]));
        return fc.record(model, { requiredKeys: [...(schema.required ?? [])] });
      }
      case "array":
        return fc.array(valuesOf(schema.items ?? {}), { maxLength: 2 });
      case "string":
        return fc.oneof(
          { weight: 200, arbitrary: fc.constantFrom("a", "b_c/d") },
          { weight: 1, arbitrary: fc.constantFrom("", "c  d", "x".repeat(300)) },
        );
      case "boolean":
        return fc.boolean();
      case "integer":
        return fc.integer();
      case "null":
        return fc.constant(null);
      default:
        return fc.jsonValue({ maxDepth: 2 });
    }
  }

  test.each(Object.entries(schemas))("agree on any %s, unknown fields aside", (_, schema) => {
    let refused = 0;
    const property = fc.property(valuesOf(schema), (value) => {
      const problems = schemaProblems(schema, value);
      const errors = problems.filter(({ severity, onKey }) => severity === "error" && !onKey);
      const agreed = Value.Check(schema as never, withoutNulls(value, problems));
      expect(errors.length === 0, JSON.stringify({ value, problems })).toBe(agreed);
      if (!agreed) refused += 1;
    });
    fc.assert(property, { numRuns: 400, seed: 1 });
    // Otherwise nothing was shown.
    expect(refused).toBeGreaterThan(4);
    expect(refused).toBeLessThan(360);
  });
});

describe("an object that comes over a wire", () => {
  const rows: Record<string, { object: unknown; told: string[] }> = {
    "a good one": {
      object: { apiVersion: "v1", kind: "Secret", metadata: { name: "a" } },
      told: [],
    },
    "no object at all": {
      object: 5,
      told: [
        "Kind nothing is not kept; use Terraform, GitRepository, OCIRepository, Bucket, Secret, " +
          "ConfigMap, Event, Lease",
      ],
    },
    "a kind that is not kept": {
      object: { kind: "Pod" },
      told: [
        'Kind "Pod" is not kept; use Terraform, GitRepository, OCIRepository, Bucket, Secret, ' +
          "ConfigMap, Event, Lease",
      ],
    },
    "metadata that is a list, and what follows from it is not told": {
      object: { apiVersion: "v1", kind: "Secret", metadata: [], data: { a: "!" } },
      told: ["Secret without a name: metadata: must be a map of fields, not a list"],
    },
    "faults of the schema and of Kubernetes together": {
      object: {
        apiVersion: "source.toolkit.fluxcd.io/v1",
        kind: "GitRepository",
        metadata: { name: "A" },
        spec: { url: "", interval: "1m" },
      },
      told: [
        "GitRepository/default/A: spec.url: must not be empty",
        'GitRepository/default/A: metadata.name: "A" is no valid name; use lower-case letters, ' +
          'digits, "-" and ".", beginning and ending with a letter or digit',
      ],
    },
    "a condition with a status that is none": {
      object: {
        apiVersion: "source.toolkit.fluxcd.io/v1",
        kind: "Bucket",
        metadata: { name: "a" },
        spec: {},
        status: {
          conditions: [
            { type: "Ready", status: "Yes", reason: "A", message: "", lastTransitionTime: "" },
          ],
        },
      },
      told: ["Bucket/default/a: status.conditions[0].status: must be True, False or Unknown"],
    },
  };
  test.each(Object.entries(rows))("%s", (_, { object, told }) => {
    expect(validateObject(object).map(({ summary }) => summary)).toEqual(told);
  });

  test("more faults than anybody mends at once", () => {
    const data = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`k${index}`, 1]));
    const object = { apiVersion: "v1", kind: "Secret", metadata: { name: "a" }, data };
    const told = validateObject(object).map(({ summary }) => summary);
    expect(told).toHaveLength(21);
    expect(told.at(-1)).toBe("Secret/default/a: has more faults than these 20; mend them first");
  });
});

describe("words", () => {
  const steps: [string, string, number][] = [
    ["", "", 0],
    ["a", "", 1],
    ["same", "same", 0],
    ["aprovePlan", "approvePlan", 1],
    ["sourceRfe", "sourceRef", 1],
    ["kitten", "sitting", 3],
    ["x".repeat(101), "x", Number.POSITIVE_INFINITY],
  ];
  test.each(steps)("from %j to %j", (from, to, count) => {
    expect(editSteps(from, to)).toBe(count);
    expect(editSteps(to, from)).toBe(count);
  });

  test("the nearest word, if one is near", () => {
    expect(nearest("Auto", ["disable", "auto"])).toBe("auto");
    expect(nearest("retryIntervall", ["interval", "retryInterval"])).toBe("retryInterval");
    expect(nearest("xyzzy", ["interval", "path"])).toBe(undefined);
  });

  test("lists as people say them", () => {
    expect([[], ["a"], ["a", "b"], ["a", "b", "c"]].map(oneOf)).toEqual([
      "",
      "a",
      "a or b",
      "a, b or c",
    ]);
  });
});
