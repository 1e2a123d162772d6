import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readStateHead, StateScanner, withSerial } from "./state-file.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const head = (text: string) => readStateHead(bytes(text));

/** Every state in here has serial 7 and lineage L. */
const states: Record<string, string> = {
  "as tofu writes it": JSON.stringify(
    {
      version: 4,
      terraform_version: "1.12.6",
      serial: 7,
      lineage: "L",
      outputs: { a: { value: "x", type: "string" } },
      resources: [{ instances: [{ attributes: { n: -1.5e-7, t: true, z: null } }] }],
      check_results: null,
    },
    null,
    2,
  ),
  "encrypted: serial and lineage stay readable": JSON.stringify({
    serial: 7,
    lineage: "L",
    meta: { "key_provider.pbkdf2.x": "e30=" },
    encrypted_data: "A".repeat(5_000),
    encryption_version: "v0",
  }),
  "fields in another order, and names that only resources have": JSON.stringify({
    resources: [{ serial: 1, lineage: "no", version: 9 }],
    lineage: "L",
    version: 4,
    serial: 7,
  }),
  "escapes and brackets in strings and keys": String.raw`{"a\"}":"\\","version":4,
    "b":"[{\u00e9\"","line\u0061ge":"\u004c","serial":7}`,
  "nothing but blanks around": ' \r\n\t{"version":4,"serial":7,"lineage":"L"}\n\n',
  "a field that comes twice: the last holds, as for tofu":
    '{"version":4,"serial":1,"lineage":"no","serial":7,"lineage":"L"}',
  "a very long number": `{"version":4,"n":1${"0".repeat(400)},"serial":7,"lineage":"L"}`,
};
test("a state: left behind by a first apply that never reached its backend", () => {
  expect(head('{"version":4,"serial":1,"lineage":""}')).toEqual({ serial: 1, lineage: "" });
});
test.each(Object.entries(states))("a state: %s", (_why, text) => {
  expect(head(text)).toMatchObject({ serial: 7, lineage: "L" });
});

describe("managed resources", () => {
  const managed = { mode: "managed", type: "a", name: "b", instances: [{ mode: "managed" }] };
  const data = {
    module: "module.x",
    mode: "data",
    instances: [{ attributes: { mode: "managed" } }],
  };
  const count = (more: object) =>
    head(JSON.stringify({ version: 4, serial: 7, lineage: "L", ...more }));
  const cases: [string, object, number | undefined][] = [
    ["none at all", { resources: [] }, 0],
    ["data is none", { resources: [data] }, 0],
    ["each counts once, however its instances look", { resources: [data, managed, managed] }, 2],
    ["only in the state's own list", { outputs: { resources: [managed] }, resources: [] }, 0],
    ["a list before is no list of resources", { x: [managed], resources: [managed], y: [data] }, 1],
    ["not known where there is no list", {}, undefined],
    ["not known of an encrypted state", { resources: [], encrypted_data: "x" }, undefined],
  ];
  test.each(cases)("%s", (_what, more, resources) => {
    expect(count(more)).toEqual(
      resources === undefined
        ? { serial: 7, lineage: "L" }
        : { serial: 7, lineage: "L", resources },
    );
  });
});

describe("another serial", () => {
  async function* cut(content: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
  }
  test.each(Object.entries(states))(
    "%s: nothing else changes, however it is cut",
    async (_, text) => {
      const scanner = new StateScanner();
      scanner.feed(bytes(text));
      scanner.end();
      const place = scanner.serialPlace();
      const last = text.lastIndexOf('"serial":') + 9;
      const wanted = text.includes('"serial": 7')
        ? text.replace('"serial": 7', '"serial": 1234')
        : `${text.slice(0, last)}1234${text.slice(last + 1)}`;
      for (const size of [1, 2, 3, 7, 64, text.length]) {
        const parts: Uint8Array[] = [];
        for await (const part of withSerial(cut(bytes(text), size), place, 1234)) parts.push(part);
        expect(Buffer.concat(parts).toString()).toBe(wanted);
      }
      expect(head(wanted)).toMatchObject({ serial: 1234 });
    },
  );

  test("one of several digits that is cut in the middle", async () => {
    const text = '{"version":4,"serial":123456,"lineage":"L"}';
    const scanner = new StateScanner();
    for (const byte of bytes(text)) scanner.feed(Uint8Array.of(byte));
    scanner.end();
    for (let size = 1; size < text.length; size += 1) {
      const parts: Uint8Array[] = [];
      const content = cut(bytes(text), size);
      for await (const part of withSerial(content, scanner.serialPlace(), 9)) parts.push(part);
      expect(Buffer.concat(parts).toString()).toBe('{"version":4,"serial":9,"lineage":"L"}');
    }
  });
});

