import { describe, expect, test } from "vitest";
import { type JsonItem, JsonItems } from "./json-items.ts";

/** Takes a text apart in chunks of a size. */
function taken(text: string, size: number) {
  const found: JsonItem[] = [];
  const items = new JsonItems((item) => found.push(item));
  for (let at = 0; at < text.length; at += size) items.push(text.slice(at, at + size));
  const brokenOff = items.end();
  const objects = found.flatMap((item) => (item.text === undefined ? [] : [JSON.parse(item.text)]));
  return { objects, brokenOff, lists: found.filter((item) => item.text === undefined).length };
}

const tricky = { name: 'a"]}\\', nested: { items: [{ x: 1 }] }, empty: {}, list: [[{}]] };

describe.each([1, 3, 7, 1_000])("in chunks of %i characters", (size) => {
  test("a list gives its items", () => {
    const text = JSON.stringify({ kind: "PodList", items: [tricky, { b: 2 }], metadata: {} });
    expect(taken(text, size)).toEqual({ objects: [tricky, { b: 2 }], brokenOff: false, lists: 1 });
  });

  test("documents stand one after another, with anything between them", () => {
    const text = `${JSON.stringify(tricky)}\n--- text "with quotes\n${JSON.stringify({ b: 2 })}`;
    expect(taken(text, size).objects).toEqual([tricky, { b: 2 }]);
  });

  test("a bare array gives its elements, an empty list that it is there", () => {
    expect(taken(JSON.stringify([tricky, { b: 2 }]), size).objects).toEqual([tricky, { b: 2 }]);
    expect(taken('{"items": []}', size)).toEqual({ objects: [], brokenOff: false, lists: 1 });
  });

  test("items: null is a document of its own", () => {
    expect(taken('{"items":null,"kind":"PodList"}', size).objects).toEqual([
      { items: null, kind: "PodList" },
    ]);
  });

  test("a list that breaks off gives the items before the break", () => {
    const text = JSON.stringify({ items: [{ a: 1 }, { b: 2 }] });
    expect(taken(text.slice(0, -6), size)).toMatchObject({ objects: [{ a: 1 }], brokenOff: true });
  });
});

test("what is larger than any object is passed over, and counted", () => {
  const found: JsonItem[] = [];
  const items = new JsonItems((item) => found.push(item));
  items.push('{"items":[{"a":"');
  for (let count = 0; count < 9; count += 1) items.push("x".repeat(1024 * 1024));
  items.push('"},{"b":2}]}');
  expect(found.map((item) => item.text)).toEqual([undefined, '{"b":2}']);
  expect(items.tooLarge).toBe(1);
});
