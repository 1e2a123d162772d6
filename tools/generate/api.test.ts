import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { kindNames } from "../../src/api/kinds.ts";
import { type Operation, operations } from "../../src/server/operations.ts";
import { apiPages } from "./api.ts";

const root = join(import.meta.dirname, "../..");

test.each(apiPages())("$path says what the schemas say", ({ path, text }) => {
  const old = `${path} is old: run "npm run generate" and commit what it writes`;
  expect(readFileSync(join(root, path), "utf8") === text, old).toBe(true);
});

interface Document {
  readonly paths: Record<string, Record<string, { operationId: string; parameters: object[] }>>;
  readonly components: { readonly schemas: Record<string, object> };
}

describe("the document", () => {
  const text = apiPages().find(({ path }) => path.endsWith(".json"))?.text ?? "";
  const document = JSON.parse(text) as Document;

  test("has every operation under its path and method, once", () => {
    const found = Object.values(document.paths).flatMap((each) =>
      Object.values(each).map(({ operationId }) => operationId),
    );
    expect(found.sort()).toEqual(
      ["healthz", "metrics", "readyz", ...Object.keys(operations)].sort(),
    );
  });

  test("refers only to schemas that it has, and to each kind's", () => {
    const referred = [...text.matchAll(/"\$ref": "#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name,
    );
    expect(
      referred.filter((name) => !Object.hasOwn(document.components.schemas, name ?? "")),
    ).toEqual([]);
    expect(kindNames.filter((kind) => !referred.includes(kind))).toEqual([]);
  });

  test.each(Object.entries(operations) as [string, Operation][])(
    "%s names in its path what it takes there",
    (_, { path, params }) => {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(inPath).toEqual(Object.keys((params as { properties?: object }).properties ?? {}));
    },
  );
});
