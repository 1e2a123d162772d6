/** A line is kept up to here; the rest of it is passed over. */
const LINE_BYTES = 32 * 1024;

const NEWLINE = 10;
const RETURN = 13;

/**
 * Hands each line of a byte stream to `take`, without its end, in bounded memory: a line of a
 * gigabyte gives its first part. Each line is a text of its own: a part of one that is kept keeps
 * no more than that line. Answers whether the text broke off inside a line.
 */
export async function eachLine(
  bytes: AsyncIterable<Buffer>,
  take: (line: string) => void,
): Promise<{ brokenOff: boolean }> {
  let rest: Buffer | undefined;
  for await (const chunk of bytes) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      take(textOf(joined(rest, chunk.subarray(from, at))));
      rest = undefined;
      from = at + 1;
    }
    if (from < chunk.length) rest = joined(rest, chunk.subarray(from));
  }
  if (rest === undefined) return { brokenOff: false };
  take(textOf(rest));
  return { brokenOff: true };
}

function joined(before: Buffer | undefined, more: Buffer): Buffer {
  if (before === undefined) return more;
  if (before.length >= LINE_BYTES) return before;
  return Buffer.concat([before, more.subarray(0, LINE_BYTES - before.length)]);
}

function textOf(line: Buffer): string {
  const isReturned = line.length <= LINE_BYTES && line.at(-1) === RETURN;
  return line.toString("utf8", 0, isReturned ? line.length - 1 : Math.min(line.length, LINE_BYTES));
}
