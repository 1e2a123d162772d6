import { describe, expect, test } from "vitest";
import { notInState, outputFactsOf, summaryOf } from "./results.ts";

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

describe("what was created and is not in the state", () => {
  const state = {
    resources: [
      { mode: "managed", type: "a", name: "one", instances: [{ attributes: { id: "1" } }] },
      {
        mode: "managed",
        module: 'module.m["x"]',
        type: "a",
        name: "many",
        instances: [
          { index_key: 0, attributes: { id: "10" } },
          { index_key: "k", attributes: { id: "11" } },
        ],
      },
      { mode: "data", type: "a", name: "read", instances: [{ attributes: { id: "9" } }] },
    ],
  };
  const id = (value: string) => ({ key: "id", value });
  const rows: Record<string, { address: string; value?: string; unrecorded: boolean }> = {
    "recorded as it is": { address: "a.one", value: "1", unrecorded: false },
    "recorded, though its identity was not told": { address: "a.one", unrecorded: false },
    "an older thing of the same name": { address: "a.one", value: "2", unrecorded: true },
    "in a module, by number": {
      address: 'module.m["x"].a.many[0]',
      value: "10",
      unrecorded: false,
    },
    "in a module, by key": { address: 'module.m["x"].a.many["k"]', unrecorded: false },
    "an instance that is not there": { address: 'module.m["x"].a.many[1]', unrecorded: true },
    "only read, not made": { address: "a.read", unrecorded: true },
    nowhere: { address: "a.two", value: "1", unrecorded: true },
  };
  test.each(Object.entries(rows))("%s", (_, { address, value, unrecorded }) => {
    const created = new Map([[address, value === undefined ? undefined : id(value)]]);
    expect(notInState(created, state)).toEqual(unrecorded ? [address] : []);
  });

  test("of a state that cannot be read, everything", () => {
    expect(notInState(new Map([["a.one", id("1")]]), undefined)).toEqual(["a.one"]);
  });
});
