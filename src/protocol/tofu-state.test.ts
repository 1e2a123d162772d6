import { describe, expect, test } from "vitest";
import { notInState } from "./tofu-state.ts";

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
