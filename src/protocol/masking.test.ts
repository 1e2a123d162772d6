import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MASKED, maskOf, printable } from "./masking.ts";

describe("a secret is masked", () => {
  const secret = 'pa<ss&"word\\1';
  const forms: Record<string, string> = {
    "as it is": secret,
    "escaped for JSON": JSON.stringify(secret).slice(1, -1),
    "escaped as Go does it": 'pa\\u003css\\u0026\\"word\\\\1',
    "in base64": Buffer.from(secret).toString("base64"),
    "in base64 for URLs": Buffer.from(secret).toString("base64url"),
    "escaped for a URL": encodeURIComponent(secret),
  };
  test.each(Object.entries(forms))("%s", (_, form) => {
    expect(maskOf([secret]).apply(`before ${form} after`)).toBe(`before ${MASKED} after`);
  });

  test("in base64 as a part of something longer, whatever stands around it", () => {
    for (const user of ["u", "us", "use", "user"]) {
      for (const rest of ["", "x", "xy", "xyz"]) {
        const text = Buffer.from(`${user}:correct-horse-battery${rest}`).toString("base64");
        const masked = maskOf(["correct-horse-battery"]).apply(text);
        expect(masked).toContain(MASKED);
        // At most the characters that it shares with its neighbours are left of it.
        expect(masked.replace(MASKED, "").length).toBeLessThan(16);
      }
    }
  });

  test("line by line, if it has several", () => {
    const key = "-----BEGIN KEY-----\nMIIEpAIBAAKC\r\nAQEA7bq\n-----END KEY-----\n";
    const mask = maskOf([key]);
    expect(mask.apply("  MIIEpAIBAAKC")).toBe(`  ${MASKED}`);
    expect(mask.apply("AQEA7bq")).toBe(MASKED);
    expect(mask.apply(JSON.stringify({ key }))).not.toContain("MIIEp");
  });

  test("whole, if another is a part of it", () => {
    expect(maskOf(["abcd", "abcdefgh"]).apply("abcdefgh abcd")).toBe(`${MASKED} ${MASKED}`);
  });

  test("as often as it occurs, and with a case of its own", () => {
    expect(maskOf(["hunter2"]).apply("hunter2hunter2 Hunter2")).toBe(`${MASKED}${MASKED} Hunter2`);
  });

  test("whatever characters it has, wherever it stands", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 5 }), fc.string(), fc.string(), (value, a, b) => {
        fc.pre(value.trim() === value && !MASKED.includes(value) && value !== "default");
        fc.pre(!a.includes(value) && !b.includes(value));
        const masked = maskOf([value]).apply(`${a}\n${value}\n${b}`);
        expect(masked).not.toContain(`\n${value}\n`);
      }),
    );
  });
});

describe("what is left alone", () => {
  const cases: Record<string, { values: string[]; text: string }> = {
    "without secrets, everything": { values: [], text: "true 1 abc" },
    "values too short to mean anything": { values: ["1", "ab", "yes"], text: "1 ab yes 1ab" },
    "values that every log is full of": {
      values: ["true", "false", "null", "default"],
      text: "enabled = true, workspace default",
    },
    "an empty value and empty lines": { values: ["", "\n\n"], text: "a\n\nb" },
    "signs that mean something to a pattern": { values: ["a.c+d*"], text: "abcd aXcdd" },
  };
  test.each(Object.entries(cases))("%s", (_, { values, text }) => {
    expect(maskOf(values).apply(text)).toBe(text);
  });
});

describe("what a terminal would obey does not reach it", () => {
  const cases: Record<string, [text: string, is: string]> = {
    colours: ["\u001b[31mred\u001b[0m", "red"],
    "a title": ["a\u001b]0;title\u0007b", "ab"],
    "a link": ["\u001b]8;;http://x\u001b\\here\u001b]8;;\u001b\\", "here"],
    "a bell, a backspace, a delete": ["a\u0007b\bc\u007f", "abc"],
    "C1 controls, which some terminals take for escapes": ["a\u009b31mb", "ab"],
    "a torn escape": ["a\u001b", "a"],
    "lines and tabs stay, and so does everything that prints": ["a\tb\nç → 😀", "a\tb\nç → 😀"],
  };
  test.each(Object.entries(cases))("%s", (_, [text, is]) => {
    expect(printable(text)).toBe(is);
    expect(maskOf([]).apply(text)).toBe(is);
  });

  test("nor does it part a secret, or belong to one", () => {
    const mask = maskOf(["correct-horse", "with\u001b[1mescape"]);
    expect(mask.apply("corr\u001b[1mect-horse")).toBe(MASKED);
    expect(mask.apply("with\u001b[1mescape")).toBe(MASKED);
  });
});
