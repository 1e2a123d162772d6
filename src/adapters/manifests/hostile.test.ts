import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { diagnosticText } from "../../api/diagnostic.ts";
import { readManifests } from "./read.ts";

const read = (content: string | Uint8Array) => readManifests([{ file: "a", content }]);
const repeat = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => line(index)).join("\n");
/** Ten lists, each nine times the one before: a gigabyte once the aliases are followed. */
const laughs = repeat(10, (index) => {
  const before = index === 0 ? '"x"' : `*l${index - 1}`;
  return `l${index}: &l${index} [${Array(9).fill(before).join(", ")}]`;
});

describe("a text made to harm is refused, and soon", () => {
  const texts: Record<string, { text: string; told: RegExp }> = {
    "aliases that multiply": { text: laughs, told: /its aliases make too much of it/ },
    "aliases without number": {
      text: `a: &a x\n${repeat(101, (index) => `b${index}: *a`)}`,
      told: /its aliases make too much of it/,
    },
    "a list that holds itself": { text: "&a [*a]", told: /its aliases make too much of it/ },
    "a map that holds itself": {
      text: "a: &a\n  b: *a\n",
      told: /its aliases make too much of it/,
    },
    "brackets without end": { text: "[".repeat(200_000), told: /nested deeper than 100 levels/ },
    "brackets closed without end": {
      text: "]".repeat(200_000),
      told: /closed that was not opened/,
    },
    "documents without number": { text: "--- a\n".repeat(50_000), told: /is plain text/ },
    "items without number": {
      text: `{apiVersion: v1, kind: List, items: [${"a, ".repeat(50_000)}]}`,
      told: /items\[0\]: is plain text/,
    },
    "braces without end": { text: "{a: ".repeat(50_000), told: /nested deeper than 100 levels/ },
    "words without number, one in the other": {
      text: "- ".repeat(1_000_000),
      told: /more than 350000 words and marks; make several files of it/,
    },
    "documents without end": {
      text: "--- \n".repeat(400_000),
      told: /more than 350000 words and marks/,
    },
    "dashes without end": { text: "- ".repeat(50_000), told: /nested deeper than 100 levels/ },
    "question marks without end": { text: "? ".repeat(50_000), told: /deeper than 100|no text/ },
    "101 levels, well closed": {
      text: "[".repeat(101) + "]".repeat(101),
      told: /nested deeper than 100 levels/,
    },
    "a key as long as a book": {
      text: `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"${"x".repeat(900)}": 1\n`,
      told: /unknown field x{900}; remove it/,
    },
    "keys without number": {
      text: `apiVersion: v1\nkind: Secret\n${repeat(20_000, (index) => `k${index}: v`)}`,
      told: /unknown field k0; remove it/,
    },
    "a path that makes tofu-controller's pattern backtrack": {
      text:
        "{apiVersion: infra.contrib.fluxcd.io/v1alpha2, kind: Terraform, metadata: {name: a}, " +
        "spec: {interval: 5m, sourceRef: {kind: Bucket, name: b}, fileMappings: " +
        `[{secretRef: {name: c}, location: home, path: "${"a".repeat(50_000)}  "}]}}`,
      told: /spec\.fileMappings\[0\]\.path: "a+… does not match/,
    },
  };
  test.each(Object.entries(texts))("%s", (_, { text, told }) => {
    const startMs = performance.now();
    const { errors, objects } = read(text);
    expect(performance.now() - startMs).toBeLessThan(10_000);
    expect(objects).toEqual([]);
    expect(errors.length).toBeLessThan(60);
    expect(errors[0] === undefined ? "" : diagnosticText(errors[0])).toMatch(told);
  });

  test("key names that JavaScript knows are only unknown fields", () => {
    const { errors } = read(
      "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n__proto__: {kind: Terraform}\n" +
        "constructor: 1\ntoString: 2\n",
    );
    expect(errors.map(({ summary }) => summary)).toEqual([
      "Secret/default/a: unknown field __proto__; remove it",
      "Secret/default/a: unknown field constructor; remove it",
      "Secret/default/a: unknown field toString; remove it",
    ]);
  });
});

/** Whatever is read, the report holds together: places are real, and no error is without words. */
function expectSound(content: string | Uint8Array): void {
  const report = read(content);
  for (const { summary, line = 1, column = 1 } of [...report.errors, ...report.warnings]) {
    expect(summary).toMatch(/^[A-Z"\w]/);
    expect(summary).not.toMatch(/undefined|\[object|\.$/);
    expect(line).toBeGreaterThan(0);
    expect(column).toBeGreaterThan(0);
  }
  for (const object of report.objects) {
    const again = read(JSON.stringify(object));
    expect(again.errors).toEqual([]);
    expect(again.objects).toEqual([object]);
  }
}

describe("any text at all is read without a throw", () => {
  test("random characters, of YAML's own above all", () => {
    const character = fc.constantFrom(..."-:?{}[]&*!|>'\"%@`#,~ \t\n\r\\ab0.<=é\u{1F600}\0\uFEFF");
    const text = fc.string({ unit: character, maxLength: 300 });
    fc.assert(fc.property(text, expectSound), { numRuns: 500 });
  });

  test("random bytes", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), expectSound), { numRuns: 300 });
  });

  test("random values where an object should be", () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    const document = fc.record({
      apiVersion: fc.oneof(fc.constant("infra.contrib.fluxcd.io/v1alpha2"), value),
      kind: fc.oneof(fc.constantFrom("Terraform", "List"), value),
      metadata: fc.oneof(fc.constant({ name: "a" }), value),
      spec: value,
      items: value,
    });
    const property = fc.property(fc.array(document, { maxLength: 3 }), (documents) =>
      expectSound(documents.map((each) => stringify(each)).join("---\n")),
    );
    fc.assert(property, { numRuns: 300 });
  });

  test("a good manifest with a few characters changed", () => {
    const good = `apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata:
  name: app
  labels: {team: &team blue}
spec:
  interval: 5m
  path: ./infra
  sourceRef:
    kind: GitRepository
    name: *team
  vars:
    - name: region
      value: "eu"
`;
    const change = fc.record({
      at: fc.nat({ max: good.length - 1 }),
      cut: fc.nat({ max: 3 }),
      put: fc.string({ unit: fc.constantFrom(..."-: {}[]&*\n\t'\"ax1"), maxLength: 3 }),
    });
    const property = fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
      let text = good;
      for (const { at, cut, put } of changes) text = text.slice(0, at) + put + text.slice(at + cut);
      expectSound(text);
    });
    fc.assert(property, { numRuns: 500 });
  });
});
