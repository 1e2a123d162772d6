import { describe, expect, test } from "vitest";
import { inventoryOf } from "./inventory.ts";

const resource = (name: string, values: unknown, more = {}) => ({
  mode: "managed",
  type: "aws_thing",
  name,
  values,
  ...more,
});

describe("an inventory", () => {
  const ids: Record<string, [unknown, string]> = {
    "the arn, before the id": [{ arn: "arn:aws:x", id: "i" }, "arn:aws:x"],
    "the id": [{ id: "i" }, "i"],
    "the id, if the arn is not known": [{ arn: null, id: "i" }, "i"],
    "a number": [{ id: 42 }, "42"],
    "nothing at all": [{}, ""],
    "no values": [null, ""],
  };
  test.each(Object.entries(ids))("names %s", (_name, [values, id]) => {
    const found = inventoryOf({ root_module: { resources: [resource("one", values)] } });
    expect(found).toEqual({ entries: [{ n: "one", t: "aws_thing", id }], more: 0 });
  });

  test("holds the resources of all modules in a steady order, and no data sources", () => {
    const found = inventoryOf({
      root_module: {
        resources: [resource("b", { id: "2" }), resource("d", { id: "x" }, { mode: "data" })],
        child_modules: [
          {
            resources: [resource("c", { id: "3" })],
            child_modules: [{ resources: [resource("a", { id: "1" })] }],
          },
        ],
      },
    });
    expect(found.entries.map(({ n }) => n)).toEqual(["a", "b", "c"]);
  });

  test.each([undefined, null, {}, { root_module: [] }, "x"])("of %j is empty", (values) => {
    expect(inventoryOf(values)).toEqual({ entries: [], more: 0 });
  });

  test("leaves out what a status has no room for, and says how much", () => {
    const many = Array.from({ length: 4_000 }, (_, index) =>
      resource(`r${String(index).padStart(5, "0")}`, { id: "x".repeat(100) }),
    );
    const { entries, more } = inventoryOf({ root_module: { resources: many } });
    expect(JSON.stringify(entries).length).toBeLessThan(300_000);
    expect(entries.length).toBeGreaterThan(1_000);
    expect(entries.length + more).toBe(4_000);
  });
});
