import { describe, expect, test } from "vitest";
import { outputFactsOf, summaryOf } from "./results.ts";

describe("the summary of a plan", () => {
  const change = (actions: string[], importing?: object) => ({
    address: "a.b",
    change: { actions, ...(importing === undefined ? {} : { importing }) },
  });
  const rows: Record<string, { changes: object[] | undefined; counts: number[] }> = {
    "nothing at all": { changes: undefined, counts: [0, 0, 0, 0] },
    "one of each": {
      changes: [change(["create"]), change(["update"]), change(["delete"])],
      counts: [1, 1, 1, 0],
    },
    "a replacement is one added and one destroyed, in either order": {
      changes: [change(["delete", "create"]), change(["create", "delete"])],
      counts: [2, 0, 2, 0],
    },
    "what is read or left as it is does not count": {
      changes: [change(["no-op"]), change(["read"]), change(["forget"])],
      counts: [0, 0, 0, 0],
    },
    "an import counts, and so does what it changes": {
      changes: [change(["no-op"], { id: "x" }), change(["update"], { id: "y" })],
      counts: [0, 1, 0, 2],
    },
  };
  test.each(Object.entries(rows))("%s", (_, { changes, counts }) => {
    const {
      add,
      change: changed,
      destroy,
      import: imported,
    } = summaryOf({
      ...(changes === undefined ? {} : { resource_changes: changes }),
    });
    expect([add, changed, destroy, imported]).toEqual(counts);
  });
});

test("outputs are facts without values, sorted by name", () => {
  const outputs = { b: { sensitive: true, value: "hunter2" }, a: { value: 1 } };
  expect(outputFactsOf(outputs)).toEqual([
    { name: "a", sensitive: false },
    { name: "b", sensitive: true },
  ]);
});
