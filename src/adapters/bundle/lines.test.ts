import { describe, expect, test } from "vitest";
import { eachLine } from "./lines.ts";

async function* chunks(...texts: readonly (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

async function linesOf(...texts: readonly (string | Buffer)[]) {
  const lines: string[] = [];
  const { brokenOff } = await eachLine(chunks(...texts), (line) => lines.push(line));
  return { lines, brokenOff };
}

const grin = Buffer.from("😀");

describe("lines of a byte stream", () => {
  test.each([
    ["whole lines", ["a\nb\n"], ["a", "b"], false],
    ["an empty line is one", ["a\n\nb\n"], ["a", "", "b"], false],
    ["a line in three chunks", ["a", "b", "c\n"], ["abc"], false],
    ["a last line without its end", ["a\nb"], ["a", "b"], true],
    ["ends as Windows writes them", ["a\r\nb\r", "\n"], ["a", "b"], false],
    [
      "a character that lies across chunks",
      [grin.subarray(0, 2), grin.subarray(2), "\n"],
      ["😀"],
      false,
    ],
    ["nothing", [], [], false],
  ])("%s", async (_, texts, lines, brokenOff) => {
    expect(await linesOf(...texts)).toEqual({ lines, brokenOff });
  });

  test("a line that is too long gives its first part, and the next one is whole", async () => {
    const megabyte = "x".repeat(1_000_000);
    const { lines } = await linesOf(megabyte, megabyte, "\nnext\n", `${megabyte}\nlast\n`);
    expect(lines.map((line) => line.length)).toEqual([32_768, 4, 32_768, 4]);
  });
});
