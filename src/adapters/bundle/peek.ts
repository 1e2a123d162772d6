/** The first characters of a byte stream, and the whole stream again. */
export async function peek(
  bytes: AsyncIterable<Buffer>,
  characters: number,
): Promise<{ head: string; bytes: AsyncIterable<Buffer> }> {
  const iterator = bytes[Symbol.asyncIterator]();
  const first: Buffer[] = [];
  let size = 0;
  while (size < characters) {
    const next = await iterator.next();
    if (next.done === true) break;
    first.push(next.value);
    size += next.value.length;
  }
  const head = Buffer.concat(first).subarray(0, characters).toString("utf8");
  async function* again(): AsyncGenerator<Buffer> {
    try {
      yield* first;
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
        yield next.value;
      }
    } finally {
      await iterator.return?.();
    }
  }
  return { head, bytes: again() };
}
