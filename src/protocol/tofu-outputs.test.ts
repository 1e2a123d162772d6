import { describe, expect, test } from "vitest";
import { outputsInState, outputsToldIn } from "./tofu-outputs.ts";

const told = (outputs: string) => `{"@message":"Outputs: 1","outputs":${outputs},"type":"outputs"}`;
const state = (outputs: string) => `{"version":4,"serial":3,"outputs":${outputs},"resources":[]}`;

describe("what an apply tells of its outputs", () => {
  test("is what it would say if it was asked, to the last digit", () => {
    const big = '{"a":{"sensitive":false,"type":"number","value":12345678901234567890.5}}';
    expect(outputsToldIn(told(big))).toBe(big);
    const deep = '{"a":{"sensitive":false,"type":["map","number"],"value":{"version":1.10}}}';
    expect(outputsToldIn(told(deep))).toBe(deep);
    const old = '{"a":{"sensitive":false,"deprecated":"use b","type":"string","value":null}}';
    expect(outputsToldIn(told(old))).toBe(old);
    expect(outputsToldIn(told("{}"))).toBe("{}");
  });

  const rows: Record<string, string> = {
    "a sensitive one, of which it tells no value": told(
      '{"a":{"sensitive":false,"type":1,"value":"x"},"b":{"sensitive":true,"type":"string"}}',
    ),
    "one without a type": told('{"a":{"sensitive":false,"value":"x"}}'),
    "a plan, which tells of changes": told('{"a":{"sensitive":false,"action":"noop"}}'),
    "a list": told("[]"),
    "another line": '{"outputs":{},"type":"change_summary"}',
    "half a line": told("{}").slice(0, -1),
  };
  test.each(Object.entries(rows))("is not enough if it is %s", (_name, line) => {
    expect(outputsToldIn(line)).toBeUndefined();
  });
});

describe("the outputs in a state", () => {
  test("are as OpenTofu tells them, sensitive ones too", () => {
    const kept =
      '{"b":{"value":{"n":0.10},"type":"dynamic","sensitive":true},"a":{"value":[1],"type":1}}';
    expect(outputsInState(state(kept))).toBe(
      '{"b":{"sensitive":true,"value":{"n":0.10},"type":"dynamic"},' +
        '"a":{"sensitive":false,"value":[1],"type":1}}',
    );
    expect(outputsInState(state("{}"))).toBe("{}");
  });

  test("bear any name that an output can have", () => {
    const name = '{"__proto__":{"value":1,"type":"number"}}';
    expect(outputsInState(state(name))).toContain('"__proto__"');
  });

  const rows: Record<string, string> = {
    "it is of another version": '{"version":5,"outputs":{}}',
    "it is of no version": '{"outputs":{}}',
    "it is encrypted": '{"version":"v0","serial":1,"encrypted_data":"x"}',
    "it has none": '{"version":4}',
    "an output has no value": state('{"a":{"type":"string"}}'),
    "it is cut off": '{"version":4,"outputs":{}',
  };
  test.each(Object.entries(rows))("are not known if %s", (_name, text) => {
    expect(outputsInState(text)).toBeUndefined();
  });
});