const rubbish: Record<string, { text: string; problem: string | RegExp }> = {
  "no byte at all": { text: "", problem: "it is empty" },
  "a write that broke off": { text: '{"version":4,"serial":7,"lin', problem: "it is cut off" },
  "one bracket short": {
    text: '{"version":4,"serial":7,"lineage":"L","a":[{}',
    problem: "it is cut off",
  },
  "an HTML page": { text: "<html>", problem: "it is not JSON (at byte 0)" },
  "more after the end": {
    text: '{"version":4,"serial":7,"lineage":"L"}x',
    problem: "it is not JSON (at byte 38)",
  },
  "brackets that do not match": { text: '{"a":[}', problem: "it is not JSON (at byte 6)" },
  "a comma before the end": { text: '{"a":1,}', problem: "it is not JSON (at byte 7)" },
  "a key without quotes": { text: "{a:1}", problem: "it is not JSON (at byte 1)" },
  "no colon": { text: '{"a" 1}', problem: "it is not JSON (at byte 5)" },
  "a number that is none": { text: '{"a":01}', problem: /not JSON/ },
  "a word that is none": { text: '{"a":nil}', problem: /not JSON/ },
  "a bad escape": { text: '{"a":"\\x"}', problem: /not JSON/ },
  "half a Unicode escape": { text: '{"a":"\\u00g0"}', problem: /not JSON/ },
  "a line break in a string": { text: '{"a":"\n"}', problem: /not JSON/ },
  "brackets without end": { text: "[".repeat(100_000), problem: "it is not JSON (at byte 1000)" },
  "a number without end": { text: `[${"1".repeat(100_000)}`, problem: /not JSON/ },
  "JSON, but a plan": {
    text: '{"format_version":"1.2","serial":7,"lineage":"L"}',
    problem: "it has neither version nor encrypted_data",
  },
  "no serial": { text: '{"version":4,"lineage":"L"}', problem: "it has no serial" },
  "a serial that is a text": {
    text: '{"version":4,"serial":"7","lineage":"L"}',
    problem: "it has no serial",
  },
  "a serial beyond what is exact": {
    text: '{"version":4,"serial":9007199254740993,"lineage":"L"}',
    problem: "it has no serial",
  },
  "a serial below zero": {
    text: '{"version":4,"serial":-1,"lineage":"L"}',
    problem: "it has no serial",
  },
  "no lineage": { text: '{"version":4,"serial":7}', problem: "it has no lineage" },
  "a lineage that is null": {
    text: '{"version":4,"serial":7,"lineage":null}',
    problem: "it has no lineage",
  },
  "a lineage that is an object": {
    text: '{"version":4,"serial":7,"lineage":{"L":1}}',
    problem: "it has no lineage",
  },
  "the fields in a list": {
    text: '["version","serial","lineage"]',
    problem: "it has neither version nor encrypted_data",
  },
};
test.each(Object.entries(rubbish))("no state: %s", (_why, { text, problem }) => {
  const found = head(text);
  if (!("problem" in found)) throw new Error("It passed for a state");
  if (typeof problem === "string") expect(found.problem).toBe(problem);
  else expect(found.problem).toMatch(problem);
});

describe("against JSON.parse", () => {
  /** Feeds the text in pieces cut at these places. */
  function scan(text: Uint8Array, cuts: readonly number[]): ReturnType<StateScanner["end"]> {
    const scanner = new StateScanner();
    const places = [...cuts.map((cut) => cut % (text.length + 1)), 0, text.length];
    places.sort((a, b) => a - b);
    places.forEach((place, i) => {
      scanner.feed(text.subarray(place, places[i + 1] ?? text.length));
    });
    return scanner.end();
  }

  test("any JSON is accepted, however it is cut in pieces", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(3), fc.array(fc.nat()), (value, indent, cuts) => {
        const text = JSON.stringify(
          { version: 4, serial: 7, x: value, lineage: "L" },
          null,
          indent,
        );
        expect(scan(bytes(text), cuts)).toEqual({ serial: 7, lineage: "L" });
      }),
    );
  });

  test("a text with one byte changed is accepted only if JSON.parse accepts it", () => {
    const text = bytes(states["escapes and brackets in strings and keys"] ?? "");
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.integer({ min: 1, max: 126 }), (at, byte) => {
        const changed = text.with(at, byte);
        const found = scan(changed, [at]);
        const malformed = "problem" in found && /not JSON|cut off/.test(found.problem);
        expect(malformed).toBe(!parses(changed));
      }),
      { numRuns: 2_000 },
    );
  });

  function parses(text: Uint8Array): boolean {
    try {
      JSON.parse(new TextDecoder().decode(text));
      return true;
    } catch {
      return false;
    }
  }
});

test("more than the largest state is refused", () => {
  const scanner = new StateScanner();
  const blanks = new Uint8Array(32 * 1024 * 1024).fill(0x20);
  for (let i = 0; i < 8; i++) scanner.feed(blanks);
  scanner.feed(bytes("{"));
  expect(scanner.end()).toEqual({ problem: "it is larger than 256 MiB" });
});
