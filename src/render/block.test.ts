import { describe, expect, test } from "vitest";
import { BlockError, putBlock } from "./block.ts";

const put = (text: string | undefined, block: string) =>
  putBlock(text, "runbook", block, "# Title");

describe("a block", () => {
  test("makes a file that is not there, with its title", () => {
    expect(put(undefined, "one")).toBe(
      "# Title\n\n<!-- nigari:runbook:begin (rendered; what is changed in here is lost) -->\n\n" +
        "one\n\n<!-- nigari:runbook:end -->\n",
    );
  });

  test.each([
    ["ends without a newline", "# Mine\n\ntext"],
    ["ends with one", "# Mine\n\ntext\n"],
    ["ends with several", "# Mine\n\n\n"],
    ["has Windows line ends", "# Mine\r\n\r\ntext\r\n"],
    ["speaks of a marker inside a line", "See `<!-- nigari:runbook:begin -->`.\n"],
    ["holds another block", `${putBlock("", "pointer", "p", "")}after\n`],
  ])("leaves every byte of a file that %s, and is stable", (_, text) => {
    const first = put(text, "one\ntwo");
    expect(first.startsWith(text)).toBe(true);
    expect(put(first, "one\ntwo")).toBe(first);
    const changed = put(first, "three");
    expect(changed.startsWith(text)).toBe(true);
    expect(changed).not.toContain("two");
    expect(put(changed, "one\ntwo")).toBe(first);
  });

  test("in the middle of a file leaves what stands before and after it", () => {
    const text = `before\n${put(undefined, "old")}after, no newline`;
    const changed = put(text, "new\nlines");
    expect(changed.startsWith("before\n# Title\n\n<!--")).toBe(true);
    expect(changed.endsWith("<!-- nigari:runbook:end -->\nafter, no newline")).toBe(true);
    expect(changed).toContain("new\nlines");
    expect(changed).not.toContain("old");
  });

  test("takes the line ends of its file", () => {
    const lines = put("# Mine\r\n", "one\ntwo").split("\n");
    expect(lines.slice(0, -1).every((line) => line.endsWith("\r"))).toBe(true);
  });

  test("is found by its name, whatever remark an older version left in the marker", () => {
    const text = "a\n<!-- nigari:runbook:begin of old -->\nold\n<!-- nigari:runbook:end -->\nb\n";
    expect(put(text, "new")).toBe(
      "a\n<!-- nigari:runbook:begin (rendered; what is changed in here is lost) -->\n\nnew\n\n" +
        "<!-- nigari:runbook:end -->\nb\n",
    );
  });

  test.each([
    ["has no end", "a\n<!-- nigari:runbook:begin -->\n", 2],
    ["has no beginning", "<!-- nigari:runbook:end -->\n", 1],
    ["ends before it begins", "<!-- nigari:runbook:end -->\n\n<!-- nigari:runbook:begin -->", 1],
    [
      "stands twice",
      "<!-- nigari:runbook:begin -->\n<!-- nigari:runbook:begin -->\n<!-- nigari:runbook:end -->",
      2,
    ],
  ])("that %s is a person's to mend", (_, text, line) => {
    expect(() => put(text, "x")).toThrow(BlockError);
    expect(() => put(text, "x")).toThrow(`line ${line} `);
  });
});
