import { StringDecoder } from "node:string_decoder";

/** A line is kept up to here; the rest of it is passed over. */
const LINE_CHARACTERS = 32 * 1024;

/**
 * Hands each line of a byte stream to `take`, without its end, in bounded memory: a line of a
 * gigabyte gives its first part. Answers whether the text broke off inside a line.
 */
export async function eachLine(
  bytes: AsyncIterable<Buffer>,
  take: (line: string) => void,
): Promise<{ brokenOff: boolean }> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const chunk of bytes) {
    const text = decoder.write(chunk);
    let from = 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", from)) {
      const line = rest === "" ? text.slice(from, at) : joined(rest, text.slice(from, at));
      rest = "";
      from = at + 1;
      take(tidy(line));
    }
    rest = joined(rest, text.slice(from));
  }
  if (rest !== "") take(tidy(rest));
  return { brokenOff: rest !== "" };
}

function joined(before: string, more: string): string {
  if (before.length >= LINE_CHARACTERS) return before;
  return before + more.slice(0, LINE_CHARACTERS - before.length);
}

function tidy(line: string): string {
  const short = line.length > LINE_CHARACTERS ? line.slice(0, LINE_CHARACTERS) : line;
  return short.endsWith("\r") ? short.slice(0, -1) : short;
}
